#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check_cuda.hpp"
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

/// Whether all GPUs that this is compiled for (compute capability 9.0 on) can start a kernel while
/// the one before it in the stream still runs.
constexpr bool overlapping_launches() {
    constexpr int architectures[] = {__CUDA_ARCH_LIST__};
    return *std::min_element(std::begin(architectures), std::end(architectures)) >= 900;
}

/// Whether they have bulk copies.
constexpr bool bulk_copies() { return overlapping_launches(); }

/// Launches a kernel that begins with begin_dependent (or as LaunchChain says), in every thread and
/// before it touches global memory. Its launch and its first thread blocks overlap the end of the
/// kernel before it.
template <class... Parameters, class... Arguments>
void launch_dependent(void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
                      int shared_bytes, cudaStream_t stream, Arguments&&... arguments) {
    if (shared_bytes > 48 * 1024) {
        TESSERA_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          shared_bytes));
    }
    cudaLaunchAttribute overlap{};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = blocks;
    config.blockDim = threads;
    config.dynamicSmemBytes = std::size_t(shared_bytes);
    config.stream = stream;
    config.attrs = &overlap;
    config.numAttrs = overlapping_launches() ? 1 : 0;
    TESSERA_CUDA(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...));
}

/// Lets the next launch_dependent start, and waits for all of the kernels before this one. A kernel
/// must not end before those before it have, else the next one would not wait for these.
__device__ __forceinline__ void begin_dependent() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
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
