#pragma once

#include "batched/factor/factor_any_size.cuh"
#include "gpu/tiles/staging/packs.cuh"
#include "gpu/tiles/staging/warp_staging.cuh"
#include "gpu/tiles/tile_sizes.cuh"

/// LDU with static or partial pivoting and static LL^T of the smallest matrices, all of one size,
/// one per thread; results equal those of the general kernels in every bit.
namespace tessera::batched::cuda {

namespace {

/// Fully unrolled eliminations of n rows. They return false where a pivot has no fast reciprocal
/// (has_fast_reciprocal); the factors are then undefined.
template <Factorisation kind, Pivoting pivoting>
struct ThreadElimination;

/// LDU, right-looking. Rows are exchanged among registers; the first one given wins among equals.
template <Pivoting pivoting>
struct ThreadElimination<Factorisation::ldu, pivoting> {
    using General = Ldu<pivoting>;

    template <int n, class T>
    static __device__ __forceinline__ bool run(T (&a)[n * n], Index (&row)[n], T tau) {
        bool in_range = true;
#pragma unroll
        for (int k = 0; k < n; ++k) {
            if constexpr (pivoting == Pivoting::partial) exchange<n>(a, row, k);
            const FastDivisor<T> divisor(with_threshold(a[k + n * k], tau), in_range);
            a[k + n * k] = divisor.d;
#pragma unroll
            for (int i = k + 1; i < n; ++i) {
                const T l = divisor.quotient(a[i + n * k]);
                a[i + n * k] = l;
#pragma unroll
                for (int j = k + 1; j < n; ++j) a[i + n * j] = fma(-l, a[k + n * j], a[i + n * j]);
            }
#pragma unroll
            for (int j = k + 1; j < n; ++j) a[k + n * j] = divisor.quotient(a[k + n * j]);
        }
        return in_range;
    }

  private:
    template <int n, class T>
    static __device__ __forceinline__ void exchange(T (&a)[n * n], Index (&row)[n], int k) {
        T largest = fabs(a[k + n * k]);
        Index chosen = row[k];
#pragma unroll
        for (int i = k + 1; i < n; ++i) {
            const T size = fabs(a[i + n * k]);
            const bool better = size > largest || (size == largest && row[i] < chosen);
            largest = better ? size : largest;
            chosen = better ? row[i] : chosen;
        }
        bool is_chosen[n];
#pragma unroll
        for (int i = k + 1; i < n; ++i) {
            is_chosen[i] = row[i] == chosen;
            row[i] = is_chosen[i] ? row[k] : row[i];
        }
        row[k] = chosen;
#pragma unroll
        for (int j = 0; j < n; ++j) {
            const T given = a[k + n * j];
#pragma unroll
            for (int i = k + 1; i < n; ++i) {
                a[k + n * j] = is_chosen[i] ? a[i + n * j] : a[k + n * j];
                a[i + n * j] = is_chosen[i] ? given : a[i + n * j];
            }
        }
    }
};

/// LL^T, right-looking.
template <>
struct ThreadElimination<Factorisation::llt, Pivoting::fixed> {
    using General = Llt<Pivoting::fixed>;

