#pragma once

#include <cuda_runtime.h>

/// Shared memory: addresses in registers, and predicated stores, one instruction each where the
/// compiler would branch.
namespace tessera::cuda {

__device__ __forceinline__ unsigned address_in_shared(const void* shared) {
    return unsigned(__cvta_generic_to_shared(shared));
}

/// x by an address in a register, which the compiler would compute again in each turn of a loop.
template <class T>
__device__ __forceinline__ T& by_register(T& x) {
    T* address = &x;
    asm volatile("" : "+l"(address));
    __builtin_assume(__isShared(address));
    return *address;
}

/// *to = value if `condition`.
__device__ __forceinline__ void store_shared_if(bool condition, double* to, double value) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p st.shared.f64 [%0], %1; }" ::"r"(
                     address_in_shared(to)),
                 "d"(value), "r"(int(condition))
                 : "memory");
}
__device__ __forceinline__ void store_shared_if(bool condition, float* to, float value) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p st.shared.f32 [%0], %1; }" ::"r"(
                     address_in_shared(to)),
                 "f"(value), "r"(int(condition))
                 : "memory");
}
__device__ __forceinline__ void store_shared_if(bool condition, int* to, int value) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p st.shared.s32 [%0], %1; }" ::"r"(
                     address_in_shared(to)),
                 "r"(value), "r"(int(condition))
                 : "memory");
}
/// Eight values, aligned to 16 bytes.
__device__ __forceinline__ void store_shared_if(bool condition, double* to, const double (&v)[8]) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.s32 p, %9, 0;\n"
        "@p st.shared.v2.f64 [%0], {%1, %2};\n"
        "@p st.shared.v2.f64 [%0 + 16], {%3, %4};\n"
        "@p st.shared.v2.f64 [%0 + 32], {%5, %6};\n"
        "@p st.shared.v2.f64 [%0 + 48], {%7, %8};\n}" ::"r"(address_in_shared(to)),
        "d"(v[0]), "d"(v[1]), "d"(v[2]), "d"(v[3]), "d"(v[4]), "d"(v[5]), "d"(v[6]), "d"(v[7]),
        "r"(int(condition))
        : "memory");
}
__device__ __forceinline__ void store_shared_if(bool condition, float* to, const float (&v)[8]) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.s32 p, %9, 0;\n"
        "@p st.shared.v4.f32 [%0], {%1, %2, %3, %4};\n"
        "@p st.shared.v4.f32 [%0 + 16], {%5, %6, %7, %8};\n}" ::"r"(address_in_shared(to)),
        "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]), "f"(v[4]), "f"(v[5]), "f"(v[6]), "f"(v[7]),
        "r"(int(condition))
        : "memory");
}

}  // namespace tessera::cuda
