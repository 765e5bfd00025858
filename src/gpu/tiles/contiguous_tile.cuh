#pragma once

#include "gpu/tiles/staging.cuh"

/// Batches that are one run of memory, copied in chunks of 16 bytes with addresses that the
/// compiler knows but for their beginning.
namespace tessera::cuda {

/// The part of a run that belongs to a warp: up to `matrices` of n rows, which lie in its shared
/// memory with `pad` values behind each `padded` of them; see StageShape.
template <class T, int n, int matrices, int padded, int pad>
struct ContiguousTile {
    static constexpr int matrix_bytes = n * n * int(sizeof(T));
    static constexpr int pad_chunks = pad * int(sizeof(T)) / 16;
    static constexpr int padded_chunks = pad == 0 ? 1 : padded * matrix_bytes / 16;
    static_assert(pad == 0 || (pad * int(sizeof(T)) % 16 == 0 && padded * matrix_bytes % 16 == 0));
    static_assert(matrices * matrix_bytes % 16 == 0, "warps begin at multiples of 16 bytes");

    /// visit(chunk, its place in shared memory) and, behind the last whole chunk, rest(value, its
    /// place), for what this lane copies of the first `here` matrices.
    template <class Visit, class Rest>
    __device__ static __forceinline__ void for_each(int here, Visit&& visit, Rest&& rest) {
        const int lane = int(threadIdx.x) % 32;
        const int left = here * matrix_bytes / 16 - lane;
#pragma unroll 8
        for (int c = 0; c < matrices * matrix_bytes / 16; c += 32) {
            if (c < left) visit(c + lane, c + lane + (c + lane) / padded_chunks * pad_chunks);
        }
        if (matrix_bytes % 16 != 0) {
            const int e = here * matrix_bytes / 16 * 16 / int(sizeof(T)) + lane;
            if (e < here * n * n) rest(e, e + e / (padded * n * n) * pad);
        }
    }
    /// Starts to copy them to shared memory; see wait_for_copies.
    __device__ static __forceinline__ void load(const T* from, int here, T* staged) {
        for_each(
            here,
            [&](int c, int place) {
                copy_to_shared<16>(reinterpret_cast<int4*>(staged) + place,
                                   reinterpret_cast<const int4*>(from) + c);
            },
            [&](int e, int place) { copy_to_shared<int(sizeof(T))>(staged + place, from + e); });
    }
    __device__ static __forceinline__ void store(T* to, int here, const T* staged) {
        for_each(
            here,
            [&](int c, int place) {
                reinterpret_cast<int4*>(to)[c] = reinterpret_cast<const int4*>(staged)[place];
            },
            [&](int e, int place) { to[e] = staged[place]; });
    }
};

}  // namespace tessera::cuda
