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
constexpr bool supports_dependent_launch() {
    constexpr int architectures[] = {__CUDA_ARCH_LIST__};
    return *std::min_element(std::begin(architectures), std::end(architectures)) >= 900;
}

/// Whether they have bulk copies.
constexpr bool supports_bulk_copies() { return supports_dependent_launch(); }

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
    config.numAttrs = supports_dependent_launch() ? 1 : 0;
    TESSERA_CUDA(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...));
}

/// Lets the next launch_dependent start.
__device__ __forceinline__ void trigger_dependent_launch() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}
/// Waits for all kernels before this one. What a kernel reads earlier must have been written before
/// the host launched any of the kernels that still run then, and the host must have waited for
/// that.
__device__ __forceinline__ void wait_for_prior_kernels() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
/// Both. A kernel must not end before those before it have, else the next one would not wait for
/// these.
__device__ __forceinline__ void begin_dependent() {
    trigger_dependent_launch();
    wait_for_prior_kernels();
}

/// Kernels in the stream of a Context that need not wait for each other: each starts once all
/// thread blocks of the one before have started, so that its first ones fill the gaps that the last
/// ones of that leave. They come after all work given to the stream before, and all work given to
/// it later comes after them.
class LaunchChain {
  public:
    explicit LaunchChain(const Context& context) : stream_(stream_of(context)) {}

    /// Launches a kernel whose last parameter is `bool first_in_chain` and that begins with
    /// `if (begin_in_chain(first_in_chain)) return;`, with one thread block more than it has work
    /// for.
    template <class... Parameters, class... Arguments>
    void launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, int shared_bytes,
                Arguments&&... arguments) {
        launch_dependent(kernel, blocks + 1, threads, shared_bytes, stream_,
                         std::forward<Arguments>(arguments)..., std::exchange(first_, false));
    }

    /// For kernels outside of the chain: they wait for it; what is launched after them is a new
    /// one.
    cudaStream_t stream() {
        first_ = true;
        return stream_;
    }

  private:
    cudaStream_t stream_;
    bool first_ = true;
};

/// Lets the next kernel of a chain start; the first one waits for all work before the chain before
/// it does, so that what those before wrote can be read by all of the chain. True in the last
/// thread block of the others, which only waits for the kernel before, so that none ends before
/// those before it have, and the end of the last one is the end of all.
__device__ __forceinline__ bool begin_in_chain(bool first_in_chain) {
    const bool last = blockIdx.x + 1 == gridDim.x;
    if (first_in_chain) wait_for_prior_kernels();
    trigger_dependent_launch();
    if (last) wait_for_prior_kernels();
    return last;
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
