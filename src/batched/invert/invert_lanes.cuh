#pragma once

#include <cstring>
#include <limits>

#include "batched/invert/kernels.hpp"
#include "gpu/launch.cuh"
#include "gpu/pack.cuh"
#include "gpu/tiles/contiguous_tile.cuh"
#include "gpu/tiles/gauss_jordan_lane.cuh"
#include "gpu/tuning/batched_h200.hpp"

/// Inversion of the smallest matrices, all of one size and in one run of memory, by one thread
/// each.
namespace tessera::batched::cuda {

using namespace tessera::cuda;

namespace {

/// Whether these kernels can do a job: runs of matrices, and no pivot growth.
template <class T>
bool is_one_run(const InvertJob<T>& job) {
    return job.results.pivot_growth == nullptr && is_contiguous_aligned(job.a) &&
           (!job.store || is_contiguous_aligned(job.x));
}

/// Shared memory of one warp: 32 matrices, so far apart that its lanes read or write their own ones
/// without conflicts, in units as large as divide a matrix.
template <class T, int n>
struct LaneStage {
    static constexpr int matrix_bytes = n * n * int(sizeof(T));
    static constexpr int pad_bytes = matrix_bytes % 32 == 0 ? 16 : 0;
    static constexpr int stride = (matrix_bytes + pad_bytes) / int(sizeof(T));
    static constexpr int bytes = 32 * stride * int(sizeof(T));
    /// Bytes that a thread moves at once: a divisor of `unit`, a number of values.
    static constexpr int width(int unit) { return unit % 16 == 0 ? 16 : unit % 8 == 0 ? 8 : 4; }
};

/// Copies `Count` values in units of `Bytes`, which divide the address of `shared`. As integers:
/// with units of T the compiler takes many more registers for FP32 and n = 6.
template <int Bytes, int Count, class T>
__device__ __forceinline__ void take_from(const T* shared, T* registers) {
    constexpr int each = Bytes / int(sizeof(T));
#pragma unroll
    for (int c = 0; c < Count / each; ++c) {
        const auto bits = reinterpret_cast<const Pack<int, Bytes / 4>*>(shared)[c];
        T values[each];
        memcpy(values, &bits, Bytes);
#pragma unroll
        for (int q = 0; q < each; ++q) registers[c * each + q] = values[q];
    }
}
template <int Bytes, int Count, class T>
__device__ __forceinline__ void put_to(T* shared, const T* registers) {
    constexpr int each = Bytes / int(sizeof(T));
#pragma unroll
    for (int c = 0; c < Count / each; ++c) {
        T values[each];
#pragma unroll
        for (int q = 0; q < each; ++q) values[q] = registers[c * each + q];
        Pack<int, Bytes / 4> bits;
        memcpy(&bits, values, Bytes);
        reinterpret_cast<Pack<int, Bytes / 4>*>(shared)[c] = bits;
    }
}

template <int n, class T>
__device__ __forceinline__ T row_sum(const T (&a)[n * n], int i) {
    T sum = T(0);
#pragma unroll
    for (int j = 0; j < n; ++j) sum += fabs(a[i + n * j]);
    return sum;
}

/// Scales what gauss_jordan_of_lane left. Returns the largest sum of magnitudes of a row; `total`
/// becomes the sum of all magnitudes.
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
__device__ __forceinline__ void take_matrix(const T* matrix, T (&a)[n * n]) {
    take_from<LaneStage<T, n>::width(LaneStage<T, n>::matrix_bytes), n * n>(matrix, a);
}
/// Column k goes to where column row[k] belongs.
template <int n, class T>
__device__ __forceinline__ void put_matrix(T* matrix, const T (&a)[n * n],
                                           const unsigned (&row)[n]) {
#pragma unroll
    for (int k = 0; k < n; ++k) {
        put_to<LaneStage<T, n>::width(n * int(sizeof(T))), n>(matrix + row[k] * n, a + k * n);
    }
}

template <class T>
struct LaneOutcome {
    int info;
    T norm;  ///< Of the inverse.
};

/// Fallback for a matrix with an unusual pivot (IEEE division, checks each step); a function of its
/// own so that it costs the fast path no registers.
template <int n, class T>
__device__ __noinline__ LaneOutcome<T> invert_carefully(T* matrix) {
    T a[n * n];
    unsigned row[n];
    T reciprocal[n];
    T total;
    take_matrix<n>(matrix, a);
    int info = gauss_jordan_of_lane<true, n>(a, row, reciprocal);
    const T norm = scale_rows<n>(a, reciprocal, total);
    bool finite = true;
#pragma unroll
    for (int e = 0; e < n * n; ++e) finite = finite && isfinite(a[e]);
    if (!finite && info == 0) info = n;
    if (info == 0) {
        put_matrix<n>(matrix, a, row);
    } else {
        for (int e = 0; e < n * n; ++e) matrix[e] = std::numeric_limits<T>::quiet_NaN();
    }
    return {info, norm};
}

/// Gauss-Jordan elimination with partial pivoting, fully unrolled; one matrix per thread in
/// registers, rows exchanged by selects. A warp stages 32 matrices in shared memory by cp.async.
template <class T, int n, int thread_blocks>
__global__ void __launch_bounds__(32 * lane_warps, thread_blocks)
    invert_lanes_kernel(const __grid_constant__ InvertJob<T> job, bool first_in_chain) {
    using Stage = LaneStage<T, n>;
    using Run = ContiguousTile<T, n, 32, 1, Stage::stride - n * n>;
    extern __shared__ __align__(16) unsigned char lane_memory[];
    if (begin_in_chain(first_in_chain)) return;
    T* const staged = reinterpret_cast<T*>(lane_memory + int(threadIdx.x) / 32 * Stage::bytes);
    const int lane = int(threadIdx.x) % 32;
    const unsigned first = (blockIdx.x * lane_warps + threadIdx.x / 32) * 32;
    const int here = min(32, int(unsigned(job.a.count) - first));
    if (here <= 0) return;
    Run::load(job.a.values + Offset(first) * (n * n), here, staged);
    wait_for_copies();

    T* const mine = staged + min(lane, here - 1) * Stage::stride;
    T a[n * n];
    T norm = T(0);
    take_matrix<n>(mine, a);
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
    const bool odd = gauss_jordan_of_lane<false, n>(a, row, reciprocal) != 0;
    LaneOutcome<T> outcome{0, scale_rows<n>(a, reciprocal, total)};
    __syncwarp();  // Lanes without a matrix have read the last one.
    // A sum may overflow where no element does.
    if (!__any_sync(full_warp, odd || !isfinite(total))) {
        if (lane < here && job.store) put_matrix<n>(mine, a, row);
    } else if (lane < here) {
        outcome = invert_carefully<n>(mine);
    }
    if (lane < here) {
        write_results(job.results, first + lane, outcome.info, norm, outcome.norm, T(0));
    }
    if (!job.store) return;
    __syncwarp();
    Run::store(job.x.values + Offset(first) * (n * n), here, staged);
}

template <class T, int n, int thread_blocks>
void launch_lanes(tessera::cuda::LaunchChain& chain, const InvertJob<T>& job) {
    chain.launch(invert_lanes_kernel<T, n, thread_blocks>, blocks_for(job.a.count, 32 * lane_warps),
                 32 * lane_warps, lane_warps * LaneStage<T, n>::bytes, job);
}

}  // namespace

}  // namespace tessera::batched::cuda