    template <int n, class T>
    static __device__ __forceinline__ bool run(T (&a)[n * n], Index (&)[n], T tau) {
        bool in_range = true;
#pragma unroll
        for (int k = 0; k < n; ++k) {
            const T raw = a[k + n * k];
            const T d = raw < tau ? tau : raw;
            in_range = in_range && d > T(0) && has_fast_reciprocal(d);
            const FastDivisor<T> divisor(sqrt(d), in_range);
            a[k + n * k] = divisor.d;
#pragma unroll
            for (int i = k + 1; i < n; ++i) a[i + n * k] = divisor.quotient(a[i + n * k]);
#pragma unroll
            for (int j = k + 1; j < n; ++j) {
#pragma unroll
                for (int i = j; i < n; ++i) {
                    a[i + n * j] = fma(-a[i + n * k], a[j + n * k], a[i + n * j]);
                }
                a[k + n * j] = T(0);
            }
        }
        return in_range;
    }
};

/// Factors matrix b of n rows as the general kernels do, by a warp. Not inlined, so that it costs
/// the fast path no registers.
template <class Method, class T>
__device__ __noinline__ void factorise_by_warp(const FactorJob<T>& job, Offset b, int n,
                                               unsigned char* memory) {
    using Team = WarpTeam<32>;
    const auto shared = team_memory<T, Team>(memory, factor_bytes<T>(n, 32), 0, n);
    __syncwarp();
    factorise<Method, SharedRows<T>>(TeamMatrix<T, Team>{Team(), shared, n, b, true}, job, false);
}

/// Shared memory of a warp in bytes, 256 of them for addresses, and the warps of a thread block.
template <class T, int n>
struct ThreadFactorShape {
    static constexpr int bytes =
        256 + std::max(thread_stage<T, n>.bytes(32, int(sizeof(T))), factor_bytes<T>(n, 32));
    static constexpr int warps = bytes > 16384 ? 1 : 4;
};

/// One matrix per thread in registers; a warp stages 32 of them in shared memory by cp.async. A
/// matrix with a pivot near the ends of the range is factored by Elimination::General.
template <class Elimination, class T, int n, int warps, int blocks>
__global__ void __launch_bounds__(32 * warps, blocks)
    factor_per_thread_kernel(const __grid_constant__ FactorJob<T> job) {
    using Shape = ThreadFactorShape<T, n>;
    constexpr LineStage stage = thread_stage<T, n>;
    constexpr int width = pack_bytes(n * n * int(sizeof(T)));
    extern __shared__ __align__(16) unsigned char thread_memory[];
    begin_dependent();
    unsigned char* const own = thread_memory + int(threadIdx.x) / 32 * Shape::bytes;
    unsigned char* const memory = own + 256;
    T* const staged = reinterpret_cast<T*>(memory);
    const int lane = int(threadIdx.x) % 32;
    const WarpMatrices matrices = matrices_of_warp<32, warps>(nullptr, 0, job.a.count, n, own);
    const Offset first = matrices.first;
    const int count = matrices.count;
    if (count == 0) return;
    load_matrices(job.a, matrices, stage, staged);
    wait_for_copies();
    const int m = min(lane, count - 1);
    T a[n * n];
    Index row[n];
    load_packs<width, n * n>(staged + m * stage.stride, a);
#pragma unroll
    for (int i = 0; i < n; ++i) row[i] = i;
    const bool done =
        Elimination::template run<n>(a, row, threshold_of(job.options, first + m, T(1)));
    const unsigned failed = __ballot_sync(full_warp, !done && lane < count);
    __syncwarp();  // Lanes without a matrix have read the last one.
    if (done && lane < count) {
        store_packs<width, n * n>(staged + lane * stage.stride, a);
        if (job.results.info != nullptr) job.results.info[first + lane] = 0;
    }
    store_matrices(job.f, matrices, stage, staged);  // Failed ones as given.
    __syncwarp();
    const PermutationsView<Index>& p = job.permutations;
    Index* const order = reinterpret_cast<Index*>(memory);
#pragma unroll
    for (int s = 0; s < n; ++s) order[lane * n + s] = row[s];
    __syncwarp();
#pragma unroll
    for (int e = lane; e < 32 * n; e += 32) {
        if (e >= count * n || (failed >> (e / n) & 1) != 0) continue;
        const Offset to = p.start(first + e / n) + e % n;
        if (p.rows != nullptr) p.rows[to] = order[e];
        if (p.columns != nullptr) p.columns[to] = e % n;
    }
    for (unsigned left = failed; left != 0; left &= left - 1) {
        factorise_by_warp<typename Elimination::General>(job, first + __ffs(int(left)) - 1, n,
                                                         memory);
    }
}

}  // namespace

template <Factorisation kind, Pivoting pivoting, class T>
bool factorise_per_thread(const Context& context, const FactorJob<T>& job) {
    constexpr int largest = max_factor_per_thread<T>(kind, pivoting);
    if (job.plan != nullptr || job.a.size > largest || wants_more_than_info(job.results) ||
        job.options.relative) {
        return false;
    }
    bool is_done = false;
    for_compiled_sizes<1, largest>([&](auto size) {
        constexpr int n = decltype(size)::value;
        using Shape = ThreadFactorShape<T, n>;
        constexpr int blocks = thread_factor_blocks<T>(n, kind) * 4 / Shape::warps;
        if (job.a.size != n) return;
        launch_dependent(
            factor_per_thread_kernel<ThreadElimination<kind, pivoting>, T, n, Shape::warps, blocks>,
            blocks_for(job.a.count, 32 * Shape::warps), 32 * Shape::warps,
            Shape::warps * Shape::bytes, stream_of(context), job);
        is_done = true;
    });
    return is_done;
}

}  // namespace tessera::batched::cuda
