#pragma once

#include <cstring>

#include "gpu/pack.cuh"

/// Copies between shared or global memory and the registers of a thread.
namespace tessera::cuda {

/// Bytes that a thread moves at once: a divisor of `unit`, a multiple of 4.
constexpr int pack_bytes(int unit) { return unit % 16 == 0 ? 16 : unit % 8 == 0 ? 8 : 4; }

/// Copies `Count` values in units of `Bytes`, to which `shared` is aligned. The units are integers:
/// with values of T the compiler needs many more registers for FP32 and n = 6.
template <int Bytes, int Count, class T>
__device__ __forceinline__ void load_packs(const T* shared, T* registers) {
    constexpr int each = Bytes / int(sizeof(T));
#pragma unroll
    for (int c = 0; c < Count / each; ++c) {
        const auto bits = reinterpret_cast<const Pack<int, Bytes / 4>*>(shared)[c];
        T values[each];
        memcpy(values, &bits, Bytes);
#pragma unroll
        for (int q = 0; q < each; ++q) registers[c * each + q] = values[q];
    }
}
template <int Bytes, int Count, class T>
__device__ __forceinline__ void store_packs(T* shared, const T* registers) {
    constexpr int each = Bytes / int(sizeof(T));
#pragma unroll
    for (int c = 0; c < Count / each; ++c) {
        T values[each];
#pragma unroll
        for (int q = 0; q < each; ++q) values[q] = registers[c * each + q];
        Pack<int, Bytes / 4> bits;
        memcpy(&bits, values, Bytes);
        reinterpret_cast<Pack<int, Bytes / 4>*>(shared)[c] = bits;
    }
}

}  // namespace tessera::cuda
