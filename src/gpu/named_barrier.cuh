#pragma once

namespace tessera::cuda {

/// A barrier of `threads` threads of a thread block, in whole warps, which may wait at different
/// places of a program, as __syncthreads() does not allow. `number` is 1 to 15; 0 is that of
/// __syncthreads().
template <int number, int threads>
__device__ __forceinline__ void named_barrier() {
    static_assert(number > 0 && number < 16 && threads % 32 == 0);
    asm volatile("barrier.cta.sync.aligned %0, %1;" ::"n"(number), "n"(threads) : "memory");
}

}  // namespace tessera::cuda
