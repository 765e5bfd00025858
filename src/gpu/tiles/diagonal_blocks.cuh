#pragma once

#include "gpu/load.cuh"
#include "gpu/search.cuh"
#include "gpu/tiles/gauss_jordan.cuh"
#include "tessera/csr.hpp"

/// Moves diagonal blocks between a CSR matrix, the shared memory of a warp, and registers. A warp
/// takes 32 / Lanes consecutive blocks, whose rows, and whose packed inverses, are contiguous.
namespace tessera::cuda {

/// One row of a block: which entries of the matrix to look at, and where they go.
struct alignas(16) BlockRow {
    Offset begin;     ///< First entry.
    Index first;      ///< First column of the block.
    unsigned packed;  ///< Place in the warp's values, rows of the block, number of entries.

    static constexpr int place_bits = 12;
    static constexpr int size_bits = 6;

    __device__ int place() const { return int(packed & ((1u << place_bits) - 1)); }
    __device__ int size() const { return int(packed >> place_bits & ((1u << size_bits) - 1)); }
    __device__ int length() const { return int(packed >> (place_bits + size_bits)); }
};

/// Rows longer than this are searched for the columns of their block; shorter ones are swept, which
/// reads all their columns but keeps the reads independent of each other.
inline constexpr Offset longest_swept_row = 256;

/// The shared memory of a warp.
template <class T, int Tile, int Lanes>
struct WarpBlocks {
    static constexpr int blocks = 32 / Lanes;
    /// Values of a block, rows of Tile; the pad spreads the blocks over the banks.
    static constexpr int block_values = (Tile * Tile + 31) / 32 * 32 + Lanes % 32;
    static constexpr int values = blocks * block_values;
    static constexpr int rows = blocks * Tile;
    static constexpr int bytes = values * int(sizeof(T)) + rows * int(sizeof(BlockRow));
    static_assert(values % 32 == 0 && values <= 1 << BlockRow::place_bits);

    T* value;
    BlockRow* row;

    __device__ explicit WarpBlocks(unsigned char* memory)
        : value(reinterpret_cast<T*>(memory)),
          row(reinterpret_cast<BlockRow*>(memory + values * sizeof(T))) {}

    /// The steps of the elimination of block `group`; takes the place of the row table.
    __device__ PivotStep<T>* steps(int group) const {
        static_assert(sizeof(PivotStep<T>) <= sizeof(BlockRow));
        return reinterpret_cast<PivotStep<T>*>(row) + group * Tile;
    }
};

/// Fills the row table and zeroes the values. Lane s holds in `start` the first row of block s of
/// the warp; starts behind its last block repeat the end of that. Returns the number of rows.
template <class T, int Tile, int Lanes>
__device__ __forceinline__ int list_rows(const CsrView<T>& matrix, Index start,
                                         const WarpBlocks<T, Tile, Lanes>& shared) {
    using Warp = WarpBlocks<T, Tile, Lanes>;
    const int lane = int(threadIdx.x) % 32;
    Index starts[Warp::blocks + 1];
#pragma unroll
    for (int s = 0; s <= Warp::blocks; ++s) starts[s] = __shfl_sync(full_warp, start, s);
    const int rows = starts[Warp::blocks] - starts[0];
    for (int r = lane; r < rows; r += 32) {
        const Index row = starts[0] + r;
        int block = 0;
        Index first = starts[0];
        Index next = starts[1];
#pragma unroll
        for (int s = 1; s < Warp::blocks; ++s) {
            if (row >= starts[s]) {
                block = s;
                first = starts[s];
                next = starts[s + 1];
            }
        }
        const int size = next - first;
        Offset begin = __ldg(matrix.row_offsets + row);
        Offset end = __ldg(matrix.row_offsets + row + 1);
        if (end - begin > longest_swept_row) {
            begin = lower_bound(matrix.column_indices, begin, end, first);
            end = end - begin < size ? end : begin + size;
        }
        const int place = block * Warp::block_values + (row - first) * Tile;
        shared.row[r] = {begin, first,
                         unsigned(place) | unsigned(size) << BlockRow::place_bits |
                             unsigned(end - begin) << (BlockRow::place_bits + BlockRow::size_bits)};
    }
    for (int e = lane; e < Warp::values; e += 32) shared.value[e] = T(0);
    __syncwarp();
    return rows;
}

/// Writes the entries of the blocks of this warp to its shared memory, block s at s * block_values,
/// row-major with rows of Tile, zero where the matrix stores nothing. Eight lanes read a row, a
/// lane works on four rows at once, so that eight reads are under way in each.
template <class T, int Tile, int Lanes>
__device__ __forceinline__ void extract_blocks(const CsrView<T>& matrix, Index start,
                                               const WarpBlocks<T, Tile, Lanes>& shared) {
    constexpr int row_lanes = 8;
    constexpr int row_groups = 32 / row_lanes;
    constexpr int together = 4;
    constexpr int depth = 2;
    const int rows = list_rows(matrix, start, shared);
    const int lane = int(threadIdx.x) % 32;
    for (int base = 0; base < rows; base += row_groups * together) {
        BlockRow row[together];
        int length[together];
        int longest = 0;
#pragma unroll
        for (int q = 0; q < together; ++q) {
            const int r = base + q * row_groups + lane / row_lanes;
            row[q] = r < rows ? shared.row[r] : BlockRow{0, 0, 0};
            length[q] = row[q].length();
            longest = max(longest, length[q]);
        }
        for (int x = lane % row_lanes; x < longest; x += depth * row_lanes) {
            Index column[together][depth];
            T value[together][depth];
#pragma unroll
            for (int q = 0; q < together; ++q) {
#pragma unroll
                for (int u = 0; u < depth; ++u) {
                    const int at = x + u * row_lanes;
                    column[q][u] =
                        load_if(at < length[q], matrix.column_indices + row[q].begin + at, -1);
                }
            }
#pragma unroll
            for (int q = 0; q < together; ++q) {
#pragma unroll
                for (int u = 0; u < depth; ++u) {
                    column[q][u] -= row[q].first;
                    value[q][u] = load_if(column[q][u] >= 0 && column[q][u] < row[q].size(),
                                          matrix.values + row[q].begin + (x + u * row_lanes), T(0));
                }
            }
            longest = 0;
#pragma unroll
            for (int q = 0; q < together; ++q) {
#pragma unroll
                for (int u = 0; u < depth; ++u) {
                    if (column[q][u] >= 0 && column[q][u] < row[q].size()) {
                        shared.value[row[q].place() + column[q][u]] = value[q][u];
                    }
                    // Columns ascend: this lane finds no more in this row.
                    if (column[q][u] >= row[q].size()) length[q] = 0;
                }
                longest = max(longest, length[q]);
            }
        }
    }
    __syncwarp();
}

/// Lane l of group s takes the columns l + Lanes i of block s, that is rows of its transpose: rows
/// of the block come as register columns, read without bank conflicts.
template <class T, int Tile, int Lanes, int Rows>
__device__ __forceinline__ void take_transposed(const WarpBlocks<T, Tile, Lanes>& shared,
                                                T (&a)[Rows][Tile]) {
    const int lane = int(threadIdx.x) % 32;
    const T* block = shared.value + lane / Lanes * WarpBlocks<T, Tile, Lanes>::block_values;
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
        const int column = lane % Lanes + Lanes * i;
#pragma unroll
        for (int k = 0; k < Tile; ++k) a[i][k] = column < Tile ? block[k * Tile + column] : T(0);
    }
}

