#include "batched/factor_lane_entries.hpp"
#include "batched/factor_lanes.cuh"

namespace tessera::batched::cuda {

namespace {

/// A = L L^T with static pivoting of an n x n matrix by one thread.
struct LltOfLane {
    /// False where a pivot is not well inside the range; `a` then means nothing.
    template <int n, class T>
    static __device__ __forceinline__ bool of_lane(T (&a)[n * n], int (&row)[n], T tau) {
        bool plain = true;
#pragma unroll
        for (int k = 0; k < n; ++k) {
            row[k] = k;
            const T raw = a[k + n * k];
            const T d = raw < tau ? tau : raw;
            plain =
                plain && d > T(0) && (high_word(d) & 0x7fffffffu) - plain_low<T> < plain_span<T>;
            const PlainDivisor<T> divisor(sqrt(d), plain);
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
        return plain;
    }
    /// Whatever the pivots, in shared memory; returns info.
    template <int n, class T>
    static __device__ __noinline__ int of_lane_carefully(T* a, int* row, T tau) {
        int info = 0;
        bool failed = false;
        for (int k = 0; k < n; ++k) {
            row[k] = k;
            const T raw = a[k + n * k];
            T d = raw < tau ? tau : raw;
            if (isfinite(d) && (!(d > T(0)) || !isfinite(T(1) / d))) d = T(0);
            const Divisor<T> divisor(sqrt(d));
            a[k + n * k] = divisor.d;
            if (info == 0 && (d == T(0) || !isfinite(divisor.d))) info = k + 1;
            failed = failed || !isfinite(divisor.d);
            for (int i = k + 1; i < n; ++i) a[i + n * k] = divisor.quotient(a[i + n * k]);
            for (int j = k + 1; j < n; ++j) {
                for (int i = j; i < n; ++i) {
                    a[i + n * j] = fma(-a[i + n * k], a[j + n * k], a[i + n * j]);
                }
                a[k + n * j] = T(0);
            }
        }
        for (int e = 0; e < n * n && failed; ++e) a[e] = std::numeric_limits<T>::quiet_NaN();
        return info;
    }
};

}  // namespace

template <class T>
bool llt_by_lanes(const Context& context, const FactorJob<T>& job) {
    if (!is_lane_run(job)) return false;
    factorise_by_lanes<LltOfLane>(context, job);
    return true;
}

template bool llt_by_lanes<float>(const Context&, const FactorJob<float>&);
template bool llt_by_lanes<double>(const Context&, const FactorJob<double>&);

}  // namespace tessera::batched::cuda
