#pragma once

#include <cuda_runtime.h>

/// Bulk copies from global to shared memory (compute capability 9.0 on).
namespace tessera::cuda {

/// Counts the bytes of bulk copies that arrive in shared memory. Its eight bytes must not be used
/// for anything else in the life of the thread block. Kernels for older GPUs compile, but must not
/// get here.
class CopyBarrier {
  public:
    __device__ __forceinline__ explicit CopyBarrier(unsigned long long* barrier)
        : address_(unsigned(__cvta_generic_to_shared(barrier))) {}
    /// By one thread, before others use it.
    __device__ __forceinline__ void init() const {
#if __CUDA_ARCH__ >= 900
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address_) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
    }
    /// By one thread, once for each wait: how much will arrive.
    __device__ __forceinline__ void expect(int bytes) const {
#if __CUDA_ARCH__ >= 900
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address_),
                     "r"(bytes)
                     : "memory");
#endif
    }
    /// By one thread; 16 divides addresses and bytes.
    __device__ __forceinline__ void copy(const void* from, void* to, int bytes) const {
#if __CUDA_ARCH__ >= 900
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
            "[%3];" ::"r"(unsigned(__cvta_generic_to_shared(to))),
            "l"(from), "r"(bytes), "r"(address_)
            : "memory");
#endif
    }
    /// By all threads that wrote to a place, before they meet and one copies to it.
    __device__ __forceinline__ static void after_writes() {
#if __CUDA_ARCH__ >= 900
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
    }
    /// The k-th wait has phase k % 2.
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
