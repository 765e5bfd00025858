#pragma once

#include <limits>

#include "batched/solve/kernels.hpp"
#include "gpu/tiles/staging/warp_staging.cuh"

/// Systems of 1..32 equations, slowly.
namespace tessera::batched::cuda {

using namespace tessera::cuda;

namespace {

/// Solves one system with the 32 lanes of a warp, row by lane, by divisions and with checks of each
/// pivot: where the fast kernels met a pivot near the ends of the range.
template <bool pivoting, class T>
__device__ __noinline__ void solve_checked(const SystemJob<T>& job, Offset b, int n) {
    const StridedMatrix<const T> a(job.a, b, n);
    const bool flipped = !pivoting && a.row_stride != 1;
    const int lane = int(threadIdx.x) % 32;
    T row[32];
    T largest = T(0);
    for (int j = 0; j < n; ++j) {
        const bool swapped = !pivoting && (lane < j) != flipped;
        row[j] = lane < n ? (swapped ? a(j, lane) : a(lane, j)) : T(0);
        largest = fabs(row[j]) > largest ? fabs(row[j]) : largest;
    }
    T smallest = std::numeric_limits<T>::infinity();
    int info = 0;
    int step = lane < n ? n : -1;  // The step of the row of this lane.
    int row_of_step = 0;           // The row of step `lane`.
    for (int k = 0; k < n && info == 0; ++k) {
        int p = k;
        if constexpr (pivoting) {
            const T found = fabs(row[k]);
            const T size = step < n ? T(-1)
                           : found <= std::numeric_limits<T>::max()
                               ? found
                               : std::numeric_limits<T>::infinity();
            const T best = lanes_max<32>(size);
            p = __ffs(int(__ballot_sync(full_warp, size == best))) - 1;
        }
        const T pivot = __shfl_sync(full_warp, row[k], p);
        const bool usable = isfinite(pivot) && isfinite(T(1) / pivot) && (pivoting || pivot > T(0));
        if (!usable) info = k + 1;
        smallest = fabs(pivot) < smallest ? fabs(pivot) : smallest;
        if (lane == p) step = k;
        if (lane == k) row_of_step = p;
        const T l = step == n ? row[k] / pivot : T(0);
        for (int j = k + 1; j < n; ++j) {
            row[j] = fma(-l, __shfl_sync(full_warp, row[j], p), row[j]);
        }
        if (step == n) row[k] = l;
    }
    const T top = lanes_max<32>(largest);
    if (info == 0 && smallest < T(n) * std::numeric_limits<T>::epsilon() * top) info = n + 1;
    for (int v = 0; v < job.b.vectors; ++v) {
        const Offset shift = v * job.b.leading_dimension;
        T y = lane < n ? start_of(job.b, b)[lane + shift] : T(0);
        for (int k = 0; k < n; ++k) {
            const T value = __shfl_sync(full_warp, y, __shfl_sync(full_warp, row_of_step, k));
            if (step > k) y = fma(-row[k], value, y);
        }
        T x = std::numeric_limits<T>::quiet_NaN();
        for (int k = n - 1; k >= 0; --k) {
            const int p = __shfl_sync(full_warp, row_of_step, k);
            const T value = __shfl_sync(full_warp, y, p) / __shfl_sync(full_warp, row[k], p);
            if (step < k) y = fma(-row[k], value, y);
            if (lane == k && (info == 0 || info > n)) x = value;
        }
        if (lane < n) start_of(job.x, b)[lane + v * job.x.leading_dimension] = x;
    }
    if (lane == 0 && job.info != nullptr) job.info[b] = info;
}

/// The systems of this warp that `failed`, one after the other.
template <bool pivoting, int lanes, class T>
__device__ __forceinline__ void solve_failed(const SystemJob<T>& job, bool failed,
                                             const WarpMatrices& matrices) {
    unsigned left = __ballot_sync(full_warp, failed && threadIdx.x % lanes == 0);
    for (; left != 0; left &= left - 1) {
        const int m = (__ffs(int(left)) - 1) / lanes;
        solve_checked<pivoting>(job, matrices.member(m), matrices.n);
    }
}

}  // namespace

}  // namespace tessera::batched::cuda
