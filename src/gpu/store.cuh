#pragma once

#include <cuda_runtime.h>

/// *address = value where `wanted`, in global memory that the thread does not read afterwards. One
/// predicated instruction, which loads from shared memory may pass: where the compiler does not
/// know where an address lies, it would finish each store before the next load.
namespace tessera::cuda {

__device__ __forceinline__ void store_if(bool wanted, double* address, double value) {
    asm volatile(
        "{ .reg .pred p; setp.ne.s32 p, %2, 0; @p st.global.f64 [%0], %1; }" ::"l"(address),
        "d"(value), "r"(int(wanted)));
}
__device__ __forceinline__ void store_if(bool wanted, float* address, float value) {
    asm volatile(
        "{ .reg .pred p; setp.ne.s32 p, %2, 0; @p st.global.f32 [%0], %1; }" ::"l"(address),
        "f"(value), "r"(int(wanted)));
}

}  // namespace tessera::cuda
