#pragma once

#include "gpu/load.cuh"
#include "gpu/warp.cuh"
#include "tessera/csr.hpp"

/// Extraction of diagonal blocks from CSR: bisection for the first entry of each block row, then
/// coalesced reads. Each warp extracts consecutive blocks.
namespace tessera::cuda {

/// One row of a block: the range of matrix entries to search, and the destination.
struct alignas(16) BlockRow {
    Offset begin;     ///< First entry.
    Index first;      ///< First column of the block.
    unsigned packed;  ///< Offset of the row's first value, rows of the block, number of entries.

    static constexpr int offset_bits = 13;
    static constexpr int size_bits = 7;

    __device__ int offset() const { return int(packed & ((1u << offset_bits) - 1)); }
    __device__ int size() const { return int(packed >> offset_bits & ((1u << size_bits) - 1)); }
    __device__ int length() const { return int(packed >> (offset_bits + size_bits)); }
};

/// A row of the matrix in which a lane searches for the columns of its block.
struct RowSearch {
    Offset begin;
    Offset end;
    Index first;  ///< First column of the block.
    int size;     ///< Rows of the block; 0: no row.
    int offset;
};

/// Bisection in each of these rows for the first entry of the block, all rows in step: one read per
/// row is in flight. The first two reads, issued together, are in the middle of the row and `size`
/// entries before: in a symmetric pattern with close column numbers the diagonal is near the
/// middle. The search ends when at most `MaxLeft` candidates are left, or as many as the block has
/// rows.
template <int MaxLeft, int Rows>
__device__ __forceinline__ void bisect_rows(const Index* columns, RowSearch (&row)[Rows]) {
    int slack[Rows];  ///< Final width of the interval with the first entry.
    Offset low[Rows];
    Offset high[Rows];
    Index before[Rows];
    Index middle[Rows];
#pragma unroll
    for (int q = 0; q < Rows; ++q) {
        slack[q] = max(MaxLeft - row[q].size, 0);
        low[q] = row[q].begin;
        high[q] = row[q].end - row[q].begin > MaxLeft ? row[q].end : row[q].begin;
        const Offset half = low[q] + (high[q] - low[q]) / 2;
        const bool search = low[q] < high[q];
        before[q] = load_if(search, columns + max(low[q], half - row[q].size), 0);
        middle[q] = load_if(search, columns + half, 0);
    }
    bool more = false;
#pragma unroll
    for (int q = 0; q < Rows; ++q) {
        if (low[q] < high[q]) {
            const Offset half = low[q] + (high[q] - low[q]) / 2;
            const Offset start = max(low[q], half - row[q].size);
            if (middle[q] < row[q].first) {
                low[q] = half + 1;
            } else if (before[q] < row[q].first) {
                low[q] = start + 1;
                high[q] = half;
            } else {
                high[q] = start;
            }
        }
        more = more || high[q] - low[q] > slack[q];
    }
    while (more) {
#pragma unroll
        for (int q = 0; q < Rows; ++q) {
            middle[q] =
                load_if(high[q] - low[q] > slack[q], columns + low[q] + (high[q] - low[q]) / 2, 0);
        }
        more = false;
#pragma unroll
        for (int q = 0; q < Rows; ++q) {
            const Offset half = low[q] + (high[q] - low[q]) / 2;
            if (high[q] - low[q] > slack[q])
                (middle[q] < row[q].first ? low[q] : high[q]) =
                    half + Offset(middle[q] < row[q].first);
            more = more || high[q] - low[q] > slack[q];
        }
    }
#pragma unroll
    for (int q = 0; q < Rows; ++q) {
        if (row[q].end - row[q].begin > MaxLeft) {
            row[q].begin = low[q];
            row[q].end = min(row[q].end, high[q] + row[q].size);
        }
    }
}

__device__ __forceinline__ BlockRow pack_row(const RowSearch& row) {
    return {row.begin, row.first,
            unsigned(row.offset) | unsigned(row.size) << BlockRow::offset_bits |
                unsigned(row.end - row.begin) << (BlockRow::offset_bits + BlockRow::size_bits)};
}

/// put(row, column in the block, value) for the entries of these rows that are in their blocks.
/// RowLanes lanes read consecutive entries of a row; a lane has reads of `Together` rows and
/// `Depth` entries of each in flight.
template <int RowLanes, int Together, int Depth, class T, class Put>
__device__ __forceinline__ void gather_rows(const CsrView<T>& matrix, const BlockRow* table,
                                            int rows, Put&& put) {
    constexpr int groups = 32 / RowLanes;
    const int lane = int(threadIdx.x) % 32;
#pragma unroll 1
    for (int base = 0; base < rows; base += groups * Together) {
        BlockRow row[Together];
        Index column[Together][Depth];
        T value[Together][Depth];
#pragma unroll
        for (int q = 0; q < Together; ++q) {
            const int r = base + q * groups + lane / RowLanes;
            row[q] = r < rows ? table[r] : BlockRow{0, 0, 0};
            const Index* const columns = matrix.column_indices + row[q].begin + lane % RowLanes;
            const T* const values = matrix.values + row[q].begin + lane % RowLanes;
#pragma unroll
            for (int u = 0; u < Depth; ++u) {
                const bool inside = lane % RowLanes + u * RowLanes < row[q].length();
                column[q][u] = load_if(inside, columns + u * RowLanes, -1);
                value[q][u] = load_if(inside, values + u * RowLanes, T(0));
            }
        }
#pragma unroll
        for (int q = 0; q < Together; ++q) {
#pragma unroll
            for (int u = 0; u < Depth; ++u) {
                // Column -1, where nothing was read, is in no block.
                const unsigned c = unsigned(column[q][u] - row[q].first);
                if (c < unsigned(row[q].size())) put(row[q], int(c), value[q][u]);
            }
        }
    }
}

/// Finds the entries of the blocks, of up to `Tile` rows, in these rows of each lane (row lane + 32
/// q of `rows`), and calls put for them as gather_rows does; `table` has one entry per row.
template <int Tile, int Rows, class T, class Put>
__device__ __forceinline__ void gather_block_entries(const CsrView<T>& matrix,
                                                     RowSearch (&search)[Rows], int rows,
                                                     BlockRow* table, Put&& put) {
    constexpr int row_lanes = Tile <= 4 ? 4 : 8;
    constexpr int depth = (Tile + row_lanes - 1) / row_lanes;
    constexpr int together = depth > 4 ? 2 : 4;
    const int lane = int(threadIdx.x) % 32;
    bisect_rows<row_lanes * depth>(matrix.column_indices, search);
#pragma unroll
    for (int q = 0; q < Rows; ++q) {
        if (lane + 32 * q < rows) table[lane + 32 * q] = pack_row(search[q]);
    }
    __syncwarp();
    gather_rows<row_lanes, together, depth>(matrix, table, rows, put);
}

}  // namespace tessera::cuda
