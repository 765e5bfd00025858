#include "batched/factor_lane_entries.hpp"
#include "batched/factor_lanes.cuh"

namespace tessera::batched::cuda {

namespace {

/// A(p) = L D U with static or partial pivoting of an n x n matrix by one thread. Rows are
/// exchanged.
template <Pivoting pivoting>
struct LduOfLane {
    /// False where a pivot is not well inside the range; `a` then means nothing.
    template <int n, class T>
    static __device__ __forceinline__ bool of_lane(T (&a)[n * n], int (&row)[n], T tau) {
        bool plain = true;
#pragma unroll
        for (int i = 0; i < n; ++i) row[i] = i;
#pragma unroll
        for (int k = 0; k < n; ++k) {
            if constexpr (pivoting == Pivoting::partial) {
                T most = fabs(a[k + n * k]);
                int chosen = row[k];
#pragma unroll
                for (int i = k + 1; i < n; ++i) {
                    const T size = fabs(a[i + n * k]);
                    const bool better = size > most || (size == most && row[i] < chosen);
                    most = better ? size : most;
                    chosen = better ? row[i] : chosen;
                }
                exchange<n>(a, row, k, chosen);
            }
            const PlainDivisor<T> divisor(raised(a[k + n * k], tau), plain);
            a[k + n * k] = divisor.d;
#pragma unroll
            for (int i = k + 1; i < n; ++i) {
                const T l = divisor.quotient(a[i + n * k]);
                a[i + n * k] = l;
#pragma unroll
                for (int j = k + 1; j < n; ++j) {
                    a[i + n * j] = fma(-l, a[k + n * j], a[i + n * j]);
                }
            }
#pragma unroll
            for (int j = k + 1; j < n; ++j) a[k + n * j] = divisor.quotient(a[k + n * j]);
        }
        return plain;
    }
    /// Whatever the pivots, in shared memory; returns info.
    template <int n, class T>
    static __device__ __noinline__ int of_lane_carefully(T* a, int* row, T tau) {
        int info = 0;
        bool failed = false;
        for (int i = 0; i < n; ++i) row[i] = i;
        for (int k = 0; k < n; ++k) {
            int r = k;
            for (int i = k + 1; pivoting == Pivoting::partial && i < n; ++i) {
                const T size = size_of(a[i + n * k]);
                const T most = size_of(a[r + n * k]);
                if (size > most || (size == most && row[i] < row[r])) r = i;
            }
            for (int j = 0; j < n; ++j) swap(a[k + n * j], a[r + n * j]);
            swap(row[k], row[r]);
            const Divisor<T> divisor(raised(a[k + n * k], tau));
            a[k + n * k] = divisor.d;
            if (info == 0 && (divisor.d == T(0) || !isfinite(divisor.d))) info = k + 1;
            failed = failed || !isfinite(divisor.d);
            for (int i = k + 1; i < n; ++i) {
                const T l = divisor.quotient(a[i + n * k]);
                a[i + n * k] = l;
                for (int j = k + 1; j < n; ++j) {
                    a[i + n * j] = fma(-l, a[k + n * j], a[i + n * j]);
                }
            }
            for (int j = k + 1; j < n; ++j) a[k + n * j] = divisor.quotient(a[k + n * j]);
        }
        for (int e = 0; e < n * n && failed; ++e) a[e] = std::numeric_limits<T>::quiet_NaN();
        return info;
    }

  private:
    template <class U>
    static __device__ __forceinline__ void swap(U& x, U& y) {
        const U given = x;
        x = y;
        y = given;
    }
    template <int n, class T>
    static __device__ __forceinline__ void exchange(T (&a)[n * n], int (&row)[n], int k,
                                                    int chosen) {
        const int given = row[k];
        bool is_chosen[n];
#pragma unroll
        for (int i = k + 1; i < n; ++i) {
            is_chosen[i] = row[i] == chosen;
            row[i] = is_chosen[i] ? given : row[i];
        }
        row[k] = chosen;
#pragma unroll
        for (int j = 0; j < n; ++j) {
            const T own = a[k + n * j];
            T found = own;
#pragma unroll
            for (int i = k + 1; i < n; ++i) {
                found = is_chosen[i] ? a[i + n * j] : found;
                a[i + n * j] = is_chosen[i] ? own : a[i + n * j];
            }
            a[k + n * j] = found;
        }
    }
};

}  // namespace

template <Pivoting pivoting, class T>
bool ldu_by_lanes(const Context& context, const FactorJob<T>& job) {
    if (!is_lane_run(job)) return false;
    factorise_by_lanes<LduOfLane<pivoting>>(context, job);
    return true;
}

template bool ldu_by_lanes<Pivoting::fixed>(const Context&, const FactorJob<float>&);
template bool ldu_by_lanes<Pivoting::fixed>(const Context&, const FactorJob<double>&);
template bool ldu_by_lanes<Pivoting::partial>(const Context&, const FactorJob<float>&);
template bool ldu_by_lanes<Pivoting::partial>(const Context&, const FactorJob<double>&);

}  // namespace tessera::batched::cuda
