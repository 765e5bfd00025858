#pragma once

#include <limits>

#include "base/pivot_pair.hpp"
#include "gpu/tiles/elimination/gauss_jordan.cuh"
#include "gpu/tiles/factor/team_memory.cuh"
#include "tessera/factor.hpp"

/// Pivots of a factorisation by a team of threads: their order, thresholds, divisions by them, and
/// the outputs computed from them.
namespace tessera::cuda {

using batched::Factorisation;
using batched::FactorResults;
using batched::PivotEigen;
using batched::Pivoting;
using batched::PivotPair;

namespace {

/// The position of this thread's row (or column) in the pivot order, and the row of each position
/// in shared memory.
struct PivotOrder {
    int position;
    int* list;

    __device__ __forceinline__ PivotOrder(int lane, int* list_) : position(lane), list(list_) {
        list[lane] = lane;
    }
    /// Exchanges row r with the row in position s.
    template <class Team>
    __device__ __forceinline__ void exchange(const Team& team, int s, int r) {
        const int other = team.from(position, r);
        const int lane = team.lane();
        if (lane == r || position == s) {
            position = lane == r ? s : other;
            list[position] = lane;
        }
    }
};

/// The largest number whose reciprocal overflows.
template <class T>
constexpr T largest_without_reciprocal = sizeof(T) == 8 ? T(0x1p-1024) : T(0x1p-128);

/// Whether fast_reciprocal(d) is valid: d and 1 / d are far from overflow and underflow.
template <class T>
__device__ __forceinline__ bool has_fast_reciprocal(T d) {
    return (high_word(d) & 0x7fffffffu) - fast_range_low<T> < fast_range_span<T>;
}

/// A pivot after the threshold as a divisor, replaced by 0 where its reciprocal is not finite.
template <class T>
struct Divisor {
    T d;
    T reciprocal;
    bool in_range;

    __device__ __forceinline__ explicit Divisor(T given) : d(given) {
        in_range = has_fast_reciprocal(d);
        reciprocal = fast_reciprocal(d);
        if (!in_range) {
            reciprocal = T(1) / d;
            if (isfinite(d) && !isfinite(reciprocal)) d = reciprocal = T(0);
        }
    }
    /// a / d, correctly rounded; 0 for d = 0 and finite a.
    __device__ __forceinline__ T quotient(T a) const {
        return in_range ? fast_quotient(a) : ieee_quotient(a);
    }
    __device__ __forceinline__ T fast_quotient(T a) const {
        return -minus_quotient(a, d, -reciprocal);
    }
    __device__ __forceinline__ T ieee_quotient(T a) const { return d == T(0) ? a * T(0) : a / d; }
};

/// A Divisor without a slow path: clears `in_range` where it would be needed.
template <class T>
struct FastDivisor {
    T d;
    T reciprocal;

    __device__ __forceinline__ FastDivisor(T given, bool& in_range)
        : d(given), reciprocal(fast_reciprocal(given)) {
        in_range = in_range && has_fast_reciprocal(d);
    }
    __device__ __forceinline__ T quotient(T a) const {
        const T rough = a * reciprocal;  // Approximation of a / d; see minus_quotient.
        return fma(fma(-rough, d, a), reciprocal, rough);
    }
};

/// The pivot after the threshold tau.
template <class T>
__device__ __forceinline__ T with_threshold(T d, T tau) {
    return fabs(d) < tau ? copysign(tau, d == T(0) ? T(1) : d) : d;
}

/// The 2 x 2 pivot with its eigenvalues after the threshold tau.
template <class T>
__device__ __forceinline__ PivotPair<T> with_threshold(const PivotPair<T>& e, T tau) {
    if (!(tau > T(0))) return e;
    // The smaller eigenvalue is |e11 e22 - e21^2| over the larger: at least e21^2 / (2 |E|).
    const T norm = fmax(fabs(e.e11), fabs(e.e22)) + fabs(e.e21);
    if (e.e21 * e.e21 > T(4) * tau * norm) return e;
    const PivotEigen<T> v = eigenpairs(e);
    if (!(fmin(fabs(v.first), fabs(v.second)) < tau)) return e;
    return with_eigenvalues(e, v, with_threshold(v.first, tau), with_threshold(v.second, tau));
}

/// Whether a permutation is odd.
template <class Team>
__device__ __forceinline__ bool is_odd(const Team& team, const int* list, int n) {
    int inversions = 0;
    const int lane = team.lane();
    for (int s = 0; s < lane && lane < n; ++s) inversions += int(list[s] > list[lane]);
    return team.sum(inversions) % 2 != 0;
}

/// An eigenvalue of D before (raw) and after the threshold.
template <class T>
struct PivotValue {
    T raw;
    T used;
    bool finite;
};

/// The pivot in position s, from the memory of the team.
template <Factorisation kind, class T>
__device__ __forceinline__ PivotValue<T> pivot_value(const TeamMemory<T>& memory, int s, int n,
                                                     T tau) {
    if (s >= n) return {T(1), T(1), true};
    const int row = memory.rows[s];
    if constexpr (kind == Factorisation::ldu) {
        const T d = memory.at(row, memory.columns[s]);
        return {memory.raw[s], d, bool(isfinite(d))};
    } else if constexpr (kind == Factorisation::llt) {
        const T root = memory.at(row, row);
        const T raw = memory.raw[s];
        return {raw, root == T(0) ? T(0) : raw < tau ? tau : raw, bool(isfinite(root))};
    } else {
        const bool second = s > 0 && memory.raw_e21[s - 1] != T(0);
        const int first = second ? s - 1 : s;
        const T e21 = memory.raw_e21[first];
        if (e21 == T(0)) {
            const T d = memory.at(row, row);
            return {memory.raw[s], d, bool(isfinite(d))};
        }
        const PivotPair<T> given{memory.raw[first], e21, memory.raw[first + 1]};
        const PivotEigen<T> v = eigenpairs(given);
        const T raw = second ? v.second : v.first;
        const int p = memory.rows[first];
        const int q = memory.rows[first + 1];
        const PivotPair<T> e{memory.at(p, p), memory.at(p, q), memory.at(q, q)};
        const PivotPair<T> inverted = inverse(e);
        const T all = e.e11 + e.e21 + e.e22 + (inverted.e11 + inverted.e21 + inverted.e22);
        return {raw, with_threshold(raw, tau), bool(isfinite(all))};
    }
}

/// log x, not inlined.
__device__ __noinline__ double rare_logarithm(double x) { return log(x); }

/// The outputs of a factorisation that are computed from its pivots.
template <class T>
struct PivotTotals {
    int info = 0;
    int perturbed = 0;
    T perturbation = T(0);
    T smallest = std::numeric_limits<T>::infinity();
    int negative = 0;
    int zeros = 0;
    double logarithm = 0;
    bool failed = false;  ///< A pivot is not finite.

