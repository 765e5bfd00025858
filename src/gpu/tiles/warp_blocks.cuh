#pragma once

#include <algorithm>

#include "gpu/pack.cuh"
#include "gpu/tiles/diagonal_blocks.cuh"
#include "gpu/tiles/gauss_jordan.cuh"
#include "gpu/tiles/staging.cuh"

/// Diagonal blocks from CSR to shared memory and to registers. A warp has 32 / Lanes consecutive
/// blocks; lane l of a group has the rows l + Lanes i of one. Blocks have at most Tile rows or,
/// where Exact, Tile each, known at compile time.
namespace tessera::cuda {

/// The shared memory of a warp. Rows of a block begin an odd number of units apart, so that rows
/// and columns are spread over all banks; the distance of the blocks spreads groups that are served
/// together over the banks, if group g has block_of(g).
template <class T, int Tile, int Lanes, bool Exact>
struct WarpBlocks {
    static constexpr int tile = Tile, lanes = Lanes;
    static constexpr bool exact = Exact;
    static constexpr int blocks = 32 / Lanes;
    static constexpr int lane_rows = (Tile + Lanes - 1) / Lanes;
    static constexpr int unit = Exact ? 16 / int(sizeof(T)) : 1;  ///< Values moved together.
    static_assert(Tile % unit == 0 && Tile <= 32);
    static constexpr int row_units = Tile / unit;
    static constexpr int stride_units = row_units | 1;
    static constexpr int stride = stride_units * unit;
    static constexpr int column_units = (Lanes * int(sizeof(T)) + 15) / 16;  ///< Per column.
    static constexpr int period = Exact ? 8 : 32;  ///< Units in different banks.
    static constexpr int spread = Exact ? column_units % period : Lanes % period;
    static constexpr int block_units =
        (Tile * stride_units - (Exact ? spread : 0) + period - 1) / period * period + spread;
    static constexpr int block_values = block_units * unit;
    static constexpr int rows = blocks * Tile;
    static constexpr int steps_per_block = Tile + 1;  ///< One more, to spread groups over banks.
    static constexpr int value_bytes = blocks * block_values * int(sizeof(T));
    static constexpr int step_bytes = blocks * steps_per_block * int(sizeof(PivotStep<T>));
    static constexpr int table_bytes = std::max(step_bytes, rows* int(sizeof(BlockRow)));
    static constexpr int bytes = value_bytes + (table_bytes + 15) / 16 * 16;
    static_assert(blocks * block_values <= 1 << BlockRow::offset_bits && value_bytes % 16 == 0);
    /// Adjacent rows of a column that a lane stores at once, chosen so that every lane has work.
    static constexpr int together = [] {
        int rows = unit;
        while (rows > 1 && Tile / rows * 2 <= Lanes) rows /= 2;
        return rows;
    }();

    T* value;
    BlockRow* row;

    __device__ explicit WarpBlocks(unsigned char* memory)
        : value(reinterpret_cast<T*>(memory)),
          row(reinterpret_cast<BlockRow*>(memory + value_bytes)) {}

