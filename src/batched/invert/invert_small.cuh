#pragma once

#include <algorithm>
#include <limits>

#include "base/check_cuda.hpp"
#include "batched/invert/kernels.hpp"
#include "batched/invert/small_shapes.hpp"
#include "gpu/launch.cuh"
#include "gpu/tiles/gauss_jordan.cuh"
#include "gpu/tiles/staging.cuh"
#include "gpu/tiles/tile_sizes.cuh"

/// Kernels for matrices of 1..32 rows; a source file instantiates some of one type.
namespace tessera::batched::cuda {

using namespace tessera::cuda;

namespace {

constexpr int small_warps = 4;  ///< A thread block.

/// The matrices of one size in a launch. A thread block works on one size only, so that the
/// compiler sees that all its lanes take the same number of steps (else it copies the registers
/// every step).
struct SizeRange {
    int n;
    Index first;  ///< Among the matrices of the batch in the order of the plan.
    Index count;
    unsigned block_end;  ///< Thread blocks of this range and of those before it.
    StageShape stage;
};
constexpr int most_ranges = 32;

template <class T>
struct SmallJob {
    StagedBatch<const T> a;
    StagedBatch<T> x;
    bool store;
    bool run;  ///< See load_matrices.
    Results<T> results;
    const Index* order;  ///< Null: 0, 1, 2 ...
    SizeRange ranges[most_ranges];
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

template <int Lanes, class T, int Rows, int Tile>
__device__ __forceinline__ T largest_entry(const T (&a)[Rows][Tile], int n, int lane) {
    T largest = T(0);
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
#pragma unroll
        for (int j = 0; j < Tile; ++j) {
            if (j < n && lane + Lanes * i < n) largest = fmax(largest, fabs(a[i][j]));
        }
    }
    return lanes_max<Lanes>(largest);
}

/// Shared memory of one warp: staged matrices, tables of steps, addresses of the matrices.
template <class T, int Tile, int Lanes>
struct SmallLayout {
    static constexpr int matrices = 32 / Lanes;
    static constexpr int table_entries = Tile + 1;  // One more, to spread groups over banks.
    static constexpr int table_bytes =
        (matrices * table_entries * int(sizeof(PivotStep<T>)) + 15) / 16 * 16;
    static constexpr int address_bytes = (matrices * 8 + 15) / 16 * 16;
    static constexpr int fixed_bytes = table_bytes + address_bytes;
};

/// Lane l of a group takes the rows l + Lanes i of an n x n matrix in shared memory. Columns from n
/// on repeat the last one; rows from n on hold whatever lies there: neither is ever a pivot, and so
/// neither touches the others.
template <int Lanes, class T, int Rows, int Tile>
__device__ __forceinline__ void take_rows(T (&a)[Rows][Tile], const T* matrix, int n, int lane) {
    const T* row = matrix + lane;
#pragma unroll
    for (int j = 0; j < Tile; ++j) {
        const T* column = row + min(j, n - 1) * n;
#pragma unroll
        for (int i = 0; i < Rows; ++i) a[i][j] = column[Lanes * i];
    }
}

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

/// Tells of the matrix of this group.
template <class T, bool Growth>
__device__ __forceinline__ void tell(const SmallJob<T>& job, Offset position, int info, T norm,
                                     T inverse_norm, T growth) {
    const Index b = job.order == nullptr ? Index(position) : job.order[position];
    if (job.results.info != nullptr) job.results.info[b] = info;
    if (job.results.reciprocal_condition != nullptr) {
        job.results.reciprocal_condition[b] = info == 0 ? T(1) / norm / inverse_norm : T(0);
    }
    if (Growth) {
        job.results.pivot_growth[b] = info == 0 ? growth : std::numeric_limits<T>::infinity();
    }
}

/// Scales the rows that gauss_jordan left by the reciprocals of their pivots and returns their
/// largest sum of magnitudes; info becomes n where it is 0 and an element is not finite. `step`
/// receives the steps of the rows. A matrix with info becomes NaN.
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

/// Inverts 32 / lanes matrices a warp. Exact: all have Tile rows, and addresses are constants.
template <class T, int Tile, bool Growth, int lanes, int rows, int thread_blocks, bool careful,
          bool Exact>
__global__ void __launch_bounds__(32 * small_warps, thread_blocks)
    invert_small_kernel(const __grid_constant__ SmallJob<T> job, int stage_bytes) {
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

    constexpr StageShape exact = stage_shape(Tile, int(sizeof(T)), lanes);
    constexpr bool whole_runs =
        Exact && exact.wide && Layout::matrices * Tile * Tile * int(sizeof(T)) % 16 == 0;
    begin_dependent();
    int r = 0;
    if (!Exact) {
        while (blockIdx.x >= job.ranges[r].block_end) ++r;
    }
    const int n = Exact ? Tile : job.ranges[r].n;
    const int stride = Exact ? exact.stride : job.ranges[r].stage.stride;
    T a[rows][Tile];
    {
        const WarpMatrices matrices = matrices_of_warp<T, Layout>(job, r, n, addresses);
        if (matrices.here == 0) return;
        if constexpr (whole_runs) {
            load_matrices<Tile, Layout::matrices, exact.stride>(job.a, matrices, exact, job.run,
                                                                staged);
        } else {
            load_matrices(job.a, matrices, job.ranges[r].stage, staged);
        }
        wait_for_copies();
    }
    const auto take = [&] {
        const int here = matrices_of_warp<T, Layout>(job, r, n, addresses).here;
        take_rows<lanes>(a, staged + min(group, here - 1) * stride, n, lane);
    };
    take();
    T* const parked = reinterpret_cast<T*>(addresses + 8 * group);  // Spares registers meanwhile.
    if (job.results.reciprocal_condition != nullptr) {
        const T norm = row_sum_norm<lanes>(a, n, lane);
        if (lane == 0) *parked = norm;
    }
    T met = Growth ? largest_entry<lanes>(a, n, lane) : T(0);
    const T given = met;
    const unsigned steps = shared_address(table);
    int info = gauss_jordan<lanes, careful, Growth, false>(a, n, n, lane, steps, met);
    asm volatile("" : "+r"(r));  // What depends on it is found again, not kept in registers.
    if (!careful && __any_sync(full_warp, info != 0)) {
        take();
        met = given;
        info = gauss_jordan<lanes, true, Growth, false>(a, n, n, lane, steps, met);
    }
    invert_order<lanes>(table, info == 0 ? n : 0, lane);

    asm volatile("" : "+r"(r));
    const WarpMatrices matrices = matrices_of_warp<T, Layout>(job, r, n, addresses);
    int step[rows];
    const T inverse_norm = scale_rows<lanes>(a, table, n, lane, info, step);
    if (group < matrices.here && lane == 0) {
        tell<T, Growth>(job, matrices.first + group, info, *parked, inverse_norm,
                        Growth ? met / given : T(0));
    }
    if (!job.store) return;
    T* const to = staged + group * (Exact ? exact.stride : job.ranges[r].stage.stride);
    const PivotStep<T>* const rotated = table + n - Tile;
#pragma unroll
    for (int j = 0; j < Tile; ++j) {
        if (j < Tile - n) continue;
        T* const column = to + int(rotated[j].row) * n;
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            if (group < matrices.here && lane + lanes * i < n) column[step[i]] = a[i][j];
        }
    }
    __syncwarp();
    if constexpr (whole_runs) {
        store_matrices<Tile, Layout::matrices, exact.stride>(job.x, matrices, exact, job.run,
                                                             staged);
    } else {
        store_matrices(job.x, matrices, job.ranges[r].stage, staged);
    }
}

/// The results of matrices without rows.
template <class T>
__global__ void empty_kernel(Index count, const Index* order, Results<T> results) {
    begin_dependent();
    for_elements<1>(count, [&](Offset i) {
        const Index b = order == nullptr ? Index(i) : order[i];
        if (results.info != nullptr) results.info[b] = 0;
        if (results.reciprocal_condition != nullptr) results.reciprocal_condition[b] = T(1);
        if (results.pivot_growth != nullptr) results.pivot_growth[b] = T(1);
    });
}

/// One launch for the sizes smallest .. Tile; of Tile alone where Exact.
template <class T, int Tile, bool Growth, bool Exact, int lanes, int rows, int thread_blocks,
          bool careful>
void launch_small(cudaStream_t stream, SmallJob<T>& job, int smallest, const InvertJob<T>& given) {
    using Layout = SmallLayout<T, Tile, lanes>;
    const Plan* plan = given.plan;
    unsigned blocks = 0;
    int stage_values = 0;
    int ranges = 0;
    for (int n = smallest; n <= Tile; ++n) {
        const Index first = plan == nullptr ? 0 : plan->begin(n);
        const Index count = plan != nullptr     ? plan->begin(n + 1) - first
                            : given.a.size == n ? given.a.count
                                                : 0;
        if (count == 0) continue;
        blocks += blocks_for(count, small_warps * Layout::matrices);
        const StageShape stage = stage_shape(n, int(sizeof(T)), 32 / Layout::matrices);
        stage_values = std::max(stage_values, Layout::matrices * stage.stride);
        job.ranges[ranges++] = {n, first, count, blocks, stage};
    }
    if (blocks == 0) return;
    // Rows behind the last matrix are read, without need.
    const int stage_bytes = ((stage_values + 32) * int(sizeof(T)) + 15) / 16 * 16;
    const int bytes = small_warps * (stage_bytes + Layout::fixed_bytes);
    const auto kernel =
        invert_small_kernel<T, Tile, Growth, lanes, rows, thread_blocks, careful, Exact>;
    launch_dependent(kernel, blocks, 32 * small_warps, bytes, stream, job, stage_bytes);
}

}  // namespace

