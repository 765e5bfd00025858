#pragma once

#include "batched/factor_launch.cuh"
#include "gpu/tiles/runs.cuh"

/// Factorisations of the smallest matrices, all of one size and in one run of memory, by one thread
/// each, with the bits of the other kernels.
namespace tessera::batched::cuda {

namespace {

/// A Divisor that is well inside the range, or makes `plain` false and means nothing.
template <class T>
struct PlainDivisor {
    T d;
    T reciprocal;

    __device__ __forceinline__ PlainDivisor(T given, bool& plain)
        : d(given), reciprocal(fast_reciprocal(given)) {
        plain = plain && (high_word(d) & 0x7fffffffu) - plain_low<T> < plain_span<T>;
    }
    __device__ __forceinline__ T quotient(T a) const {
        const T rough = a * reciprocal;  // As minus_quotient.
        return fma(fma(-rough, d, a), reciprocal, rough);
    }
};

/// What kernels are told of such a batch.
template <class T>
struct LaneFactorJob {
    const T* a;
    T* f;
    Index count;
    PermutationsView<Index> permutations;
    Index* info;  ///< Null: not told.
    FactorOptions<T> options;
};

/// Shared memory of a warp: 32 matrices, so far apart that lanes read their own ones in units of 16
/// bytes without conflicts.
template <class T, int n>
struct LaneMatrices {
    static constexpr int pad = 16 / int(sizeof(T));
    static constexpr int stride = n * n + pad;
    static constexpr int bytes = 32 * stride * int(sizeof(T));
    using Run = WarpRun<T, n, 32, 1, pad>;
    static_assert(n % 4 == 0);

    static __device__ __forceinline__ void take(const T* matrix, T (&a)[n * n]) {
        constexpr int w = pack_width<T>;
#pragma unroll
        for (int k = 0; k < n * n; k += w) {
            const auto quad = *reinterpret_cast<const Pack16<T>*>(matrix + k);
#pragma unroll
            for (int e = 0; e < w; ++e) a[k + e] = quad.value[e];
        }
    }
    static __device__ __forceinline__ void put(T* matrix, const T (&a)[n * n]) {
        constexpr int w = pack_width<T>;
#pragma unroll
        for (int k = 0; k < n * n; k += w) {
            Pack16<T> quad;
#pragma unroll
            for (int e = 0; e < w; ++e) quad.value[e] = a[k + e];
            *reinterpret_cast<Pack16<T>*>(matrix + k) = quad;
        }
    }
};

/// Whether a batch is such a run and asks for no more than factors, permutations and info.
template <class T>
bool is_lane_run(const FactorJob<T>& job) {
    return job.a.size == 8 && is_aligned_run(job.a) && is_aligned_run(job.f) &&
           !is_told(job.results) && !job.options.relative &&
           job.options.workspace != Workspace::shared_memory;
}

template <class Method, class T, int n>
__global__ void __launch_bounds__(factor_threads, n* n* int(sizeof(T)) > 256 ? 2 : 4)
    factor_lanes_kernel(const __grid_constant__ LaneFactorJob<T> job) {
    using Matrices = LaneMatrices<T, n>;
    extern __shared__ __align__(16) unsigned char lane_memory[];
    begin_dependent();
    T* const staged = reinterpret_cast<T*>(lane_memory + int(threadIdx.x) / 32 * Matrices::bytes);
    const int lane = int(threadIdx.x) % 32;
    const Offset first = (Offset(blockIdx.x) * factor_threads + threadIdx.x) / 32 * 32;
    const int here = int(min(Offset(32), job.count - first));
    if (here <= 0) return;
    Matrices::Run::load(job.a + first * (n * n), here, staged);
    wait_for_copies();
    const bool inside = lane < here;
    const Offset b = first + (inside ? lane : here - 1);
    T* const mine = staged + int(b - first) * Matrices::stride;
    const T tau = threshold_of(job.options, b, T(1));
    T a[n * n];
    int row[n];
    Matrices::take(mine, a);
    __syncwarp();  // Lanes without a matrix have read the last one.
    int info = 0;
    if (Method::template of_lane<n>(a, row, tau)) {
        if (inside) Matrices::put(mine, a);
    } else if (inside) {
        info = Method::template of_lane_carefully<n>(mine, row, tau);
    }
    if (inside) {
        if (job.info != nullptr) job.info[b] = info;
        const auto& p = job.permutations;
        const Offset start = p.offsets != nullptr ? p.offsets[b] : b * p.stride;
        const bool quads = p.offsets == nullptr && p.stride % 4 == 0;
        const auto write = [&](Index* to, auto&& of) {
            if (to == nullptr) return;
            if (quads && reinterpret_cast<unsigned long long>(to) % 16 == 0) {
#pragma unroll
                for (int s = 0; s < n; s += 4) {
                    *reinterpret_cast<int4*>(to + start + s) =
                        make_int4(of(s), of(s + 1), of(s + 2), of(s + 3));
                }
            } else {
#pragma unroll
                for (int s = 0; s < n; ++s) to[start + s] = of(s);
            }
        };
        write(p.rows, [&](int s) { return row[s]; });
        write(p.columns, [](int s) { return s; });
    }
    __syncwarp();
    Matrices::Run::store(job.f + first * (n * n), here, staged);
}

template <class Method, class T>
void factorise_by_lanes(const Context& context, const FactorJob<T>& job) {
    const LaneFactorJob<T> lane_job{job.a.values,     job.f.values,     job.a.count,
                                    job.permutations, job.results.info, job.options};
    launch_dependent(factor_lanes_kernel<Method, T, 8>, blocks_for(job.a.count, factor_threads),
                     factor_threads, factor_threads / 32 * LaneMatrices<T, 8>::bytes,
                     stream_of(context), lane_job);
}

}  // namespace

}  // namespace tessera::batched::cuda
