#pragma once

#include "base/dispatch.hpp"
#include "tessera/batched.hpp"

namespace tessera::batched {

/// A stable counting sort of the matrices by size.
///   begin   host array of largest_size + 2 counts; begin[n] receives the number of matrices with
///           fewer than n rows.
///   order   the matrices in ascending order of size, then of number.
/// Returns the first b whose size is outside 0..largest_size (the arrays are then undefined), or
/// -1. Waits.
TESSERA_BACKENDS(Index sort_by_size(const Context& context, Index count, const Index* sizes,
                                    Index* begin, Index* order);)

}  // namespace tessera::batched
