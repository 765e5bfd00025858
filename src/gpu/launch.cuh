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

/// Number of thread blocks for n items, `items_per_block` each.
inline unsigned blocks_for(Offset n, int items_per_block) {
    return static_cast<unsigned>((n + items_per_block - 1) / items_per_block);
}

/// Whether all compiled architectures support programmatic dependent launch (compute capability 9.0
/// on): a kernel may start while the previous one in the stream still runs.
constexpr bool supports_dependent_launch() {
    constexpr int architectures[] = {__CUDA_ARCH_LIST__};
    return *std::min_element(std::begin(architectures), std::end(architectures)) >= 900;
}

/// Whether all compiled architectures support bulk copies (cp.async.bulk).
constexpr bool supports_bulk_copies() { return supports_dependent_launch(); }

/// Programmatic dependent launch of a kernel that calls begin_dependent (or begin_in_chain) in
/// every thread before it accesses global memory. Its launch and first thread blocks overlap the
/// end of the previous kernel.
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

/// Allows the next dependent launch to start.
__device__ __forceinline__ void trigger_dependent_launch() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}
/// Waits for all previous kernels. Memory that is read before must not be written by any kernel
/// that may still run.
__device__ __forceinline__ void wait_for_prior_kernels() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
/// Calls trigger_dependent_launch and wait_for_prior_kernels. A kernel must not end before the
/// previous ones: the next kernel waits for this one only.
__device__ __forceinline__ void begin_dependent() {
    trigger_dependent_launch();
    wait_for_prior_kernels();
}

/// Independent kernels in the stream of a Context: each starts once all thread blocks of the
/// previous one have started, so that its first blocks fill the multiprocessors that the last
/// blocks leave. The chain as a whole is ordered after earlier and before later work of the stream.
class LaunchChain {
  public:
    explicit LaunchChain(const Context& context) : stream_(stream_of(context)) {}

    /// Launches a kernel whose last parameter is `bool first_in_chain` and that begins with
    /// `if (begin_in_chain(first_in_chain)) return;`, with one thread block more than `blocks`.
    template <class... Parameters, class... Arguments>
    void launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, int shared_bytes,
                Arguments&&... arguments) {
        launch_dependent(kernel, blocks + 1, threads, shared_bytes, stream_,
                         std::forward<Arguments>(arguments)..., std::exchange(first_, false));
    }

    /// For kernels outside the chain: they wait for it, and the next launch begins a new chain.
    cudaStream_t stream() {
        first_ = true;
        return stream_;
    }

  private:
    cudaStream_t stream_;
    bool first_ = true;
};

/// Allows the next kernel of a chain to start; the first kernel waits for all earlier work first,
/// so that the whole chain can read its results. Returns true in the last thread block, which only
/// waits for the previous kernel: so no kernel ends before the previous one, and the end of the
/// last is the end of the chain.
__device__ __forceinline__ bool begin_in_chain(bool first_in_chain) {
    const bool last = blockIdx.x + 1 == gridDim.x;
    if (first_in_chain) wait_for_prior_kernels();
    trigger_dependent_launch();
    if (last) wait_for_prior_kernels();
    return last;
}

/// f(i) for the `PerThread` * blockDim.x elements of this thread block below n, adjacent elements
/// on adjacent threads.
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
