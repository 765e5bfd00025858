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

/// The matrices of one size in a launch. A thread block works on one size only, so that the
/// compiler knows that all its lanes take the same number of steps; otherwise it copies the
/// registers in every step.
struct SizeRange {
    int n;
    Index first;  ///< Position in the order of the plan.
    Index count;
    unsigned block_end;  ///< Thread blocks up to the end of this range.
    StageShape stage;
};
constexpr int max_ranges = 8;

template <class T>
struct SmallJob : InvertJob<T> {
    SizeRange ranges[max_ranges];
};

/// Shared memory of one warp: staged matrices, tables of steps, addresses of the matrices, norms.
template <class T, int Tile, int Lanes>
struct SmallLayout {
    static constexpr int matrices = 32 / Lanes;
    static constexpr int table_entries = Tile + 1;  // One more, to spread groups over banks.
    static constexpr int table_bytes =
        (matrices * table_entries * int(sizeof(PivotStep<T>)) + 15) / 16 * 16;
    static constexpr int address_bytes = (matrices * 8 + 15) / 16 * 16;
    static constexpr int fixed_bytes = table_bytes + 2 * address_bytes;
};

/// The matrices of this warp in range r.
template <class T, class Layout>
__device__ __forceinline__ WarpMatrices matrices_of_warp(const SmallJob<T>& job, int r, int n,
                                                         unsigned char* memory) {
    const unsigned block = blockIdx.x - (r > 0 ? job.ranges[r - 1].block_end : 0);
    const Offset position = (Offset(block) * small_warps + threadIdx.x / 32) * Layout::matrices;
    const Offset left = job.ranges[r].count - position;
    return {n, int(max(Offset(0), min(Offset(Layout::matrices), left))),
            job.ranges[r].first + position, job.order,
            reinterpret_cast<unsigned long long*>(memory)};
}

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
__device__ __forceinline__ void load_rows(T (&a)[Rows][Tile], const T* matrix, int n, int lane) {
    const T* row = matrix + lane;
#pragma unroll
    for (int j = 0; j < Tile; ++j) {
        const T* column = row + min(j, n - 1) * n;
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
/// memory by cp.async. With FixedSize all matrices have Tile rows, so that offsets are constants.
template <class T, int Tile, int lanes, int rows, int thread_blocks, bool checked, bool FixedSize>
__global__ void __launch_bounds__(32 * small_warps, thread_blocks)
    invert_small_kernel(const __grid_constant__ SmallJob<T> job, int stage_bytes,
                        bool first_in_chain) {
    using Layout = SmallLayout<T, Tile, lanes>;
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
    int r = 0;
    if (!FixedSize) {
        while (blockIdx.x >= job.ranges[r].block_end) ++r;
    }
    const int n = FixedSize ? Tile : job.ranges[r].n;
    constexpr StageShape fixed_stage = stage_shape(Tile, int(sizeof(T)), lanes);
    constexpr bool pad_each =
        FixedSize && fixed_stage.matrices_per_pad == 1;  // True for most sizes.
    // FP32, 31 rows: the matrices of a warp are not a multiple of 16 bytes.
    constexpr bool half_chunks = FixedSize && fixed_stage.pad == 0 &&
                                 Layout::matrices * Tile * Tile * int(sizeof(T)) % 16 != 0;
    constexpr int chunk = half_chunks ? 8 : 16;
    const auto stage = [&]() -> const StageShape& { return job.ranges[r].stage; };
    T a[rows][Tile];
    {
        const WarpMatrices matrices = matrices_of_warp<T, Layout>(job, r, n, addresses);
        if (matrices.count == 0) return;
        load_matrices<chunk>(job.a, matrices, stage(), staged);
        wait_for_copies();
    }
    const auto in_shared = [&](int m) {
        return staged + (pad_each ? m * stage().stride : stage().offset(m));
    };
    const auto matrix_of_group = [&] {
        return pad_each ? group : stage().matrix_of_group(group, Layout::matrices);
    };
    const auto load = [&] {
        const WarpMatrices matrices = matrices_of_warp<T, Layout>(job, r, n, addresses);
        load_rows<lanes>(a, in_shared(min(matrix_of_group(), matrices.count - 1)), n, lane);
    };
    load();
    // In shared memory during the elimination to reduce register pressure.
    T* const saved_norm = reinterpret_cast<T*>(addresses + Layout::address_bytes + 8 * group);
    if (job.results.reciprocal_condition != nullptr) {
        const T norm = row_sum_norm<lanes>(a, n, lane);
        if (lane == 0) *saved_norm = norm;
    }
    const unsigned steps = shared_address(table);
    int info = gauss_jordan<lanes, checked, false>(a, n, n, lane, steps);
    asm volatile("" : "+r"(r));  // Recompute what depends on r instead of holding it in registers.
    if (!checked && __any_sync(full_warp, info != 0)) {
        load();
        info = gauss_jordan<lanes, true, false>(a, n, n, lane, steps);
    }
    invert_permutation<lanes>(table, info == 0 ? n : 0, lane);

    asm volatile("" : "+r"(r));
    const WarpMatrices matrices = matrices_of_warp<T, Layout>(job, r, n, addresses);
    int step[rows];
    const T inverse_norm = scale_rows<lanes>(a, table, n, lane, info, step);
    const int m = matrix_of_group();
    if (m < matrices.count && lane == 0) {
        const Offset position = matrices.first + m;
        const Offset b = job.order == nullptr ? position : job.order[position];
        write_results(job.results, b, info, *saved_norm, inverse_norm);
    }
    if (!job.store) return;
    T* const to = in_shared(m);
    const PivotStep<T>* const rotated = table + n - Tile;
#pragma unroll
    for (int j = 0; j < Tile; ++j) {
        if (j < Tile - n) continue;
        T* const column = to + int(rotated[j].row) * n;
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            if (m < matrices.count && lane + lanes * i < n) column[step[i]] = a[i][j];
        }
    }
    __syncwarp();
    store_matrices<chunk>(job.x, matrices, stage(), staged);
}

/// Inversion of empty matrices: writes info and condition; one matrix per thread.
template <class T>
__global__ void __launch_bounds__(empty_threads)
    empty_kernel(Index count, const Index* order, ConditionResults<T> results) {
    for_elements<1>(count, [&](Offset i) {
        write_results(results, order == nullptr ? i : order[i], 0, T(1), T(1));
    });
}

/// Launches one kernel for the sizes n in smallest .. Tile with selected(n), at most max_ranges of
/// them. Returns the next size to be launched.
template <class T, int Tile, bool FixedSize, int lanes, int rows, int thread_blocks, bool checked,
          class Selected>
int launch_small(tessera::cuda::LaunchChain& chain, const InvertJob<T>& batch, int smallest,
                 Selected&& selected) {
    using Shared = SmallLayout<T, Tile, lanes>;
    SmallJob<T> job{batch, {}};
    unsigned blocks = 0;
    int stage_values = 0;
    int ranges = 0;
    int n = smallest;
    for (; n <= Tile && ranges < max_ranges; ++n) {
        const Index count = batch.count(n);
        if (count == 0 || !selected(n)) continue;
        blocks += blocks_for(count, small_warps * Shared::matrices);
        const StageShape stage = stage_shapes<int(sizeof(T)), lanes>[std::size_t(n)];
        stage_values = std::max(stage_values, stage.offset(Shared::matrices));
        job.ranges[ranges++] = {n, batch.first(n), count, blocks, stage};
    }
    if (blocks == 0) return n;
    // Rows after the last matrix may be read; they are not used.
    const int stage_bytes = ((stage_values + 32) * int(sizeof(T)) + 15) / 16 * 16;
    const int bytes = small_warps * (stage_bytes + Shared::fixed_bytes);
    const auto kernel =
        invert_small_kernel<T, Tile, lanes, rows, thread_blocks, checked, FixedSize>;
    chain.launch(kernel, blocks, 32 * small_warps, bytes, job, stage_bytes);
    return n;
}

/// The matrices of n rows, by a kernel for this n: the one place that selects it.
template <class T, int n>
void launch_fixed_size(tessera::cuda::LaunchChain& chain, const InvertJob<T>& job) {
    if constexpr (per_thread_launch_bound<T, n>() > 0) {
        if (supports_per_thread(job))
            return launch_per_thread<T, n, per_thread_launch_bound<T, n>()>(chain, job);
    }
    constexpr SmallShape shape = small_shape<T, n>();
    launch_small<T, n, true, shape.lanes, shape.rows, shape.thread_blocks, shape.checked>(
        chain, job, n, [](int) { return true; });
}

}  // namespace

template <class T, int First, int Last>
void invert_fixed_size(tessera::cuda::LaunchChain& chain, const InvertJob<T>& job) {
    for_compiled_sizes<First, Last>([&](auto n) {
        if (job.count(n()) > 0) launch_fixed_size<T, n()>(chain, job);
    });
}

template <class T>
void invert_any_size(tessera::cuda::LaunchChain& chain, const InvertJob<T>& job) {
    if constexpr (!all_sizes_compiled()) {
        int next = 1;
        while (next <= std::min(job.largest(), Index(32))) {
            with_tile<8>(next, [&](auto tile) {  // Few register widths compile faster.
                constexpr int width = decltype(tile)::value;
                constexpr SmallShape shape = small_shape<T, width>();
                next = launch_small<T, width, false, shape.lanes, shape.rows, shape.thread_blocks,
                                    shape.checked>(chain, job, next,
                                                   [](int n) { return !size_compiled(n); });
            });
        }
    }
    if (const Index empty = job.count(0); empty > 0) {
        empty_kernel<<<blocks_for(empty, empty_threads), empty_threads, 0, chain.stream()>>>(
            empty, job.order, job.results);
        TESSERA_CUDA(cudaGetLastError());
    }
}

}  // namespace tessera::batched::cuda
