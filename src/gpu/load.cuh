#pragma once

#include <cuda_runtime.h>

#include "gpu/pack.cuh"

/// Predicated loads and stores of global memory: one instruction each where the compiler would
/// branch, so that many are in flight.
namespace tessera::cuda {

/// *address if `condition`, else `otherwise`. Non-coherent: the kernel must not write this address
/// before it has read it for the last time.
__device__ __forceinline__ double load_if(bool condition, const double* address, double otherwise) {
    asm("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.nc.f64 %0, [%1]; }"
        : "+d"(otherwise)
        : "l"(address), "r"(int(condition)));
    return otherwise;
}
__device__ __forceinline__ float load_if(bool condition, const float* address, float otherwise) {
    asm("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.nc.f32 %0, [%1]; }"
        : "+f"(otherwise)
        : "l"(address), "r"(int(condition)));
    return otherwise;
}
__device__ __forceinline__ int load_if(bool condition, const int* address, int otherwise) {
    asm("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.nc.s32 %0, [%1]; }"
        : "+r"(otherwise)
        : "l"(address), "r"(int(condition)));
    return otherwise;
}
template <class T, int count>
__device__ __forceinline__ Pack<T, count> load_if(bool condition, const Pack<T, count>* address,
                                                  Pack<T, count> otherwise) {
    T(&v)[count] = otherwise.value;
    if constexpr (count == 1) {
        v[0] = load_if(condition, address->value, v[0]);
    } else if constexpr (sizeof(T) == 8) {
        static_assert(count == 2);
        asm("{ .reg .pred p; setp.ne.s32 p, %3, 0; @p ld.global.nc.v2.f64 {%0, %1}, [%2]; }"
            : "+d"(v[0]), "+d"(v[1])
            : "l"(address), "r"(int(condition)));
    } else if constexpr (count == 2) {
        asm("{ .reg .pred p; setp.ne.s32 p, %3, 0; @p ld.global.nc.v2.f32 {%0, %1}, [%2]; }"
            : "+f"(v[0]), "+f"(v[1])
            : "l"(address), "r"(int(condition)));
    } else {
        asm("{ .reg .pred p; setp.ne.s32 p, %5, 0; @p ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4]; }"
            : "+f"(v[0]), "+f"(v[1]), "+f"(v[2]), "+f"(v[3])
            : "l"(address), "r"(int(condition)));
    }
    return otherwise;
}

/// *address if `condition`, else `otherwise`; coherent and in program order, for memory that the
/// kernel also writes.
template <class T>
__device__ __forceinline__ T load_coherent_if(bool condition, const T* address, T otherwise) {
    if constexpr (sizeof(T) == 8) {
        asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.f64 %0, [%1]; }"
                     : "+d"(otherwise)
                     : "l"(address), "r"(int(condition))
                     : "memory");
    } else {
        asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.f32 %0, [%1]; }"
                     : "+f"(otherwise)
                     : "l"(address), "r"(int(condition))
                     : "memory");
    }
    return otherwise;
}

/// *address = value if `condition`; the thread must not read it afterwards. No memory clobber, so
/// that later loads from shared memory need not wait for the store.
template <class T>
__device__ __forceinline__ void store_if(bool condition, T* address, T value) {
    if constexpr (sizeof(T) == 8) {
        asm volatile(
            "{ .reg .pred p; setp.ne.s32 p, %2, 0; @p st.global.f64 [%0], %1; }" ::"l"(address),
            "d"(value), "r"(int(condition)));
    } else {
        asm volatile(
            "{ .reg .pred p; setp.ne.s32 p, %2, 0; @p st.global.f32 [%0], %1; }" ::"l"(address),
            "f"(value), "r"(int(condition)));
    }
}

}  // namespace tessera::cuda
