#pragma once

#include <algorithm>

#include "gpu/tiles/elimination/gauss_jordan.cuh"
#include "gpu/tiles/extraction/diagonal_blocks.cuh"

/// Diagonal blocks from CSR to shared memory and to registers. A warp has 32 / Lanes consecutive
/// blocks of at most Tile rows; lane l of a group has the rows l + Lanes i of one.
namespace tessera::cuda {

/// The shared memory of a warp. Rows of a block begin an odd number of values apart, so that rows
/// and columns are spread over all banks; the distance of the blocks spreads groups that are served
/// together over the banks.
template <class T, int Tile, int Lanes>
struct WarpBlocks {
    static constexpr int tile = Tile, lanes = Lanes;
    static constexpr int blocks = 32 / Lanes;
    static constexpr int lane_rows = (Tile + Lanes - 1) / Lanes;
    static_assert(Tile <= 32);
    static constexpr int stride = Tile | 1;
    static constexpr int block_values = (Tile * stride + 31) / 32 * 32 + Lanes % 32;
    static constexpr int rows = blocks * Tile;
    static constexpr int steps_per_block = Tile + 1;  ///< One more, to spread groups over banks.
    static constexpr int value_bytes = blocks * block_values * int(sizeof(T));
    static constexpr int step_bytes = blocks * steps_per_block * int(sizeof(PivotStep<T>));
    static constexpr int table_bytes = std::max(step_bytes, rows* int(sizeof(BlockRow)));
    static constexpr int bytes = value_bytes + (table_bytes + 15) / 16 * 16;
    static_assert(blocks * block_values <= 1 << BlockRow::offset_bits && value_bytes % 16 == 0);

    T* value;
    BlockRow* row;

    __device__ explicit WarpBlocks(unsigned char* memory)
        : value(reinterpret_cast<T*>(memory)),
          row(reinterpret_cast<BlockRow*>(memory + value_bytes)) {}

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

/// Extracts the blocks of a warp to shared memory. Lane s has in `start` the first row of block s
/// of the warp; starts after its last block repeat the end of that.
template <class T, int Tile, int Lanes>
__device__ __forceinline__ void extract_blocks(const CsrView<T>& matrix, Index start,
                                               const WarpBlocks<T, Tile, Lanes>& shared) {
    using Warp = WarpBlocks<T, Tile, Lanes>;
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

/// a[i] = row lane + Lanes i of `block`.
template <class Warp, class T>
__device__ __forceinline__ void load_block(const T* block, T (&a)[Warp::lane_rows][Warp::tile]) {
    const int lane = int(threadIdx.x % Warp::lanes);
#pragma unroll
    for (int i = 0; i < Warp::lane_rows; ++i) {
        const int row = lane + Warp::lanes * i;
#pragma unroll
        for (int k = 0; k < Warp::tile; ++k) {
            a[i][k] = row < Warp::tile ? block[row * Warp::stride + k] : T(0);
        }
    }
}

}  // namespace tessera::cuda
