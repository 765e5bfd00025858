#pragma once

#include <cuda_runtime.h>

/// *address where `wanted`, else `otherwise`, of memory that no kernel writes meanwhile. One
/// predicated instruction where the compiler would branch, so that many reads can be under way.
namespace tessera::cuda {

__device__ __forceinline__ double load_if(bool wanted, const double* address, double otherwise) {
    asm("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.nc.f64 %0, [%1]; }"
        : "+d"(otherwise)
        : "l"(address), "r"(int(wanted)));
    return otherwise;
}
__device__ __forceinline__ float load_if(bool wanted, const float* address, float otherwise) {
    asm("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.nc.f32 %0, [%1]; }"
        : "+f"(otherwise)
        : "l"(address), "r"(int(wanted)));
    return otherwise;
}
__device__ __forceinline__ int load_if(bool wanted, const int* address, int otherwise) {
    asm("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.nc.s32 %0, [%1]; }"
        : "+r"(otherwise)
        : "l"(address), "r"(int(wanted)));
    return otherwise;
}

}  // namespace tessera::cuda
