#pragma once

#include <cuda_runtime.h>

/// Collectives of the 32 lanes of a warp, or of `Lanes` adjacent ones, called by all lanes of the
/// warp; and division of small integers.
namespace tessera::cuda {

/// ceil(2^32 / d) for quotient_of; 0 stands for d <= 1.
__host__ __device__ constexpr unsigned inverse_of(int d) {
    return d <= 1 ? 0 : ~0u / unsigned(d) + 1;
}
/// x / d from inverse_of(d), exact while x d < 2^32.
__device__ __forceinline__ int quotient_of(int x, unsigned inverse) {
    return inverse == 0 ? x : int(__umulhi(unsigned(x), inverse));
}

inline constexpr unsigned full_warp = ~0u;

/// Maximum over each group of `Lanes` lanes, in all of them.
template <int Lanes = 32, class T>
__device__ __forceinline__ T lanes_max(T value) {
#pragma unroll
    for (int distance = Lanes / 2; distance > 0; distance /= 2) {
        const T other = __shfl_xor_sync(full_warp, value, distance);
        value = value < other ? other : value;
    }
    return value;
}

/// Maximum that propagates NaN.
template <class T>
__device__ __forceinline__ T max_or_nan(T value, T largest) {
    return value > largest || isnan(value) ? value : largest;
}

/// Maximum over each group of `Lanes` lanes of values that are not negative; of doubles over a
/// whole warp NaN is the largest.
template <int Lanes = 32>
__device__ __forceinline__ float lanes_max_magnitude(float value) {
    if constexpr (Lanes == 32) {
        return __uint_as_float(__reduce_max_sync(full_warp, __float_as_uint(value)));
    }
#pragma unroll
    for (int distance = Lanes / 2; distance > 0; distance /= 2) {
        value = fmaxf(value, __shfl_xor_sync(full_warp, value, distance));
    }
    return value;
}
template <int Lanes = 32>
__device__ __forceinline__ double lanes_max_magnitude(double value) {
    if constexpr (Lanes == 32) {
        const auto high = unsigned(__double2hiint(value));
        const unsigned top = __reduce_max_sync(full_warp, high);
        const auto low = high == top ? unsigned(__double2loint(value)) : 0u;
        return __hiloint2double(int(top), int(__reduce_max_sync(full_warp, low)));
    } else {
        return lanes_max<Lanes>(value);
    }
}

/// Sum over each group of `Lanes` lanes, in all of them, in a fixed tree.
template <int Lanes = 32, class T>
__device__ __forceinline__ T lanes_sum(T value) {
#pragma unroll
    for (int distance = Lanes / 2; distance > 0; distance /= 2) {
        value += __shfl_xor_sync(full_warp, value, distance);
    }
    return value;
}

/// Inclusive scan over the warp.
template <class T>
__device__ __forceinline__ T warp_inclusive_scan(T value) {
    const int lane = int(threadIdx.x) % 32;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        const T before = __shfl_up_sync(full_warp, value, distance);
        if (lane >= distance) value += before;
    }
    return value;
}

/// Whether `condition` is true in any of the `Lanes` lanes of this group.
template <int Lanes>
__device__ __forceinline__ bool any_of_lanes(bool condition) {
    const unsigned votes = __ballot_sync(full_warp, condition);
    if constexpr (Lanes == 32) return votes != 0;
    const unsigned group = threadIdx.x % 32 / Lanes;
    return (votes >> (group * Lanes) & ((1u << (Lanes % 32)) - 1)) != 0;
}

}  // namespace tessera::cuda
