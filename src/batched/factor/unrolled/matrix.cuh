#pragma once

#include "gpu/pack.cuh"
#include "gpu/tiles/factor/pivots.cuh"
#include "gpu/tiles/staging/contiguous_tile.cuh"

namespace tessera::cuda {

namespace {

/// A matrix of 8 rows in the registers of one lane. Padding between the 32 staged matrices of a
/// warp avoids bank conflicts of 16-byte accesses.
template <class T>
struct LaneMatrix : ContiguousTile<T, 8, 32, 1, pack_width<T>> {
    static constexpr int n = 8;
    static constexpr int lanes = 1;
    static constexpr int rows = n;
    static constexpr int matrices = 32;  ///< Per warp.
    static constexpr int width = pack_width<T>;
    static constexpr int stride = n * n + width;
    static constexpr int bytes = matrices * stride * int(sizeof(T));  ///< Per warp.

    T a[n * n];
    int row[n];  ///< The row in each position.
    T* staged;

    __device__ __forceinline__ LaneMatrix(T* memory, int m) : staged(memory + m * stride) {
#pragma unroll
        for (int k = 0; k < n * n; k += width) {
            const auto pack = *reinterpret_cast<const Pack16<T>*>(staged + k);
#pragma unroll
            for (int e = 0; e < width; ++e) a[k + e] = pack.value[e];
        }
    }
    /// Offset of value e of matrix m in shared memory.
    static __device__ __forceinline__ int offset(int m, int e) { return m * stride + e; }
    __device__ __forceinline__ int original_row(int s) const { return row[s]; }
    /// Writes the factors to shared memory.
    __device__ __forceinline__ void stage() {
#pragma unroll
        for (int k = 0; k < n * n; k += width) {
            Pack16<T> pack;
#pragma unroll
            for (int e = 0; e < width; ++e) pack.value[e] = a[k + e];
            *reinterpret_cast<Pack16<T>*>(staged + k) = pack;
        }
    }
};

/// A matrix of 16 rows in the registers of a group of `Lanes` lanes, `rows` of them each.
/// Eliminations write the factors to shared memory as they go.
template <class T, int Lanes>
struct LaneGroupMatrix {
    static constexpr int n = 16;
    static constexpr int lanes = Lanes;
    static constexpr int rows = n / Lanes;                      ///< Per lane.
    static constexpr int width = pack_width<T>;                 ///< Adjacent rows of a lane.
    static constexpr int row_cycle = width * Lanes;             ///< Rows of all lanes in one cycle.
    static constexpr int matrices = 32 / Lanes;                 ///< Per warp.
    static constexpr int chunks = n * n / width;                ///< 16-byte chunks per matrix.
    static constexpr int column_chunks = n / width;             ///< Chunks per column.
    static constexpr int pitch_chunks = chunks + Lanes % 8;     ///< Chunks per padded matrix.
    static constexpr int bytes = matrices * pitch_chunks * 16;  ///< Per warp.
    static_assert(rows % width == 0);

    T a[rows][n];
    unsigned long long packed_order;  ///< Result: row of each position of this lane, in four bits.
    T* staged;
    int lane;

    __device__ __forceinline__ LaneGroupMatrix(T* memory, int m)
        : staged(memory + m * pitch_chunks * width), lane(int(threadIdx.x) % Lanes) {
        const auto* const packs = reinterpret_cast<const Pack16<T>*>(staged);
#pragma unroll
        for (int j = 0; j < n; ++j) {
#pragma unroll
            for (int i = 0; i < rows; i += width) {
                const int c = (lane + i / width * Lanes) ^ swizzle(j);
                const auto pack = packs[j * column_chunks + c];
#pragma unroll
                for (int e = 0; e < width; ++e) a[i + e][j] = pack.value[e];
            }
        }
    }
    /// Row i of a lane.
    static __device__ __forceinline__ int row_of(int lane, int i) {
        return width * lane + i % width + row_cycle * (i / width);
    }
    /// The lane that owns row r, and the row's number there.
    static __device__ __forceinline__ constexpr unsigned owner(unsigned r) {
        return r / width % Lanes;
    }
    static constexpr int local_row(int r) { return r % width + width * (r / row_cycle); }
    /// Swizzle of the chunks of column j: fewer bank conflicts when lanes write one row.
    static __device__ __forceinline__ constexpr int swizzle(unsigned j) { return int(j % Lanes); }
    /// Value (i, j) of a matrix.
    static __device__ __forceinline__ int offset_of(int i, int j) {
        return n * j + (i ^ (width * swizzle(j)));
    }
    static __device__ __forceinline__ int offset(int m, int e) {
        return m * pitch_chunks * width + offset_of(e % n, e / n);
    }
    __device__ __forceinline__ int original_row(int s) const {
        return int(packed_order >> 4 * s) & 15;
    }
    __device__ __forceinline__ void stage() {}
    static __device__ __forceinline__ void load(const T* from, int count, T* memory) {
        for_chunks(count, [&](int chunk, int offset) {
            copy_to_shared<16>(reinterpret_cast<int4*>(memory) + offset,
                               reinterpret_cast<const int4*>(from) + chunk);
        });
    }
    static __device__ __forceinline__ void store(T* to, int count, const T* memory) {
        for_chunks(count, [&](int chunk, int offset) {
            reinterpret_cast<int4*>(to)[chunk] = reinterpret_cast<const int4*>(memory)[offset];
        });
    }

  private:
    /// copy(chunk in global memory, chunk in shared memory) for this lane's share of `count`
    /// matrices.
    template <class Copy>
    static __device__ __forceinline__ void for_chunks(int count, Copy&& copy) {
        const int thread = int(threadIdx.x) % 32;
        constexpr int columns = 32 / column_chunks;  // Copied by a warp at once.
        static_assert(columns % Lanes == 0 || Lanes % columns == 0);
#pragma unroll
        for (int m = 0; m < matrices; ++m) {
#pragma unroll
            for (int c = 0; c < chunks; c += 32) {
                const int column = (c + thread) / column_chunks;
                if (m < count) {
                    copy(m * chunks + c + thread,
                         m * pitch_chunks + ((c + thread) ^ swizzle(column)));
                }
            }
        }
    }
};

}  // namespace

}  // namespace tessera::cuda
