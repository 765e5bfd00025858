#pragma once

#include <cuda_runtime.h>

/// *address where `wanted`, else `otherwise`; the kernel may write it only after its last read. One
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

__device__ __forceinline__ float2 load_if(bool wanted, const float2* address, float2 otherwise) {
    asm("{ .reg .pred p; setp.ne.s32 p, %3, 0; @p ld.global.nc.v2.f32 {%0, %1}, [%2]; }"
        : "+f"(otherwise.x), "+f"(otherwise.y)
        : "l"(address), "r"(int(wanted)));
    return otherwise;
}
__device__ __forceinline__ float4 load_if(bool wanted, const float4* address, float4 otherwise) {
    asm("{ .reg .pred p; setp.ne.s32 p, %5, 0; @p ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4]; }"
        : "+f"(otherwise.x), "+f"(otherwise.y), "+f"(otherwise.z), "+f"(otherwise.w)
        : "l"(address), "r"(int(wanted)));
    return otherwise;
}
__device__ __forceinline__ double2 load_if(bool wanted, const double2* address, double2 otherwise) {
    asm("{ .reg .pred p; setp.ne.s32 p, %3, 0; @p ld.global.nc.v2.f64 {%0, %1}, [%2]; }"
        : "+d"(otherwise.x), "+d"(otherwise.y)
        : "l"(address), "r"(int(wanted)));
    return otherwise;
}

}  // namespace tessera::cuda
