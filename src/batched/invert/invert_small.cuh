#pragma once

#include <algorithm>
#include <limits>
#include <type_traits>

#include "base/check_cuda.hpp"
#include "batched/invert/invert_lanes.cuh"
#include "batched/invert/invert_tile.cuh"
#include "batched/invert/kernels.hpp"
#include "gpu/launch.cuh"
#include "gpu/tiles/gauss_jordan.cuh"
#include "gpu/tiles/slots.cuh"
#include "gpu/tiles/staging.cuh"
#include "gpu/tiles/tile_sizes.cuh"
#include "gpu/tuning/batched_h200.hpp"

/// Kernels for matrices of 1..32 rows; a source file instantiates some of one type.
namespace tessera::batched::cuda {

using namespace tessera::cuda;

namespace {

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
constexpr int most_ranges = 8;

template <class T>
struct SmallJob {
    StagedBatch<const T> a;
    StagedBatch<T> x;
    bool store;
    ConditionResults<T> results;
    const Index* order;  ///< Null: 0, 1, 2 ...
    bool slots;          ///< Whether matrices are staged in slots; only in exact kernels.
    bool same_places;    ///< Whether x lies as a does.
    SizeRange ranges[most_ranges];
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

/// Starts to copy the matrices of this warp to shared memory.
template <class Slots, bool Exact, class T>
__device__ __forceinline__ void load(const SmallJob<T>& job, const WarpMatrices& matrices,
                                     const StageShape& stage, T* staged) {
    if (Exact && job.slots) {
        list_addresses(job.a, matrices, true);
        load_slots<Slots>(matrices, staged);
    } else {
        load_matrices(job.a, matrices, stage, staged);
    }
}

/// Replaces the source addresses of unaligned matrices by their destinations.
template <class T>
__device__ __forceinline__ void list_outputs(const SmallJob<T>& job, const WarpMatrices& w) {
    if (!job.same_places) return list_addresses(job.x, w, true);
    __syncwarp();
    const int m = int(threadIdx.x) % 32;
    if (m < w.here) {
        w.addresses[m] += reinterpret_cast<unsigned long long>(job.x.values) -
                          reinterpret_cast<unsigned long long>(job.a.values);
    }
    __syncwarp();
}

/// Writes the optional outputs of the matrix of this group.
template <class T, bool Growth>
__device__ __forceinline__ void tell(const SmallJob<T>& job, Offset position, int info, T norm,
                                     T inverse_norm, T growth) {
    const Index b = job.order == nullptr ? Index(position) : job.order[position];
    if (job.results.info != nullptr) job.results.info[b] = info;
    if (job.results.reciprocal_condition != nullptr) {
        job.results.reciprocal_condition[b] = info == 0 ? T(1) / norm / inverse_norm : T(0);
    }
    if (Growth && job.results.pivot_growth != nullptr) {
        job.results.pivot_growth[b] = info == 0 ? growth : std::numeric_limits<T>::infinity();
    }
}

/// Gauss-Jordan elimination with implicit partial pivoting; one matrix per `lanes` lanes, `rows`
/// rows per lane in registers, the pivot row broadcast by shuffles. Matrices are staged in shared
/// memory by cp.async. Exact: all have Tile rows, so that addresses are constants.
template <class T, int Tile, bool Growth, int lanes, int rows, int thread_blocks, bool careful,
          bool Exact>
__global__ void __launch_bounds__(32 * small_warps, thread_blocks)
    invert_small_kernel(const __grid_constant__ SmallJob<T> job, int stage_bytes,
                        bool first_in_chain) {
    using Layout = SmallLayout<T, Tile, lanes>;
    using Slots = tessera::cuda::Slots<T, Tile, lanes>;
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
    if (!Exact) {
        while (blockIdx.x >= job.ranges[r].block_end) ++r;
    }
    const int n = Exact ? Tile : job.ranges[r].n;
    constexpr StageShape exact_stage = stage_shape(Tile, int(sizeof(T)), lanes);
    const auto stage = [&]() -> const StageShape& { return job.ranges[r].stage; };
    T a[rows][Tile];
    {
        const WarpMatrices matrices = matrices_of_warp<T, Layout>(job, r, n, addresses);
        if (matrices.here == 0) return;
        load<Slots, Exact>(job, matrices, stage(), staged);
        wait_for_copies();
    }
    const auto in_shared = [&](const WarpMatrices& matrices, int m) {
        if (Exact && job.slots) {
            return staged + m * Slots::stride + Slots::shift(matrices.addresses[m]);
        }
        if (Exact && exact_stage.padded == 1) return staged + m * stage().stride;
        return staged + stage().place(m);
    };
    const auto matrix_of_group = [&] {
        // Most sizes have no need of the question.
        if (Exact && (exact_stage.padded == 1 || job.slots)) return group;
        return stage().matrix_of_group(group, Layout::matrices);
    };
    const auto take = [&] {
        const WarpMatrices matrices = matrices_of_warp<T, Layout>(job, r, n, addresses);
        take_rows<lanes>(a, in_shared(matrices, min(matrix_of_group(), matrices.here - 1)), n,
                         lane);
    };
    take();
    // Parked in shared memory during the elimination to reduce register pressure.
    T* const parked = reinterpret_cast<T*>(addresses + Layout::address_bytes + 8 * group);
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
    const int m = matrix_of_group();
    if (m < matrices.here && lane == 0) {
        tell<T, Growth>(job, matrices.first + m, info, *parked, inverse_norm,
                        Growth ? met / given : T(0));
    }
    if (!job.store) return;
    if (Exact && job.slots) list_outputs(job, matrices);
    T* const to = in_shared(matrices, m);
    const PivotStep<T>* const rotated = table + n - Tile;
#pragma unroll
    for (int j = 0; j < Tile; ++j) {
        if (j < Tile - n) continue;
        T* const column = to + int(rotated[j].row) * n;
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            if (m < matrices.here && lane + lanes * i < n) column[step[i]] = a[i][j];
        }
    }
    __syncwarp();
    if (Exact && job.slots) {
        store_slots<Slots>(matrices, staged);
    } else {
        store_matrices(job.x, matrices, stage(), staged);
    }
}

/// The outputs of empty matrices.
template <class T>
__global__ void empty_kernel(Index count, const Index* order, ConditionResults<T> results) {
    for_elements<1>(count, [&](Offset i) {
        const Index b = order == nullptr ? Index(i) : order[i];
        if (results.info != nullptr) results.info[b] = 0;
        if (results.reciprocal_condition != nullptr) results.reciprocal_condition[b] = T(1);
        if (results.pivot_growth != nullptr) results.pivot_growth[b] = T(1);
    });
}

/// The arguments common to the kernels of all sizes; `ranges` is left empty.
template <class T>
SmallJob<T> small_job(const InvertJob<T>& given) {
    SmallJob<T> job{};
    const bool transposed = given.a.layout == Layout::row_major;
    job.a = StagedBatch<const T>(given.a, transposed);
    if (given.store) job.x = StagedBatch<T>(given.x, transposed);
    job.store = given.store;
    job.results = given.results;
    job.order = given.plan == nullptr ? nullptr : given.plan->order();
    job.same_places = given.store && given.a.starts == nullptr && given.x.starts == nullptr &&
                      given.a.offsets == given.x.offsets && given.a.stride == given.x.stride;
    return job;
}

/// Whether packed matrices are copied one by one, not as one run; matrices of a warp fill
/// `warp_bytes`.
template <class T>
bool wants_slots(const InvertJob<T>& given, int n, int warp_bytes) {
    const auto one_run = [&](const auto& view) {
        return view.starts == nullptr && view.offsets == nullptr && view.stride == Offset(n) * n &&
               reinterpret_cast<std::uintptr_t>(view.values) % 16 == 0 && warp_bytes % 16 == 0;
    };
    const auto packed = [&](const auto& view) {
        return view.layout == Layout::column_major &&
               (view.sizes != nullptr || view.leading_dimension == n);
    };
    if (!packed(given.a) || (given.store && !packed(given.x))) return false;
    return given.plan != nullptr || !one_run(given.a) || (given.store && !one_run(given.x));
}

/// One launch for those of the sizes smallest .. Tile that `wanted`(n) names, or the first
/// most_ranges of them. Returns the size to go on with.
template <class T, int Tile, bool Growth, bool Exact, int lanes, int rows, int thread_blocks,
          bool careful, class Wanted>
int launch_small(tessera::cuda::LaunchChain& chain, const InvertJob<T>& given, int smallest,
                 Wanted&& wanted) {
    using Shared = SmallLayout<T, Tile, lanes>;
    SmallJob<T> job = small_job(given);
    unsigned blocks = 0;
    int stage_values = 0;
    int ranges = 0;
    int n = smallest;
    for (; n <= Tile && ranges < most_ranges; ++n) {
        const Index count = given.count(n);
        if (count == 0 || !wanted(n)) continue;
        blocks += blocks_for(count, small_warps * Shared::matrices);
        const StageShape stage = stage_shapes<int(sizeof(T)), lanes>[std::size_t(n)];
        job.slots = Exact && wants_slots(given, n, Shared::matrices * n * n * int(sizeof(T)));
        const int in_slots = Shared::matrices * Slots<T, Tile, lanes>::stride;
        stage_values = std::max(stage_values, job.slots ? in_slots : stage.place(Shared::matrices));
        job.ranges[ranges++] = {n, given.first(n), count, blocks, stage};
    }
    if (blocks == 0) return n;
    // Rows behind the last matrix are read, without need.
    const int stage_bytes = ((stage_values + 32) * int(sizeof(T)) + 15) / 16 * 16;
    const int bytes = small_warps * (stage_bytes + Shared::fixed_bytes);
    const auto kernel =
        invert_small_kernel<T, Tile, Growth, lanes, rows, thread_blocks, careful, Exact>;
    chain.launch(kernel, blocks, 32 * small_warps, bytes, job, stage_bytes);
    return n;
}

/// The matrices of n rows, by the kernel made for n: the one place that chooses it.
template <class T, int n>
void launch_exact(tessera::cuda::LaunchChain& chain, const InvertJob<T>& job) {
    if constexpr (lane_thread_blocks<T, n>() > 0) {
        if (is_one_run(job)) return launch_lanes<T, n, lane_thread_blocks<T, n>()>(chain, job);
    }
    constexpr SmallShape shape = small_shape<T, n>();
    launch_small<T, n, false, true, shape.lanes, shape.rows, shape.thread_blocks, shape.careful>(
        chain, job, n, [](int) { return true; });
}

}  // namespace

template <class T, int First, int Last>
void invert_exact(tessera::cuda::LaunchChain& chain, const InvertJob<T>& job) {
    if constexpr (First <= Last) {
        if constexpr (exact_compiled(Last)) {
            if (job.count(Last) > 0) launch_exact<T, Last>(chain, job);
        }
        invert_exact<T, First, Last - 1>(chain, job);
    }
}

template <class T>
void invert_bounded(tessera::cuda::LaunchChain& chain, const InvertJob<T>& job) {
    const bool growth = job.results.pivot_growth != nullptr;
    int next = 1;
    while (next <= std::min(job.largest(), Index(32))) {
        with_tile<8>(next, [&](auto tile) {  // Rarely needed: a few register widths are enough.
            constexpr int width = decltype(tile)::value;
            constexpr SmallShape shape = small_shape<T, width>();
            next = launch_small<T, width, true, false, shape.lanes, shape.rows, shape.thread_blocks,
                                shape.careful>(chain, job, next, [&](int n) {
                const bool by_panels = std::is_same_v<T, double> && n > 24;
                return !exact_compiled(n) || (growth && !by_panels);
            });
        });
    }
    if (const Index empty = job.count(0); empty > 0) {
        const Index* order = job.plan == nullptr ? nullptr : job.plan->order();
        empty_kernel<<<blocks_for(empty, 256), 256, 0, chain.stream()>>>(empty, order, job.results);
        TESSERA_CUDA(cudaGetLastError());
    }
}

}  // namespace tessera::batched::cuda