    /// The block that a group of lanes inverts.
    __device__ static constexpr int block_of(int group) {
        if constexpr (!Exact || Lanes >= 8) {
            return group;
        } else {
            constexpr int distinct_banks =
                8 / column_units;              // Blocks whose columns are in different banks.
            constexpr int served = 8 / Lanes;  // Groups whose units are served together.
            const int g = group % distinct_banks;
            return group - g + g % served * (Lanes / column_units) + g / served;
        }
    }
    /// The pivot table of block s; overwrites the row table.
    __device__ PivotStep<T>* steps(int s) const {
        return reinterpret_cast<PivotStep<T>*>(row) + s * steps_per_block;
    }
};

/// Writes the entries of `rows` rows of the blocks to shared memory, row-major, zero where the
/// matrix stores nothing. make_search(r) describes the search in row r.
template <class Warp, class T, class Search>
__device__ __forceinline__ void copy_rows_to_smem(const CsrView<T>& matrix, int rows,
                                                  const Warp& shared, Search&& make_search) {
    constexpr int lane_rows = (Warp::rows + 31) / 32;
    const int lane = int(threadIdx.x % 32);
    RowSearch search[lane_rows];
#pragma unroll
    for (int q = 0; q < lane_rows; ++q) search[q] = make_search(lane + 32 * q);
    for (int e = lane; e < Warp::blocks * Warp::block_values; e += 32) shared.value[e] = T(0);
    gather_block_entries<Warp::tile>(
        matrix, search, rows, shared.row,
        [&](const BlockRow& row, int c, T value) { shared.value[row.offset() + c] = value; });
}

/// Blocks of any sizes. Lane s has in `start` the first row of block s of the warp; starts after
/// its last block repeat the end of that.
template <class T, int Tile, int Lanes>
__device__ __forceinline__ void extract_blocks(const CsrView<T>& matrix, Index start,
                                               const WarpBlocks<T, Tile, Lanes, false>& shared) {
    using Warp = WarpBlocks<T, Tile, Lanes, false>;
    Index starts[Warp::blocks + 1];
#pragma unroll
    for (int s = 0; s <= Warp::blocks; ++s) starts[s] = __shfl_sync(full_warp, start, s);
    const int rows = starts[Warp::blocks] - starts[0];
    copy_rows_to_smem(matrix, rows, shared, [&](int r) {
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
        return RowSearch{inside ? __ldg(matrix.row_offsets + row) : 0,
                         inside ? __ldg(matrix.row_offsets + row + 1) : 0, first,
                         inside ? next - first : 0,
                         block * Warp::block_values + (row - first) * Warp::stride};
    });
}

/// Speculative copy (cp.async) of a warp's blocks, from row `first` on, to shared memory,
/// row-major: right if the matrix is block-diagonal with full blocks up to these rows, so that the
/// positions of the entries are known without a search. The row offsets and the first and last
/// columns of each row are compared while the copies are in flight. Returns whether it was right;
/// if not, shared memory has undefined values. The columns of a row are sorted and unique, see
/// CsrView.
template <class T, int n, int Lanes>
__device__ __forceinline__ bool copy_full_blocks(const CsrView<T>& matrix, Index first,
                                                 const WarpBlocks<T, n, Lanes, true>& shared) {
    using Warp = WarpBlocks<T, n, Lanes, true>;
    constexpr int lane_rows = Warp::rows / 32;
    static_assert(Warp::rows % 32 == 0);
    constexpr int sampled_groups = n <= 16 ? n / 4 : 2;  // Groups of four columns of each row.
    constexpr int lane_samples = Warp::rows * sampled_groups / 32;
    constexpr int block_parts = n * Warp::row_units;  // Units of a block.
    const int lane = int(threadIdx.x % 32);
    const Offset begin = Offset(first) * n;
    const int4* const values = reinterpret_cast<const int4*>(matrix.values + begin);
    const int4* const columns = reinterpret_cast<const int4*>(matrix.column_indices + begin);
    const auto group_of = [&](int u) {  // Group of columns of a row.
        return (lane + 32 * u) % sampled_groups * (sampled_groups == 2 ? n / 4 - 1 : 1);
    };
    Offset offset[lane_rows] = {};
    Offset last_offset = 0;
    int4 found[lane_samples] = {};
    const bool possible =
        Warp::rows <= matrix.rows - first && begin + Warp::rows * n <= matrix.nonzeros &&
        (reinterpret_cast<std::uintptr_t>(values) | reinterpret_cast<std::uintptr_t>(columns)) %
                16 ==
            0;
    if (possible) {
#pragma unroll
        for (int u = 0; u < Warp::blocks * block_parts; u += 32) {
            const int part = u + lane;
            const int row = 32 % Warp::row_units == 0 ? u / Warp::row_units + lane / Warp::row_units
                                                      : part / Warp::row_units;
            const int block = block_parts % 32 == 0 ? u / block_parts : part / block_parts;
            const int place = part + (Warp::stride_units - Warp::row_units) * row +
                              (Warp::block_units - n * Warp::stride_units) * block;
            copy_to_shared<16>(reinterpret_cast<int4*>(shared.value) + place, values + part);
        }
        last_offset = __ldg(matrix.row_offsets + first + Warp::rows);
#pragma unroll
        for (int q = 0; q < lane_rows; ++q) {
            offset[q] = __ldg(matrix.row_offsets + first + lane + 32 * q);
        }
#pragma unroll
        for (int u = 0; u < lane_samples; ++u) {
            found[u] = __ldg(columns + (lane + 32 * u) / sampled_groups * (n / 4) + group_of(u));
        }
    }
    wait_for_copies();
    // Any set bit is a difference. All four columns are used, so that one load reads them.
    Offset differences = last_offset - (begin + Warp::rows * n);
#pragma unroll
    for (int q = 0; q < lane_rows; ++q) differences |= offset[q] - (begin + (lane + 32 * q) * n);
    int bits = int(differences >> 32) | int(differences);
#pragma unroll
    for (int u = 0; u < lane_samples; ++u) {
        const Index row = first + (lane + 32 * u) / sampled_groups / n * n;
        bits |= found[u].x - (row + 4 * group_of(u));
        bits |= found[u].z - found[u].y - 1;
        bits |= found[u].w - (row + 4 * group_of(u) + 3);
    }
    return __all_sync(full_warp, bits == 0);
}

/// `present` blocks of one size from row `first` on.
template <class T, int n, int Lanes>
__device__ __forceinline__ void extract_blocks(const CsrView<T>& matrix, Index first, int present,
                                               const WarpBlocks<T, n, Lanes, true>& shared) {
    using Warp = WarpBlocks<T, n, Lanes, true>;
    if (copy_full_blocks(matrix, first, shared)) return;
    copy_rows_to_smem(matrix, present * n, shared, [&](int r) {
        const bool inside = r < present * n;
        return RowSearch{inside ? __ldg(matrix.row_offsets + first + r) : 0,
                         inside ? __ldg(matrix.row_offsets + first + r + 1) : 0, first + r / n * n,
                         inside ? n : 0, r / n * Warp::block_values + r % n * Warp::stride};
    });
}

/// a[i] = row lane + Lanes i of `block`.
template <class Warp, class T>
__device__ __forceinline__ void load_block(const T* block, T (&a)[Warp::lane_rows][Warp::tile]) {
    using Unit = Pack<T, Warp::unit>;
    const int lane = int(threadIdx.x % Warp::lanes);
#pragma unroll
    for (int i = 0; i < Warp::lane_rows; ++i) {
        const int row = lane + Warp::lanes * i;
        const bool inside = Warp::exact || row < Warp::tile;
        const Unit* const units = reinterpret_cast<const Unit*>(block + row * Warp::stride);
#pragma unroll
        for (int u = 0; u < Warp::row_units; ++u) {
            const Unit unit = inside ? units[u] : Unit{};
#pragma unroll
            for (int j = 0; j < Warp::unit; ++j) a[i][u * Warp::unit + j] = unit.value[j];
        }
    }
}

}  // namespace tessera::cuda
