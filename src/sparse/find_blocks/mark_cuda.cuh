#pragma once

#include "sparse/find_blocks/kernels.hpp"

namespace tessera::cuda {

/// The words of a StartMask.
Buffer<unsigned> mark_supervariables(const Context& context, const CsrPattern& pattern);

}  // namespace tessera::cuda
