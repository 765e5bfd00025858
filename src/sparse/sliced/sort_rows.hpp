#pragma once

#include "base/dispatch.hpp"

namespace tessera {

/// The rows by descending length within windows of so many, 1 or more; rows of equal length stay
/// in order. No row is longer than `limit`.
TESSERA_BACKENDS(Buffer<Index> sort_rows(const Context& context, const Buffer<Index>& lengths,
                                         Index limit, Index window);)

}  // namespace tessera
