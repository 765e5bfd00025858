#pragma once

#include <utility>

#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"

namespace tessera::cuda {

/// Kernels in the stream of a Context that need not wait for each other: each starts once all
/// thread blocks of the one before have started, so that its first ones fill the gaps that the last
/// ones of that leave. They come after all work given to the stream before, and all work given to
/// it later comes after them.
class LaunchChain {
  public:
    explicit LaunchChain(const Context& context) : stream_(stream_of(context)) {}

    /// Launches a kernel that begins with `if (begin_in_chain()) return;`, with one thread block
    /// more than it has work for.
    template <class... Parameters, class... Arguments>
    void launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, int shared_bytes,
                Arguments&&... arguments) {
        if (shared_bytes > 48 * 1024) {
            TESSERA_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                              shared_bytes));
        }
        cudaLaunchAttribute overlap{};
        overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        overlap.val.programmaticStreamSerializationAllowed = 1;
        cudaLaunchConfig_t config{};
        config.gridDim = blocks + 1;
        config.blockDim = threads;
        config.dynamicSmemBytes = std::size_t(shared_bytes);
        config.stream = stream_;
        config.attrs = &overlap;
        // The first waits for all before it as usual: who knows when they let others start.
        config.numAttrs = std::exchange(first_, false) || !overlapping_launches() ? 0 : 1;
        TESSERA_CUDA(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...));
    }

    /// For kernels outside of the chain: they wait for it, and it waits for them.
    cudaStream_t stream() const { return stream_; }

  private:
    cudaStream_t stream_;
    bool first_ = true;
};

/// Lets the next kernel of a chain start. True in the last thread block: it only waits for the
/// kernel before, so that none ends before those before it have, and the end of the last one is the
/// end of all.
__device__ __forceinline__ bool begin_in_chain() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
    if (blockIdx.x + 1 < gridDim.x) return false;
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    return true;
}

}  // namespace tessera::cuda