/// Where value e of the warp's packed inverses lies in its shared memory: a permutation within
/// groups of 16 (8 bytes) or 32 (4 bytes) that spreads strides over the banks.
template <class T>
__device__ __forceinline__ int staged(int e) {
    constexpr int bits = sizeof(T) == 8 ? 4 : 5;
    return e ^ (e >> bits & ((1 << bits) - 1));
}

/// Inverts the transposed blocks in registers, of n rows each, `steps` the largest n of the warp;
/// all other registers and rows are +0. Returns 0, or k where the k-th pivot (1-based), or its
/// reciprocal, is zero or not finite, or n where only the result is not finite.
template <class T, int Tile, int Lanes, int Rows>
__device__ __forceinline__ int invert_blocks(const WarpBlocks<T, Tile, Lanes>& shared,
                                             T (&a)[Rows][Tile], int n, int steps) {
    const int lane = int(threadIdx.x) % Lanes;
    PivotStep<T>* const table = shared.steps(int(threadIdx.x) % 32 / Lanes);
    T none = T(0);
    const int info =
        gauss_jordan<Lanes, true, false, true>(a, n, steps, lane, shared_address(table), none);
    invert_order<Lanes>(table, info == 0 ? n : 0, lane);
    T check = T(0);  // Becomes NaN when an entry is not finite.
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
        const bool inside = info == 0 && lane + Lanes * i < n;
        const T scale = inside ? table[table[lane + Lanes * i].step].reciprocal : T(0);
#pragma unroll
        for (int j = 0; j < Tile; ++j) {
            a[i][j] *= scale;
            check = fma(a[i][j], T(0), check);
        }
    }
    const bool overflow = any_of_lanes<Lanes>(!(check == T(0)));
    return info == 0 && overflow ? n : info;
}

/// Stores the inverses of the blocks of this warp, packed and column-major, from what invert_blocks
/// left of their transposes; the inverse X of the block has X(row of step k, step of row r) =
/// D(r, k). Where `info` is not 0, `fill` takes the place of X(i, j) for i != j, `diagonal` for
/// i == j.
///   place      where the inverse of this group's block starts within those of the warp;
///   total      values of the warp's inverses, which start at `inverses`.
template <class T, int Tile, int Lanes, int Rows>
__device__ __forceinline__ void store_inverses(const WarpBlocks<T, Tile, Lanes>& shared,
                                               const T (&a)[Rows][Tile], int n, int steps, int info,
                                               T fill, T diagonal, int place, int total,
                                               T* inverses) {
    const int warp_lane = int(threadIdx.x) % 32;
    const int lane = warp_lane % Lanes;
    const PivotStep<T>* const table = shared.steps(warp_lane / Lanes);
    __syncwarp();  // The extracted values are about to be overwritten.
#pragma unroll
    for (int m = 0; m < Tile; ++m) {
        const int k = m - (Tile - steps);
        if (k < 0 || k >= n) continue;
        const int pivot_row = info == 0 ? int(table[k].row) : k;
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            const int row = lane + Lanes * i;
            if (row >= n) continue;
            const int column = info == 0 ? int(table[row].step) : row;
            const T other = column == pivot_row ? diagonal : fill;
            const int e = staged<T>(place + column * n + pivot_row);
            shared.value[e] = info == 0 ? a[i][m] : other;
        }
    }
    __syncwarp();
#pragma unroll 4
    for (int e = warp_lane; e < total; e += 32) inverses[e] = shared.value[staged<T>(e)];
}

}  // namespace tessera::cuda
