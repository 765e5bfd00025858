#pragma once

#include <algorithm>
#include <limits>

#include "base/check_cuda.hpp"
#include "batched/invert/invert_per_thread.cuh"
#include "batched/invert/kernels.hpp"
#include "gpu/launch.cuh"
#include "gpu/tiles/elimination/gauss_jordan.cuh"
#include "gpu/tiles/staging/warp_staging.cuh"
#include "gpu/tiles/tile_sizes.cuh"
#include "gpu/tuning/batched_h200.hpp"

/// Inversion of matrices of 1..32 rows, several per warp.
namespace tessera::batched::cuda {

using namespace tessera::cuda;

namespace {

/// Shared memory of one warp: staged matrices, tables of steps, addresses of the matrices, norms.
template <class T, int Tile, int Lanes>
struct SmallLayout {
    static constexpr int matrices = 32 / Lanes;
    static constexpr int table_entries = Tile + 1;  // One more, to spread groups over banks.
    static constexpr int table_bytes =
        (matrices * table_entries * int(sizeof(PivotStep<T>)) + 15) / 16 * 16;
    static constexpr int address_bytes = (matrices * 8 + 15) / 16 * 16;
    static constexpr int fixed_bytes = table_bytes + 2 * address_bytes;

    /// Bytes of the staged matrices; rows after the last one may be read, they are not used.
    static constexpr int stage_bytes(const LineStage& stage) {
        return stage.bytes(matrices, int(sizeof(T))) + 32 * int(sizeof(T));
    }
};

/// The largest sum of magnitudes among the rows of a matrix.
template <int Lanes, class T, int Rows, int Tile>
__device__ __forceinline__ T row_sum_norm(const T (&a)[Rows][Tile], int n, int lane) {
    T norm = T(0);
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
        T sum = T(0);
#pragma unroll
        for (int j = 0; j < Tile; ++j) {
            if (j < n) sum += fabs(a[i][j]);
        }
        norm = lane + Lanes * i < n && sum > norm ? sum : norm;
    }
    return lanes_max<Lanes>(norm);
}

/// Lane l of a group loads the rows l + Lanes i of an n x n matrix from shared memory. Columns from
/// n on repeat the last one; rows from n on are arbitrary. Both are never pivots and affect no
/// other values.
template <int Lanes, class T, int Rows, int Tile>
__device__ __forceinline__ void load_rows(T (&a)[Rows][Tile], const T* matrix, int n, int pitch,
                                          int lane) {
    const T* row = matrix + lane;
#pragma unroll
    for (int j = 0; j < Tile; ++j) {
        const T* column = row + min(j, n - 1) * pitch;
#pragma unroll
        for (int i = 0; i < Rows; ++i) a[i][j] = column[Lanes * i];
    }
}

/// Scales the rows computed by gauss_jordan by the reciprocals of their pivots and returns their
/// largest sum of magnitudes. info becomes n if it is 0 and an element is not finite. `step`
/// receives the pivot steps of the rows. A failed matrix becomes NaN.
template <int Lanes, class T, int Rows, int Tile>
__device__ __forceinline__ T scale_rows(T (&a)[Rows][Tile], PivotStep<T>* table, int n, int lane,
                                        int& info, int (&step)[Rows]) {
    T norm = T(0);
    bool finite = true;
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
        const bool inside = lane + Lanes * i < n;
        step[i] = inside && info == 0 ? int(table[lane + Lanes * i].step) : 0;
        const T scale = table[step[i]].reciprocal;
        T sum = T(0);
#pragma unroll
        for (int j = 0; j < Tile; ++j) {
            a[i][j] *= scale;
            if (j >= Tile - n) sum += fabs(a[i][j]);
        }
        finite = finite && (isfinite(sum) || !inside);
        norm = inside && sum > norm ? sum : norm;
    }
    norm = lanes_max<Lanes>(norm);
    if (__any_sync(full_warp, !finite || info != 0)) {
        finite = true;
#pragma unroll
        for (int i = 0; i < Rows; ++i) {  // A sum may overflow where no element does.
#pragma unroll
            for (int j = 0; j < Tile; ++j) {
                if (j >= Tile - n && lane + Lanes * i < n) finite = finite && isfinite(a[i][j]);
            }
        }
        if (any_of_lanes<Lanes>(!finite) && info == 0) info = n;
        if (info != 0) {
#pragma unroll
            for (int i = 0; i < Rows; ++i) {
                step[i] = lane + Lanes * i;
#pragma unroll
                for (int j = 0; j < Tile; ++j) a[i][j] = std::numeric_limits<T>::quiet_NaN();
            }
            for (int k = lane; k < n; k += Lanes) table[k].row = k;
        }
    }
    __syncwarp();
    return norm;
}

