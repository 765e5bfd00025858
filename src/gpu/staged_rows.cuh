#pragma once

#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "gpu/tiles/staging.cuh"

/// Work along the rows of column-major matrices of at most 32 rows: a warp copies some matrices of
/// one size to shared memory without waiting for single values, and its lanes take a row each.
namespace tessera::cuda {

inline constexpr int row_warps = 4;            ///< A thread block.
inline constexpr int row_bytes_a_warp = 8192;  ///< Of matrices, about.
inline constexpr int most_row_sizes = 32;

/// The matrices of one size in a launch; a thread block works on one size only.
struct RowRange {
    int n;
    int matrices;  ///< A warp.
    Index first;   ///< Among the matrices in the order of the plan.
    Index count;
    unsigned block_end;  ///< Thread blocks of this range and of those before it.
    StageShape stage;
};

template <class T>
struct RowLaunch {
    StagedBatch<const T> a;
    const Index* order = nullptr;
    RowRange ranges[most_row_sizes];
    unsigned blocks = 0;
    int stage_values = 0;  ///< Of a warp.
    int lines = 0;         ///< Rows of a warp, at most.
    int matrices = 0;      ///< Of a warp, at most.
};

template <class T>
RowLaunch<T> row_launch(const batched::BatchView<const T>& a, const batched::Plan* plan) {
    RowLaunch<T> launch;
    launch.a = StagedBatch<const T>(a, false);
    launch.order = plan == nullptr ? nullptr : plan->order();
    int ranges = 0;
    for (int n = 1; n <= 32; ++n) {
        const Index first = plan == nullptr ? 0 : plan->begin(n);
        const Index count =
            plan != nullptr ? plan->begin(n + 1) - first : (a.size == n ? a.count : 0);
        if (count == 0) continue;
        const int bytes = n * n * int(sizeof(T));
        const int matrices = std::clamp(row_bytes_a_warp / bytes / 2 * 2, 1, 32);
        const StageShape stage = stage_shapes<int(sizeof(T)), 0>[std::size_t(n)];
        launch.blocks += blocks_for(count, row_warps * matrices);
        launch.stage_values = std::max(launch.stage_values, stage.place(matrices));
        launch.lines = std::max(launch.lines, matrices * n);
        launch.matrices = std::max(launch.matrices, matrices);
        launch.ranges[ranges++] = {n, matrices, first, count, launch.blocks, stage};
    }
    return launch;
}

/// A warp's matrices, staged.
template <class T>
struct StagedRows {
    WarpMatrices matrices;
    StageShape stage;
    const T* values;

    /// The matrix of row `line` of all, and in `i` which of its rows that is.
    __device__ __forceinline__ int matrix_of(int line, int& i) const {
        const int m = quotient_of(line, stage.by_rows);
        i = line - m * matrices.n;
        return m;
    }
    __device__ __forceinline__ const T* row(int m, int i) const {
        return values + stage.place(m) + i;
    }
};

/// Starts to stage the matrices of this warp; none: here is 0. `memory` has stage_values values,
/// then, at stage_bytes, an address for each matrix; both may be touched after wait_for_copies.
template <class T>
__device__ __forceinline__ StagedRows<T> stage_rows(const RowLaunch<T>& launch,
                                                    unsigned char* memory, int stage_bytes) {
    int r = 0;
    while (blockIdx.x >= launch.ranges[r].block_end) ++r;
    const RowRange& range = launch.ranges[r];
    const unsigned block = blockIdx.x - (r > 0 ? launch.ranges[r - 1].block_end : 0);
    const Offset position = (Offset(block) * row_warps + threadIdx.x / 32) * range.matrices;
    const Offset left = range.count - position;
    T* const values = reinterpret_cast<T*>(memory);
    StagedRows<T> staged{
        {range.n, int(max(Offset(0), min(Offset(range.matrices), left))), range.first + position,
         launch.order, reinterpret_cast<unsigned long long*>(memory + stage_bytes)},
        range.stage,
        values};
    if (staged.matrices.here > 0) load_matrices(launch.a, staged.matrices, range.stage, values);
    return staged;
}

}  // namespace tessera::cuda
