#pragma once

#include <cuda_runtime.h>

#include "gpu/pack.cuh"

/// Predicated reads and writes of global memory: one instruction each where the compiler would
/// branch, so that many can be under way.
namespace tessera::cuda {

/// *address where `wanted`, else `otherwise`; the kernel may write it only after its last read.
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
template <class T, int count>
__device__ __forceinline__ Pack<T, count> load_if(bool wanted, const Pack<T, count>* address,
                                                  Pack<T, count> otherwise) {
    T(&v)[count] = otherwise.value;
    if constexpr (count == 1) {
        v[0] = load_if(wanted, address->value, v[0]);
    } else if constexpr (sizeof(T) == 8) {
        static_assert(count == 2);
        asm("{ .reg .pred p; setp.ne.s32 p, %3, 0; @p ld.global.nc.v2.f64 {%0, %1}, [%2]; }"
            : "+d"(v[0]), "+d"(v[1])
            : "l"(address), "r"(int(wanted)));
    } else if constexpr (count == 2) {
        asm("{ .reg .pred p; setp.ne.s32 p, %3, 0; @p ld.global.nc.v2.f32 {%0, %1}, [%2]; }"
            : "+f"(v[0]), "+f"(v[1])
            : "l"(address), "r"(int(wanted)));
    } else {
        asm("{ .reg .pred p; setp.ne.s32 p, %5, 0; @p ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4]; }"
            : "+f"(v[0]), "+f"(v[1]), "+f"(v[2]), "+f"(v[3])
            : "l"(address), "r"(int(wanted)));
    }
    return otherwise;
}

/// The same of memory that the kernel writes, before or after: an ordinary load in its place among
/// the accesses of the thread.
template <class T>
__device__ __forceinline__ T load_coherent_if(bool wanted, const T* address, T otherwise) {
    if constexpr (sizeof(T) == 8) {
        asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.f64 %0, [%1]; }"
                     : "+d"(otherwise)
                     : "l"(address), "r"(int(wanted))
                     : "memory");
    } else {
        asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.f32 %0, [%1]; }"
                     : "+f"(otherwise)
                     : "l"(address), "r"(int(wanted))
                     : "memory");
    }
    return otherwise;
}

/// *address = value where `wanted`; the thread does not read it afterwards. Loads from shared
/// memory may pass it: where the compiler does not know where an address lies, it would finish each
/// store before the next load.
template <class T>
__device__ __forceinline__ void store_if(bool wanted, T* address, T value) {
    if constexpr (sizeof(T) == 8) {
        asm volatile(
            "{ .reg .pred p; setp.ne.s32 p, %2, 0; @p st.global.f64 [%0], %1; }" ::"l"(address),
            "d"(value), "r"(int(wanted)));
    } else {
        asm volatile(
            "{ .reg .pred p; setp.ne.s32 p, %2, 0; @p st.global.f32 [%0], %1; }" ::"l"(address),
            "f"(value), "r"(int(wanted)));
    }
}

}  // namespace tessera::cuda
