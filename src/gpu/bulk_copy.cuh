#pragma once

#include "gpu/warp.cuh"

/// Bulk copies from global to shared memory by one warp (compute capability 9.0 on).
namespace tessera::cuda {

/// Where a warp waits for the bytes of its copies. Its eight bytes of shared memory must not be
/// used for anything else in the life of the thread block.
class CopyBarrier {
  public:
    explicit __device__ __forceinline__ CopyBarrier(unsigned long long* place)
        : address_(unsigned(__cvta_generic_to_shared(place))) {}

    /// Before the copies, by all lanes, once: how many bytes they are going to copy.
    __device__ __forceinline__ void expect(int bytes) const {
        if (threadIdx.x % 32 == 0) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address_) : "memory");
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address_),
                         "r"(bytes)
                         : "memory");
        }
        __syncwarp();
    }
    /// Copies from and to addresses that are multiples of 16 bytes; `bytes` is one, too.
    __device__ __forceinline__ void copy(void* to, const void* from, int bytes) const {
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
            "[%3];" ::"r"(unsigned(__cvta_generic_to_shared(to))),
            "l"(from), "r"(bytes), "r"(address_)
            : "memory");
    }
    /// By all lanes, until all bytes are there.
    __device__ __forceinline__ void wait() const {
        asm volatile(
            "{\n.reg .pred p;\nWAIT:\n"
            "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n"
            "@!p bra WAIT;\n}" ::"r"(address_)
            : "memory");
        __syncwarp();
    }

  private:
    unsigned address_;
};

}  // namespace tessera::cuda
