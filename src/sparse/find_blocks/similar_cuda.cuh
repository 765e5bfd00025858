#pragma once

#include "sparse/find_blocks/kernels.hpp"
#include "sparse/find_blocks/start_mask_cuda.cuh"

namespace tessera::cuda {

/// Blocking::similar (kernels.hpp): steps[i] is the size of a block that starts with row i.
Buffer<std::uint8_t> similar_steps(const Context& context, const CsrPattern& pattern,
                                   StartMask mask, int bound);

}  // namespace tessera::cuda