/// What the kernels of all sizes are told.
template <class T>
SmallJob<T> small_job(const InvertJob<T>& given) {
    SmallJob<T> job{};
    const bool transposed = given.a.layout == Layout::row_major;
    job.a = StagedBatch<const T>(given.a, transposed);
    if (given.store) job.x = StagedBatch<T>(given.x, transposed);
    job.store = given.store;
    job.run = is_aligned_run(given.a) && (!given.store || is_aligned_run(given.x));
    job.results = given.results;
    job.order = given.plan == nullptr ? nullptr : given.plan->order();
    return job;
}

/// Matrices all of n rows, First <= n <= Last, by the kernel of that size; false where there is
/// none.
template <class T, int First, int Last>
bool invert_exact(const Context& context, const InvertJob<T>& given) {
    if constexpr (First <= Last) {
        if (given.a.size != First) return invert_exact<T, First + 1, Last>(context, given);
        if constexpr (lane_thread_blocks<T, First>() == 0 && tile_compiled(First + First % 2)) {
            constexpr SmallShape shape = small_shape<T, First>();
            SmallJob<T> job = small_job(given);
            launch_small<T, First, false, true, shape.lanes, shape.rows, shape.thread_blocks,
                         shape.careful>(stream_of(context), job, First, given);
            return true;
        }
    }
    return false;
}

/// Matrices of 0..32 rows; Growth: pivot growth is wanted.
template <class T, bool Growth>
void invert_small(const Context& context, const InvertJob<T>& given) {
    const cudaStream_t stream = stream_of(context);
    const Plan* plan = given.plan;
    SmallJob<T> job = small_job(given);
    const Index empty = plan != nullptr ? plan->begin(1) : (given.a.size == 0 ? given.a.count : 0);
    if (empty > 0) {
        launch_dependent(empty_kernel<T>, blocks_for(empty, 256), 256, 0, stream, empty, job.order,
                         given.results);
    }
    const int largest = std::min(plan != nullptr ? plan->largest() : given.a.size, 32);
    int next = plan != nullptr ? 1 : std::max(given.a.size, 1);
    while (next <= largest) {
        // Growth is rarely asked for: a few register widths are enough.
        with_tile<Growth ? 8 : 2>(next, [&](auto tile) {
            constexpr int width = decltype(tile)::value;
            constexpr SmallShape shape = small_shape<T, width>();
            launch_small<T, width, Growth, false, shape.lanes, shape.rows, shape.thread_blocks,
                         shape.careful>(stream, job, next, given);
            next = width + 1;
        });
    }
}

}  // namespace tessera::batched::cuda
