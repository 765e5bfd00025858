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
#if __CUDA_ARCH__ >= 900
    if (first_in_chain) asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;");
    if (last) asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    return last;
}

}  // namespace tessera::cuda