/// Gauss-Jordan elimination with implicit partial pivoting; one matrix per `lanes` lanes, `rows`
/// rows per lane in registers, the pivot row broadcast by shuffles. Matrices are staged in shared
/// memory by cp.async. With FixedSize they have Tile rows, so that offsets are constants, else
/// `size`.
template <class T, int Tile, int lanes, int rows, int thread_blocks, bool checked, bool FixedSize>
__global__ void __launch_bounds__(32 * small_warps, thread_blocks)
    invert_small_kernel(const __grid_constant__ InvertJob<T> job, int size, Index first, Index all,
                        const LineStage given_stage, bool first_in_chain) {
    using Layout = SmallLayout<T, Tile, lanes>;
    constexpr LineStage fixed_stage = LineStage::of(Tile, int(sizeof(T)), lanes, false);
    const LineStage stage = FixedSize ? fixed_stage : given_stage;
    const int stage_bytes = Layout::stage_bytes(stage);
    extern __shared__ __align__(16) unsigned char small_memory[];
    unsigned char* const memory =
        small_memory + int(threadIdx.x) / 32 * (stage_bytes + Layout::fixed_bytes);
    T* const staged = reinterpret_cast<T*>(memory);
    unsigned char* const addresses = memory + stage_bytes + Layout::table_bytes;
    const int group = int(threadIdx.x) % 32 / lanes;
    const int lane = int(threadIdx.x) % lanes;
    PivotStep<T>* const table =
        reinterpret_cast<PivotStep<T>*>(memory + stage_bytes) + group * Layout::table_entries;

    if (begin_in_chain(first_in_chain)) return;
    const int n = FixedSize ? Tile : size;
    const bool by_rows = job.a.layout == batched::Layout::row_major;
    const auto matrices_here = [&] {
        return matrices_of_warp<Layout::matrices, small_warps>(job.order, first, all, n, addresses);
    };
    T a[rows][Tile];
    {
        const WarpMatrices matrices = matrices_here();
        if (matrices.count == 0) return;
        load_matrices(job.a, matrices, stage, staged, by_rows);
        wait_for_copies();
    }
    const auto load = [&] {
        const int m = min(group, matrices_here().count - 1);
        load_rows<lanes>(a, staged + m * stage.stride, n, stage.pitch, lane);
    };
    load();
    // In shared memory during the elimination to reduce register pressure.
    T* const saved_norm = reinterpret_cast<T*>(addresses + Layout::address_bytes + 8 * group);
    if (job.results.reciprocal_condition != nullptr) {
        const T norm = row_sum_norm<lanes>(a, n, lane);
        if (lane == 0) *saved_norm = norm;
    }
    const unsigned steps = address_in_shared(table);
    int info = gauss_jordan<lanes, checked, false>(a, n, n, lane, steps);
    if (!checked && __any_sync(full_warp, info != 0)) {
        load();
        info = gauss_jordan<lanes, true, false>(a, n, n, lane, steps);
    }
    invert_permutation<lanes>(table, info == 0 ? n : 0, lane);

    const WarpMatrices matrices = matrices_here();
    int step[rows];
    const T inverse_norm = scale_rows<lanes>(a, table, n, lane, info, step);
    const bool active = group < matrices.count;
    if (active && lane == 0) {
        write_results(job.results, matrices.member(group), info, *saved_norm, inverse_norm);
    }
    if (!job.store) return;
    T* const to = staged + group * stage.stride;
    const PivotStep<T>* const rotated = table + n - Tile;
#pragma unroll
    for (int j = 0; j < Tile; ++j) {
        if (j < Tile - n) continue;
        T* const column = to + int(rotated[j].row) * stage.pitch;
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            if (active && lane + lanes * i < n) column[step[i]] = a[i][j];
        }
    }
    store_matrices(job.x, matrices, stage, staged, by_rows);
}

/// Inversion of empty matrices: writes info and condition; one matrix per thread.
template <class T>
__global__ void __launch_bounds__(empty_threads)
    empty_kernel(Index count, const Index* order, ConditionResults<T> results) {
    for_elements<1>(count, [&](Offset i) {
        write_results(results, order == nullptr ? i : order[i], 0, T(1), T(1));
    });
}

/// Launches the kernel for the matrices of n rows.
template <class T, int Tile, bool FixedSize, int lanes, int rows, int thread_blocks, bool checked>
void launch_small(tessera::cuda::LaunchChain& chain, const InvertJob<T>& job, int n) {
    using Shared = SmallLayout<T, Tile, lanes>;
    const LineStage stage = LineStage::of(n, int(sizeof(T)), lanes, false);
    const auto kernel =
        invert_small_kernel<T, Tile, lanes, rows, thread_blocks, checked, FixedSize>;
    chain.launch(kernel, blocks_for(job.count(n), small_warps * Shared::matrices), 32 * small_warps,
                 small_warps * (Shared::stage_bytes(stage) + Shared::fixed_bytes), job, n,
                 job.first(n), job.count(n), stage);
}

}  // namespace

template <class T, int First, int Last>
void invert_fixed_size(tessera::cuda::LaunchChain& chain, const InvertJob<T>& job) {
    for_compiled_sizes<First, Last>([&](auto size) {
        constexpr int n = decltype(size)::value;
        if (job.count(n) == 0) return;
        if constexpr (constexpr int blocks = per_thread_launch_bound<T, n>(); blocks > 0) {
            launch_per_thread<T, n, blocks>(chain, job);
        } else {
            constexpr SmallShape shape = small_shape<T, n>();
            launch_small<T, n, true, shape.lanes, shape.rows, shape.thread_blocks, shape.checked>(
                chain, job, n);
        }
    });
}

template <class T>
void invert_any_size(tessera::cuda::LaunchChain& chain, const InvertJob<T>& job) {
    for (int n = 32; n >= 1 && !all_sizes_compiled(); --n) {
        if (job.count(n) == 0 || size_compiled(n)) continue;
        with_tile<8>(n, [&](auto tile) {  // Few register widths compile faster.
            constexpr int width = decltype(tile)::value;
            constexpr SmallShape shape = small_shape<T, width>();
            launch_small<T, width, false, shape.lanes, shape.rows, shape.thread_blocks,
                         shape.checked>(chain, job, n);
        });
    }
    if (const Index empty = job.count(0); empty > 0) {
        empty_kernel<<<blocks_for(empty, empty_threads), empty_threads, 0, chain.stream()>>>(
            empty, job.order, job.results);
        TESSERA_CUDA(cudaGetLastError());
    }
}

}  // namespace tessera::batched::cuda
