#pragma once

#include "gpu/launch.cuh"
#include "sparse/sliced/kernels.hpp"

/// Launches of the steps from CSR to sliced matrices and back.
namespace tessera::cuda {

inline constexpr int sliced_threads = 256;

/// kernel<<<enough for n items>>>(arguments...), or nothing for n = 0.
template <class Kernel, class... Arguments>
void launch_items(const Context& context, Offset n, Kernel* kernel, Arguments... arguments) {
    if (n == 0) return;
    kernel<<<blocks_for(n, sliced_threads), sliced_threads, 0, stream_of(context)>>>(arguments...);
    TESSERA_CUDA(cudaGetLastError());
}

inline void set_zero(const Context& context, void* memory, Offset bytes) {
    if (bytes > 0) TESSERA_CUDA(cudaMemsetAsync(memory, 0, std::size_t(bytes), stream_of(context)));
}

__device__ inline Offset item_index() { return Offset(blockIdx.x) * sliced_threads + threadIdx.x; }

}  // namespace tessera::cuda
