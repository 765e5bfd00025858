#pragma once

#include <cuda_runtime.h>

/// *address where `wanted`, else `otherwise`, of memory that the kernel writes, before or after: an
/// ordinary load in its place among the accesses of the thread (load_if promises that nobody
/// writes). One predicated instruction, so that many reads can be under way.
namespace tessera::cuda {

__device__ __forceinline__ double load_written_if(bool wanted, const double* address,
                                                  double otherwise) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.f64 %0, [%1]; }"
                 : "+d"(otherwise)
                 : "l"(address), "r"(int(wanted))
                 : "memory");
    return otherwise;
}
__device__ __forceinline__ float load_written_if(bool wanted, const float* address,
                                                 float otherwise) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.f32 %0, [%1]; }"
                 : "+f"(otherwise)
                 : "l"(address), "r"(int(wanted))
                 : "memory");
    return otherwise;
}

}  // namespace tessera::cuda
