#pragma once

#include "gpu/tiles/staging/warp_staging.cuh"

/// Contiguous batches, copied in chunks of 16 bytes at compile-time offsets.
namespace tessera::cuda {

/// Copies of a warp's part of a contiguous batch: up to `matrices` matrices of n rows. In shared
/// memory `pad` values follow every `padded` matrices; see StageShape.
template <class T, int n, int matrices, int padded, int pad>
struct ContiguousTile {
    static constexpr int matrix_bytes = n * n * int(sizeof(T));
    static constexpr int pad_chunks = pad * int(sizeof(T)) / 16;
    static constexpr int chunks_between_pads = pad == 0 ? 1 : padded * matrix_bytes / 16;
    static_assert(pad == 0 || (pad * int(sizeof(T)) % 16 == 0 && padded * matrix_bytes % 16 == 0));
    static_assert(matrices * matrix_bytes % 16 == 0, "warps begin at multiples of 16 bytes");

    /// visit(chunk, its offset in shared memory) and, after the last whole chunk, tail(value, its
    /// offset), for the share of this lane of the first `count` matrices.
    template <class Visit, class Tail>
    __device__ static __forceinline__ void for_each(int count, Visit&& visit, Tail&& tail) {
        const int lane = int(threadIdx.x) % 32;
        const int left = count * matrix_bytes / 16 - lane;
#pragma unroll 8
        for (int c = 0; c < matrices * matrix_bytes / 16; c += 32) {
            if (c < left) visit(c + lane, c + lane + (c + lane) / chunks_between_pads * pad_chunks);
        }
        if (matrix_bytes % 16 != 0) {
            const int e = count * matrix_bytes / 16 * 16 / int(sizeof(T)) + lane;
            if (e < count * n * n) tail(e, e + e / (padded * n * n) * pad);
        }
    }
    /// Starts asynchronous copies to shared memory; see wait_for_copies.
    __device__ static __forceinline__ void load(const T* from, int count, T* staged) {
        for_each(
            count,
            [&](int c, int offset) {
                copy_to_shared<16>(reinterpret_cast<int4*>(staged) + offset,
                                   reinterpret_cast<const int4*>(from) + c);
            },
            [&](int e, int offset) { copy_to_shared<int(sizeof(T))>(staged + offset, from + e); });
    }
    __device__ static __forceinline__ void store(T* to, int count, const T* staged) {
        for_each(
            count,
            [&](int c, int offset) {
                reinterpret_cast<int4*>(to)[c] = reinterpret_cast<const int4*>(staged)[offset];
            },
            [&](int e, int offset) { to[e] = staged[offset]; });
    }
};

/// 32 matrices, one for each lane of a warp, padded so that lanes access their own matrices without
/// bank conflicts.
template <class T, int n>
struct ThreadStage {
    static constexpr int matrix_bytes = n * n * int(sizeof(T));
    static constexpr int pad_bytes = matrix_bytes % 32 == 0 ? 16 : 0;
    static constexpr int stride = (matrix_bytes + pad_bytes) / int(sizeof(T));
    static constexpr int bytes = 32 * stride * int(sizeof(T));
    using Tile = ContiguousTile<T, n, 32, 1, stride - n * n>;
    /// Bytes that a thread moves at once: a divisor of `unit`.
    static constexpr int width(int unit) { return unit % 16 == 0 ? 16 : unit % 8 == 0 ? 8 : 4; }
};

}  // namespace tessera::cuda
