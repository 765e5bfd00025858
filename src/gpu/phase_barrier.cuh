#pragma once

#include "gpu/shared_memory.cuh"

namespace tessera::cuda {

/// A barrier in shared memory (mbarrier), at which some threads of a thread block arrive and others
/// wait, at different places of the program. Its phases follow each other: one ends when all
/// threads have arrived that it counts.
class PhaseBarrier {
  public:
    /// Called by one thread; then follows __syncthreads().
    __device__ __forceinline__ void init(int threads) {
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address_in_shared(&state_)),
                     "r"(threads)
                     : "memory");
    }
    /// What this thread has read and written before is done for those that wait.
    __device__ __forceinline__ void arrive() {
        asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(
                         address_in_shared(&state_))
                     : "memory");
    }
    /// Waits for the end of the k-th phase, k % 2 = phase; the one after it may not have ended.
    __device__ __forceinline__ void wait(int phase) {
        asm volatile(
            "{\n.reg .pred ended;\nagain:\n"
#if __CUDA_ARCH__ >= 900
            "mbarrier.try_wait.parity.shared.b64 ended, [%0], %1;\n"
#else
            "mbarrier.test_wait.parity.shared.b64 ended, [%0], %1;\n"
#endif
            "@!ended bra again;\n}" ::"r"(address_in_shared(&state_)),
            "r"(phase)
            : "memory");
    }

  private:
    unsigned long long state_;
};

}  // namespace tessera::cuda