    /// Adds the pivot in position s, or an eigenvalue of a 2 x 2 pivot, before (raw) and after the
    /// threshold tau.
    __device__ __forceinline__ void add(int s, T raw, T used, T tau) {
        const T size = fabs(raw);
        if (info == 0 && used == T(0)) info = s + 1;
        perturbed += int(size < tau);
        const T change = size < tau ? fabs(used - raw) : T(0);
        perturbation = change > perturbation ? change : perturbation;
        smallest = size < smallest ? size : smallest;
        negative += int(used < T(0));
        zeros += int(used == T(0));
        logarithm += rare_logarithm(fabs(double(used)));
    }
    /// The pivot in position s is not finite.
    __device__ __forceinline__ void fail(int s) {
        failed = true;
        if (info == 0) info = s + 1;
    }
    /// Writes the requested outputs of matrix b of n rows; odd: its permutations change the sign of
    /// the determinant.
    __device__ __forceinline__ void write(const FactorResults<T>& results, Offset b, int n,
                                          bool odd = false) const {
        if (results.info != nullptr) results.info[b] = info;
        if (results.perturbed != nullptr) results.perturbed[b] = failed ? 0 : perturbed;
        if (results.perturbation != nullptr) {
            results.perturbation[b] = failed ? std::numeric_limits<T>::infinity() : perturbation;
        }
        if (results.smallest_pivot != nullptr) results.smallest_pivot[b] = failed ? T(0) : smallest;
        if (results.inertia != nullptr) {
            Index* const inertia = results.inertia + 3 * b;
            inertia[0] = failed ? 0 : n - negative - zeros;
            inertia[1] = failed ? 0 : negative;
            inertia[2] = failed ? n : zeros;
        }
        if (results.log_determinant != nullptr) {
            results.log_determinant[b] =
                failed ? std::numeric_limits<T>::quiet_NaN() : T(logarithm);
        }
        if (results.determinant_sign != nullptr) {
            const int sign = (negative % 2 != 0) != odd ? -1 : 1;
            results.determinant_sign[b] = failed || zeros > 0 ? 0 : sign;
        }
    }
};

/// Writes the requested outputs of a matrix; more_than_info: outputs other than info are requested.
/// Returns whether a pivot is not finite.
template <Factorisation kind, class T, class Team>
__device__ __forceinline__ bool write_results(const Team& team, const TeamMemory<T>& memory,
                                              const FactorResults<T>& results, bool more_than_info,
                                              Offset b, bool active, int n, T tau) {
    const int s = team.lane();
    const PivotValue<T> pivot = pivot_value<kind>(memory, s, n, tau);
    const int fails = team.first(!pivot.finite);
    PivotTotals<T> totals;
    totals.failed = fails < Team::threads;
    const bool inside = s < n;
    const bool zero = inside && pivot.used == T(0);
    if (results.info != nullptr) {
        const int bad = team.first(zero || !pivot.finite);
        totals.info = bad < Team::threads ? bad + 1 : 0;
        if (!more_than_info && s == 0 && active) results.info[b] = totals.info;
    }
    if (!more_than_info) return totals.failed;
    const T size = kind == Factorisation::llt ? pivot.raw : fabs(pivot.raw);
    const bool changed = inside && size < tau;
    totals.perturbed = team.count(changed);
    const T to = kind == Factorisation::llt ? tau : with_threshold(pivot.raw, tau);
    totals.perturbation = team.max(changed ? fabs(to - pivot.raw) : T(0));
    totals.smallest = -team.max(inside ? -size : -std::numeric_limits<T>::infinity());
    totals.negative = team.count(inside && pivot.used < T(0));
    totals.zeros = team.count(zero);
    if (results.log_determinant != nullptr) {
        totals.logarithm = team.sum(inside ? log(fabs(double(pivot.used))) : 0.0);
    }
    bool odd = false;
    if (kind == Factorisation::ldu && results.determinant_sign != nullptr) {
        odd = is_odd(team, memory.rows, n) != is_odd(team, memory.columns, n);
    }
    if (s == 0 && active) totals.write(results, b, n, odd);
    return totals.failed;
}

/// Whether outputs other than info are requested.
template <class T>
bool wants_more_than_info(const FactorResults<T>& results) {
    return results.perturbed != nullptr || results.perturbation != nullptr ||
           results.smallest_pivot != nullptr || results.inertia != nullptr ||
           results.log_determinant != nullptr || results.determinant_sign != nullptr;
}

}  // namespace

}  // namespace tessera::cuda
