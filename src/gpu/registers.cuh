#pragma once

#include <type_traits>

/// Selection among registers, opaque to the compiler, which would otherwise index them and so spill
/// them to local memory.
namespace tessera::cuda {

/// x if `condition`, else y.
__device__ __forceinline__ float select_register(bool condition, float x, float y) {
    float result;
    asm("{ .reg .pred p; setp.ne.s32 p, %3, 0; selp.f32 %0, %1, %2, p; }"
        : "=f"(result)
        : "f"(x), "f"(y), "r"(int(condition)));
    return result;
}
__device__ __forceinline__ double select_register(bool condition, double x, double y) {
    double result;
    asm("{ .reg .pred p; setp.ne.s32 p, %3, 0; selp.f64 %0, %1, %2, p; }"
        : "=d"(result)
        : "d"(x), "d"(y), "r"(int(condition)));
    return result;
}

/// value = from. J, the branch of with_register, makes the instruction unique, so that the compiler
/// does not merge the branches.
template <int J>
__device__ __forceinline__ void move_register(float& value, float from) {
    asm volatile("mov.b32 %0, %1; // %2" : "=f"(value) : "f"(from), "n"(J));
}
template <int J>
__device__ __forceinline__ void move_register(double& value, double from) {
    asm volatile("mov.b64 %0, %1; // %2" : "=d"(value) : "d"(from), "n"(J));
}

/// f(std::integral_constant<int, j>()), First <= j < Last, by a tree of branches (a switch would
/// become a jump table).
template <int First, int Last, class F>
__device__ __forceinline__ void with_register(int j, F&& f) {
    constexpr int middle = (First + Last) / 2;
    if constexpr (Last - First == 1) {
        f(std::integral_constant<int, First>());
    } else if (j < middle) {
        with_register<First, middle>(j, f);
    } else {
        with_register<middle, Last>(j, f);
    }
}

}  // namespace tessera::cuda
