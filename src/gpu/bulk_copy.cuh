#pragma once

#include <cuda_runtime.h>

/// Bulk copies from global to shared memory (compute capability 9.0 on).
namespace tessera::cuda {

/// A shared-memory barrier (mbarrier) that counts the bytes of bulk copies. Its eight bytes must
/// not be used for anything else during the life of the thread block. Empty for older
/// architectures, whose kernels must not use it.
class CopyBarrier {
  public:
    __device__ __forceinline__ explicit CopyBarrier(unsigned long long* barrier)
        : address_(unsigned(__cvta_generic_to_shared(barrier))) {}
    /// Called by one thread, before others use it.
    __device__ __forceinline__ void init() const {
#if __CUDA_ARCH__ >= 900
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address_) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
    }
    /// Called by one thread, once per wait, with the number of bytes to arrive.
    __device__ __forceinline__ void expect(int bytes) const {
#if __CUDA_ARCH__ >= 900
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address_),
                     "r"(bytes)
                     : "memory");
#endif
    }
    /// Called by one thread; addresses and bytes are multiples of 16.
    __device__ __forceinline__ void copy(const void* from, void* to, int bytes) const {
#if __CUDA_ARCH__ >= 900
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
            "[%3];" ::"r"(unsigned(__cvta_generic_to_shared(to))),
            "l"(from), "r"(bytes), "r"(address_)
            : "memory");
#endif
    }
    /// Called by all threads that accessed the destination, before a barrier and the next copy to
    /// it.
    __device__ __forceinline__ static void fence_async_copies() {
#if __CUDA_ARCH__ >= 900
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
    }
    /// Waits; the k-th wait has phase k % 2.
    __device__ __forceinline__ void wait(int phase) const {
#if __CUDA_ARCH__ >= 900
        asm volatile(
            "{\n"
            ".reg .pred arrived;\n"
            "again:\n"
            "mbarrier.try_wait.parity.shared::cta.b64 arrived, [%0], %1;\n"
            "@!arrived bra again;\n"
            "}\n" ::"r"(address_),
            "r"(phase)
            : "memory");
#endif
    }

  private:
    unsigned address_;
};

}  // namespace tessera::cuda
