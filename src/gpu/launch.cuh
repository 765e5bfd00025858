#pragma once

#include <cuda_runtime.h>

#include "tessera/context.hpp"

namespace tessera::cuda {

/// The stream of a Context, with its device made current.
inline cudaStream_t stream_of(const Context& context) {
    cudaSetDevice(context.device());
    return static_cast<cudaStream_t>(context.stream());
}

/// Thread blocks that cover n items, `items_a_block` each.
inline unsigned blocks_for(Offset n, int items_a_block) {
    return static_cast<unsigned>((n + items_a_block - 1) / items_a_block);
}

/// f(i) for the `PerThread` * blockDim.x elements of this thread block that are below n, adjacent
/// threads on adjacent elements.
template <int PerThread, class F>
__device__ void for_elements(Offset n, F&& f) {
    const Offset start = Offset(blockIdx.x) * (PerThread * blockDim.x) + threadIdx.x;
#pragma unroll
    for (int k = 0; k < PerThread; ++k) {
        const Offset i = start + Offset(k) * blockDim.x;
        if (i < n) f(i);
    }
}

}  // namespace tessera::cuda
