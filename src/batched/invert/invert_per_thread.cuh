#pragma once

#include <limits>

#include "batched/invert/kernels.hpp"
#include "gpu/launch.cuh"
#include "gpu/tiles/elimination/gauss_jordan_per_thread.cuh"
#include "gpu/tiles/staging/packs.cuh"
#include "gpu/tiles/staging/warp_staging.cuh"
#include "gpu/tuning/batched_h200.hpp"

/// Inversion of the smallest matrices, one per thread.
namespace tessera::batched::cuda {

using namespace tessera::cuda;

namespace {

template <int n, class T>
__device__ __forceinline__ T row_sum(const T (&a)[n * n], int i) {
    T sum = T(0);
#pragma unroll
    for (int j = 0; j < n; ++j) sum += fabs(a[i + n * j]);
    return sum;
}

/// Scales the rows computed by gauss_jordan_per_thread. Returns the largest row sum of magnitudes;
/// `total` becomes the sum of all magnitudes.
template <int n, class T>
__device__ __forceinline__ T scale_rows(T (&a)[n * n], const T (&reciprocal)[n], T& total) {
    T norm = T(0);
    total = T(0);
#pragma unroll
    for (int i = 0; i < n; ++i) {
#pragma unroll
        for (int j = 0; j < n; ++j) a[i + n * j] *= reciprocal[i];
        const T sum = row_sum<n>(a, i);
        total += sum;
        norm = sum > norm ? sum : norm;
    }
    return norm;
}

template <int n, class T>
__device__ __forceinline__ void load_matrix(const T* matrix, T (&a)[n * n]) {
    load_packs<pack_bytes(n * n * int(sizeof(T))), n * n>(matrix, a);
}
/// Column k is stored as column row[k].
template <int n, class T>
__device__ __forceinline__ void store_matrix(T* matrix, const T (&a)[n * n],
                                             const unsigned (&row)[n]) {
#pragma unroll
    for (int k = 0; k < n; ++k) {
        store_packs<pack_bytes(n * int(sizeof(T))), n>(matrix + row[k] * n, a + k * n);
    }
}

template <class T>
struct ThreadInverse {
    int info;
    T norm;  ///< Norm of the inverse.
};

/// Fallback path for a matrix with a pivot outside the fast range (IEEE division, checks in each
/// step). Not inlined, so that the fast path has its registers.
template <int n, class T>
__device__ __noinline__ ThreadInverse<T> invert_checked(T* matrix) {
    T a[n * n];
    unsigned row[n];
    T reciprocal[n];
    T total;
    load_matrix<n>(matrix, a);
    int info = gauss_jordan_per_thread<true, n>(a, row, reciprocal);
    const T norm = scale_rows<n>(a, reciprocal, total);
    bool finite = true;
#pragma unroll
    for (int e = 0; e < n * n; ++e) finite = finite && isfinite(a[e]);
    if (!finite && info == 0) info = n;
    if (info == 0) {
        store_matrix<n>(matrix, a, row);
    } else {
        for (int e = 0; e < n * n; ++e) matrix[e] = std::numeric_limits<T>::quiet_NaN();
    }
    return {info, norm};
}

/// Bytes of a warp: addresses of 32 matrices, and the matrices.
template <class T, int n>
constexpr int per_thread_bytes = 256 + thread_stage<T, n>.bytes(32, int(sizeof(T)));

/// Gauss-Jordan elimination with partial pivoting, fully unrolled; one matrix per thread in
/// registers, rows exchanged by selects. A warp stages 32 matrices in shared memory by cp.async.
/// The matrices are the `all` ones from `first` on in the order.
template <class T, int n, int thread_blocks>
__global__ void __launch_bounds__(32 * per_thread_warps, thread_blocks)
    invert_per_thread_kernel(const __grid_constant__ InvertJob<T> job, Index first, Index all,
                             bool first_in_chain) {
    constexpr LineStage stage = thread_stage<T, n>;
    extern __shared__ __align__(16) unsigned char memory[];
    if (begin_in_chain(first_in_chain)) return;
    unsigned char* const own = memory + int(threadIdx.x) / 32 * per_thread_bytes<T, n>;
    T* const staged = reinterpret_cast<T*>(own + 256);
    const int lane = int(threadIdx.x) % 32;
    const WarpMatrices matrices =
        matrices_of_warp<32, per_thread_warps>(job.order, first, all, n, own);
    const int count = matrices.count;
    if (count == 0) return;
    const bool by_rows = job.a.layout == Layout::row_major;
    load_matrices(job.a, matrices, stage, staged, by_rows);
    wait_for_copies();

    T* const mine = staged + min(lane, count - 1) * stage.stride;
    T a[n * n];
    T norm = T(0);
    load_matrix<n>(mine, a);
    if (job.results.reciprocal_condition != nullptr) {
#pragma unroll
        for (int i = 0; i < n; ++i) {
            const T sum = row_sum<n>(a, i);
            norm = sum > norm ? sum : norm;
        }
    }
    unsigned row[n];
    T reciprocal[n];
    T total;
    const bool out_of_range = gauss_jordan_per_thread<false, n>(a, row, reciprocal) != 0;
    ThreadInverse<T> outcome{0, scale_rows<n>(a, reciprocal, total)};
    __syncwarp();  // Lanes without a matrix have read the last matrix.
    // The sum may overflow although all elements are finite.
    if (!__any_sync(full_warp, out_of_range || !isfinite(total))) {
        if (lane < count && job.store) store_matrix<n>(mine, a, row);
    } else if (lane < count) {
        outcome = invert_checked<n>(mine);
    }
    if (lane < count) {
        write_results(job.results, matrices.member(lane), outcome.info, norm, outcome.norm);
    }
    if (!job.store) return;
    store_matrices(job.x, matrices, stage, staged, by_rows);
}

/// The matrices of n rows.
template <class T, int n, int thread_blocks>
void launch_per_thread(tessera::cuda::LaunchChain& chain, const InvertJob<T>& job) {
    chain.launch(invert_per_thread_kernel<T, n, thread_blocks>,
                 blocks_for(job.count(n), 32 * per_thread_warps), 32 * per_thread_warps,
                 per_thread_warps * per_thread_bytes<T, n>, job, job.first(n), job.count(n));
}

}  // namespace

}  // namespace tessera::batched::cuda
