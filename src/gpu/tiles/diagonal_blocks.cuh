#pragma once

#include <limits>

#include "gpu/load.cuh"
#include "gpu/tiles/gauss_jordan.cuh"
#include "tessera/csr.hpp"

/// Moves diagonal blocks between a CSR matrix, the shared memory of a warp, and registers. A warp
/// takes 32 / Lanes consecutive blocks, whose rows, and whose packed inverses, are contiguous.
namespace tessera::cuda {

/// One row of a block: which entries of the matrix to look at, and where they go.
struct alignas(16) BlockRow {
    Offset begin;     ///< First entry.
    Index first;      ///< First column of the block.
    unsigned packed;  ///< Place of the row's first value, rows of the block, number of entries.

    static constexpr int place_bits = 13;
    static constexpr int size_bits = 7;

    __device__ int place() const { return int(packed & ((1u << place_bits) - 1)); }
    __device__ int size() const { return int(packed >> place_bits & ((1u << size_bits) - 1)); }
    __device__ int length() const { return int(packed >> (place_bits + size_bits)); }
};

/// A row of the matrix in which a lane looks for its block.
struct RowSearch {
    Offset begin;
    Offset end;
    Index first;  ///< First column of the block.
    int size;     ///< Rows of the block, 0 where there is no row.
    int place;
};

/// Rows of up to this many entries are taken whole, without a search.
inline constexpr int short_row = 8;

/// Where the entries of the block begin in each of these rows, all of them at once: in each step
/// one read a row is under way. The first two reads, at once, are in the middle of the row and
/// `size` entries before: where the pattern is symmetric and the numbering follows neighbours, the
/// diagonal is near the middle.
template <int Rows>
__device__ __forceinline__ void find_entries(const Index* columns, RowSearch (&row)[Rows]) {
    Offset low[Rows];
    Offset high[Rows];
    Index before[Rows];
    Index middle[Rows];
#pragma unroll
    for (int q = 0; q < Rows; ++q) {
        low[q] = row[q].begin;
        high[q] = row[q].end - row[q].begin > short_row ? row[q].end : row[q].begin;
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
        more = more || low[q] < high[q];
    }
    while (more) {
#pragma unroll
        for (int q = 0; q < Rows; ++q) {
            middle[q] = load_if(low[q] < high[q], columns + low[q] + (high[q] - low[q]) / 2, 0);
        }
        more = false;
#pragma unroll
        for (int q = 0; q < Rows; ++q) {
            const Offset half = low[q] + (high[q] - low[q]) / 2;
            if (low[q] < high[q])
                (middle[q] < row[q].first ? low[q] : high[q]) =
                    half + Offset(middle[q] < row[q].first);
            more = more || low[q] < high[q];
        }
    }
#pragma unroll
    for (int q = 0; q < Rows; ++q) {
        if (row[q].end - row[q].begin > short_row) {
            row[q].begin = low[q];
            row[q].end = min(row[q].end, low[q] + row[q].size);
        }
    }
}

__device__ __forceinline__ BlockRow packed_row(const RowSearch& row) {
    return {row.begin, row.first,
            unsigned(row.place) | unsigned(row.size) << BlockRow::place_bits |
                unsigned(row.end - row.begin) << (BlockRow::place_bits + BlockRow::size_bits)};
}

/// put(row, column in the block, value) for the entries of these rows that lie in their blocks.
/// RowLanes lanes read consecutive entries of a row; a lane has `Together` rows and `Depth` entries
/// of each under way.
template <int RowLanes, int Together, int Depth, class T, class Put>
__device__ __forceinline__ void gather_rows(const CsrView<T>& matrix, const BlockRow* table,
                                            int rows, Put&& put) {
    constexpr int groups = 32 / RowLanes;
    const int lane = int(threadIdx.x) % 32;
    for (int base = 0; base < rows; base += groups * Together) {
        BlockRow row[Together];
        int longest = 0;
#pragma unroll
        for (int q = 0; q < Together; ++q) {
            const int r = base + q * groups + lane / RowLanes;
            row[q] = r < rows ? table[r] : BlockRow{0, 0, 0};
            longest = max(longest, row[q].length());
        }
        for (int x = lane % RowLanes; x < longest; x += Depth * RowLanes) {
            Index column[Together][Depth];
            T value[Together][Depth];
#pragma unroll
            for (int q = 0; q < Together; ++q) {
#pragma unroll
                for (int u = 0; u < Depth; ++u) {
                    const int at = x + u * RowLanes;
                    const bool inside = at < row[q].length();
                    column[q][u] = load_if(inside, matrix.column_indices + row[q].begin + at, -1);
                    value[q][u] = load_if(inside, matrix.values + row[q].begin + at, T(0));
                }
            }
#pragma unroll
            for (int q = 0; q < Together; ++q) {
#pragma unroll
                for (int u = 0; u < Depth; ++u) {
                    const Index c = column[q][u] - row[q].first;
                    const bool inside = x + u * RowLanes < row[q].length();
                    if (inside && c >= 0 && c < row[q].size()) put(row[q], int(c), value[q][u]);
                }
            }
        }
    }
}

/// The same with as many lanes a row, and entries a lane, as suit rows of at most `longest`
/// entries, a number of this lane.
template <int Depth, class T, class Put>
__device__ __forceinline__ void gather_blocks(const CsrView<T>& matrix, const BlockRow* table,
                                              int rows, int longest, Put&& put) {
    longest = int(__reduce_max_sync(full_warp, unsigned(longest)));
    if (longest <= 4) {
        gather_rows<4, 4, 1>(matrix, table, rows, put);
    } else if (Depth == 1 || longest <= 8) {
        gather_rows<8, 4, 1>(matrix, table, rows, put);
    } else {
        gather_rows<8, 4, Depth>(matrix, table, rows, put);
    }
}

/// The shared memory of a warp.
template <class T, int Tile, int Lanes>
struct WarpBlocks {
    static constexpr int blocks = 32 / Lanes;
    /// Of a row of a block: odd, so that a column of them meets all banks, too.
    static constexpr int stride = Tile + 1;
    /// Values of a block; the pad spreads the blocks over the banks.
    static constexpr int block_values = (Tile * stride + 31) / 32 * 32 + Lanes % 32;
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
    __device__ void clear() const {
        for (int e = int(threadIdx.x) % 32; e < values; e += 32) value[e] = T(0);
    }
};

/// Writes the entries of the blocks of this warp to its shared memory, block s at s * block_values,
/// row-major with rows of `stride`, zero where the matrix stores nothing. Lane s holds in `start`
/// the first row of block s of the warp; starts behind its last block repeat the end of that.
template <class T, int Tile, int Lanes>
__device__ __forceinline__ void extract_blocks(const CsrView<T>& matrix, Index start,
                                               const WarpBlocks<T, Tile, Lanes>& shared) {
    using Warp = WarpBlocks<T, Tile, Lanes>;
    constexpr int lane_rows = (Warp::rows + 31) / 32;
    const int lane = int(threadIdx.x) % 32;
    Index starts[Warp::blocks + 1];
#pragma unroll
    for (int s = 0; s <= Warp::blocks; ++s) starts[s] = __shfl_sync(full_warp, start, s);
    const int rows = starts[Warp::blocks] - starts[0];
    RowSearch search[lane_rows];
#pragma unroll
    for (int q = 0; q < lane_rows; ++q) {
        const int r = lane + 32 * q;
        const bool inside = r < rows;
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
        search[q] = {inside ? __ldg(matrix.row_offsets + row) : 0,
                     inside ? __ldg(matrix.row_offsets + row + 1) : 0, first,
                     inside ? next - first : 0,
                     block * Warp::block_values + (row - first) * Warp::stride};
    }
    shared.clear();
    find_entries(matrix.column_indices, search);
    int longest = 0;
#pragma unroll
    for (int q = 0; q < lane_rows; ++q) {
        if (lane + 32 * q < rows) shared.row[lane + 32 * q] = packed_row(search[q]);
        longest = max(longest, int(search[q].end - search[q].begin));
    }
    __syncwarp();
    gather_blocks<(Tile + 7) / 8>(
        matrix, shared.row, rows, longest,
        [&](const BlockRow& row, int c, T value) { shared.value[row.place() + c] = value; });
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
        for (int k = 0; k < Tile; ++k)
            a[i][k] = column < Tile ? block[k * WarpBlocks<T, Tile, Lanes>::stride + column] : T(0);
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

/// What is known of a block before it is inverted.
template <class T>
struct BlockFacts {
    T norm;          ///< ||B||_inf.
    bool symmetric;  ///< Exactly.
};

/// The facts about the block of n rows of this group, from what take_transposed left.
template <class T, int Tile, int Lanes, int Rows>
__device__ __forceinline__ BlockFacts<T> examine_blocks(const WarpBlocks<T, Tile, Lanes>& shared,
                                                        const T (&a)[Rows][Tile]) {
    using Warp = WarpBlocks<T, Tile, Lanes>;
    const int lane = int(threadIdx.x) % 32;
    const T* block = shared.value + lane / Lanes * Warp::block_values;
    T norm = T(0);
    bool differs = false;
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
        const int row = lane % Lanes + Lanes * i;
        T sum = T(0);
#pragma unroll
        for (int k = 0; k < Tile; ++k) {
            const T value = row < Tile ? block[row * Warp::stride + k] : T(0);
            sum += fabs(value);
            differs = differs || value != a[i][k];
        }
        norm = fmax(norm, sum);
    }
    return {lanes_max<Lanes>(norm), !any_of_lanes<Lanes>(differs)};
}

/// Stages the inverses of the blocks of this warp, packed and column-major, from what invert_blocks
/// left of their transposes: the inverse X of the block has X(row of step k, step of row r) =
/// D(r, k); NaN where `info` is not 0. `place` is where the inverse of this group's block starts
/// within those of the warp.
template <class T, int Tile, int Lanes, int Rows>
__device__ __forceinline__ void stage_inverses(const WarpBlocks<T, Tile, Lanes>& shared,
                                               const T (&a)[Rows][Tile], int n, int steps, int info,
                                               int place) {
    const int lane = int(threadIdx.x) % Lanes;
    const PivotStep<T>* const table = shared.steps(int(threadIdx.x) % 32 / Lanes);
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
            shared.value[staged<T>(place + column * n + pivot_row)] =
                info == 0 ? a[i][m] : std::numeric_limits<T>::quiet_NaN();
        }
    }
    __syncwarp();
}

/// Half the sum, rounded once, without overflow.
template <class T>
__device__ __forceinline__ T middle_of(T x, T y) {
    return fma(T(0.5), x, T(0.5) * y);
}

/// X = (X + X^T) / 2 for the staged n x n array at `place`, as far as row i is charged with: its
/// pairs with the n / 2 rows after it, cyclically.
template <class T>
__device__ __forceinline__ void symmetrise_row(T* values, int place, int n, int i) {
    const int pairs = n % 2 == 0 && i >= n / 2 ? n / 2 - 1 : n / 2;
    for (int d = 1; d <= pairs; ++d) {
        const int j = i + d < n ? i + d : i + d - n;
        T* const x = values + staged<T>(place + j * n + i);
        T* const y = values + staged<T>(place + i * n + j);
        *x = *y = middle_of(*x, *y);
    }
}

/// All of its rows, by `Lanes` lanes; n is 0 where nothing is wanted.
template <int Lanes, class T>
__device__ __forceinline__ void symmetrise_staged(T* values, int place, int n) {
    for (int i = int(threadIdx.x) % Lanes; i < n; i += Lanes) symmetrise_row(values, place, n, i);
    __syncwarp();
}

template <class T>
struct StagedSize {
    T norm;     ///< ||X||_inf, sums in ascending order of the columns.
    T largest;  ///< max |x_ij|.
};

/// Of row i of the staged n x n array at `place`.
template <class T>
__device__ __forceinline__ StagedSize<T> staged_row_size(const T* values, int place, int n, int i) {
    StagedSize<T> size{T(0), T(0)};
    for (int j = 0; j < n; ++j) {
        const T magnitude = fabs(values[staged<T>(place + j * n + i)]);
        size.norm += magnitude;
        size.largest = fmax(size.largest, magnitude);
    }
    return size;
}

/// Of the whole array, by `Lanes` lanes.
template <int Lanes, class T>
__device__ __forceinline__ StagedSize<T> staged_size(const T* values, int place, int n) {
    StagedSize<T> size{T(0), T(0)};
    for (int i = int(threadIdx.x) % Lanes; i < n; i += Lanes) {
        const StagedSize<T> row = staged_row_size(values, place, n, i);
        size = {fmax(size.norm, row.norm), fmax(size.largest, row.largest)};
    }
    return {lanes_max<Lanes>(size.norm), lanes_max<Lanes>(size.largest)};
}

}  // namespace tessera::cuda
