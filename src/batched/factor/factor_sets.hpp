#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "batched/factor/factor_job.hpp"
#include "batched/factor/pivot_record.hpp"
#include "simd/batch.hpp"

// How the CPU kernels of the factorisations walk over a batch, and what they tell of it.

namespace tessera::batched::cpu {

/// Matrices of equal size: where they are, and what a kernel writes of them. Addresses and
/// thresholds are repeated up to whole vectors of lanes.
template <class T>
struct FactorSet {
    Index n = 0;
    Index count = 0;
    Pivoting pivoting = Pivoting::fixed;
    const T* a[batch_set];
    T* f[batch_set];
    Offset a_leading_dimension = 0;
    Offset f_leading_dimension = 0;
    Index* rows[batch_set];  ///< n values each, identities at first.
    Index* columns[batch_set];
    T* scratch = nullptr;
    alignas(64) T tau[batch_set];  ///< 0 where there is no threshold.
    Index info[batch_set];
    Index perturbed[batch_set];
    T perturbation[batch_set];
    T smallest[batch_set];

    /// Notes what happened to member k; the factors of a failed one become NaN.
    void note(Index k, const PivotRecord<T>& record) {
        info[k] = record.info;
        perturbed[k] = record.perturbed;
        perturbation[k] = record.perturbation;
        smallest[k] = record.smallest;
        for (Index j = 0; record.failed && j < n; ++j) {
            std::fill_n(f[k] + j * f_leading_dimension, n, std::numeric_limits<T>::quiet_NaN());
        }
    }
};

/// Matrices of up to so many rows lie in the lanes of vectors, one in each, where their pivots are
/// static or, for ldu, partial.
inline constexpr Index lane_rows = 24;

/// The determinant and the inertia of a matrix from its pivots.
struct PivotSigns {
    Index positive = 0;
    Index negative = 0;
    Index zero = 0;
    double mantissa = 1;  ///< |det| = mantissa 2^exponent.
    std::int64_t exponent = 0;

    void scale(double factor) {
        int e = 0;
        mantissa = std::frexp(mantissa * std::abs(factor), &e);
        exponent += e;
    }
    template <class T>
    void count(T pivot) {
        if (pivot > 0) {
            ++positive;
        } else if (pivot < 0) {
            ++negative;
        } else {
            ++zero;
        }
    }
    double log_determinant() const { return std::log(mantissa) + double(exponent) * std::log(2.0); }
};

template <class T>
PivotSigns pivot_signs(Factorisation factorisation, Index n, const T* f, Offset ld) {
    PivotSigns signs;
    for (Index s = 0; s < n; ++s) {
        const double d = f[s + s * ld];
        const double coupling =
            factorisation == Factorisation::ldlt && s + 1 < n ? f[s + (s + 1) * ld] : T(0);
        if (!(std::abs(coupling) > 0)) {
            signs.count(d);
            signs.scale(d);
            if (factorisation == Factorisation::llt) signs.scale(d);
            continue;
        }
        ++s;
        ++signs.positive;
        ++signs.negative;
        signs.scale(coupling);
        signs.scale(d / coupling * (f[s + s * ld] / coupling) - 1);
        signs.scale(coupling);
    }
    return signs;
}

/// 1 or -1, the sign of the permutation p of n.
inline Index permutation_sign(Index n, const Index* p) {
    Index sign = 1;
    bool seen[largest_size] = {};
    for (Index s = 0; s < n; ++s) {
        if (seen[s]) continue;
        for (Index k = p[s]; k != s; k = p[k]) {
            seen[k] = true;
            sign = -sign;
        }
    }
    return sign;
}

/// Writes what is wanted of the matrices of one set.
template <class T>
void tell(Factorisation factorisation, const BatchSet& members, const FactorSet<T>& set,
          const FactorResults<T>& results) {
    const bool signs_wanted = results.inertia != nullptr || results.log_determinant != nullptr ||
                              results.determinant_sign != nullptr;
    for (Index k = 0; k < set.count; ++k) {
        const Index b = members.members[k];
        if (results.info != nullptr) results.info[b] = set.info[k];
        if (results.perturbed != nullptr) results.perturbed[b] = set.perturbed[k];
        if (results.perturbation != nullptr) results.perturbation[b] = set.perturbation[k];
        if (results.smallest_pivot != nullptr) results.smallest_pivot[b] = set.smallest[k];
        if (!signs_wanted) continue;
        const PivotSigns signs =
            pivot_signs(factorisation, set.n, set.f[k], set.f_leading_dimension);
        if (results.inertia != nullptr) {
            Index* const inertia = results.inertia + 3 * Offset(b);
            inertia[0] = signs.positive;
            inertia[1] = signs.negative;
            inertia[2] = signs.zero;
        }
        if (results.log_determinant != nullptr) {
            results.log_determinant[b] = T(signs.log_determinant());
        }
        if (results.determinant_sign != nullptr) {
            Index sign = signs.negative % 2 == 0 ? 1 : -1;
            if (factorisation == Factorisation::ldu) {
                sign *=
                    permutation_sign(set.n, set.rows[k]) * permutation_sign(set.n, set.columns[k]);
            }
            results.determinant_sign[b] = signs.zero > 0 ? 0 : sign;
        }
    }
}

/// max |a_ij| of a matrix, or of its lower triangle.
template <class T>
T largest_magnitude(Index n, const T* a, Offset ld, bool lower) {
    T largest = 0;
    for (Index j = 0; j < n; ++j) {
        for (Index i = lower ? j : 0; i < n; ++i) {
            largest = std::max(largest, std::abs(a[i + j * ld]));
        }
    }
    return largest;
}

/// The threshold of matrix b, 0 where there is none.
template <class T>
T threshold_of(const FactorJob<T>& job, Factorisation factorisation, Index b, Index n, const T* a,
               Offset ld) {
    const FactorOptions<T>& options = job.options;
    T tau = options.threshold;
    if (options.thresholds != nullptr) tau = options.thresholds[b * options.threshold_stride];
    if (!(tau > 0)) return T(0);
    if (options.relative) {
        tau *= largest_magnitude(n, a, ld, factorisation != Factorisation::ldu);
    }
    return tau;
}

/// The addresses of the permutations of a set; `own` has room for them where none are given.
inline void list_permutations(Index* given, const PermutationsView<Index>& view,
                              const BatchSet& set, std::vector<Index>& own, Index** starts) {
    for (Index k = 0; k < set.count; ++k) {
        const Index b = set.members[k];
        const Offset start = view.offsets != nullptr ? view.offsets[b] : Offset(b) * view.stride;
        starts[k] = given != nullptr ? given + start : own.data() + Offset(k) * set.n;
    }
}

/// Operations on values for a matrix of n rows: the elimination, and moving it.
inline double factor_work(Index n) { return double(n) * n * (n / 2 + 8) + 8; }

/// Scratch of one matrix of n rows, for every instruction set: padded columns, working columns, and
/// a vector for each column; or of a matrix in each lane, and three vectors for each row.
template <class T>
Offset factor_scratch_lines(Index n) {
    const Index lanes = Index(sizeof(CacheLine) / sizeof(T));
    const Offset column = (n + lanes - 1) / lanes;
    const Offset small = std::min(n, lane_rows);
    return std::max(column * Offset(n + 3) + n, small * (small + 3));
}

/// kernel(set) for all sets of matrices of one size; it writes the factors, the permutations and
/// the arrays of the set.
template <class T, class Kernel>
void factor_batch(const Context& context, const FactorJob<T>& job, Factorisation factorisation,
                  Kernel&& kernel) {
    const Index largest = job.largest();
    const Offset own_rows = job.permutations.rows != nullptr ? 0 : Offset(batch_set) * largest;
    const Offset own_columns =
        job.permutations.columns != nullptr ? 0 : Offset(batch_set) * largest;
    for_batch_parts(context, job.a, job.plan, factor_work, [&](auto&& for_sets) {
        std::vector<CacheLine> scratch(std::size_t(factor_scratch_lines<T>(largest)));
        std::vector<Index> rows_here(static_cast<std::size_t>(own_rows));
        std::vector<Index> columns_here(static_cast<std::size_t>(own_columns));
        FactorSet<T> set;
        for_sets([&](const BatchSet& members) {
            set.n = members.n;
            set.count = members.count;
            set.pivoting = job.pivoting;
            set.a_leading_dimension = job.a.sizes != nullptr ? set.n : job.a.leading_dimension;
            set.f_leading_dimension = job.f.sizes != nullptr ? set.n : job.f.leading_dimension;
            set.scratch = reinterpret_cast<T*>(scratch.data());
            list_starts(job.a, members, set.a);
            list_starts(job.f, members, set.f);
            const auto& p = job.permutations;
            list_permutations(p.rows, p, members, rows_here, set.rows);
            list_permutations(p.columns, p, members, columns_here, set.columns);
            for (Index k = 0; k < set.count; ++k) {
                std::iota(set.rows[k], set.rows[k] + set.n, 0);
                std::iota(set.columns[k], set.columns[k] + set.n, 0);
                set.tau[k] = threshold_of(job, factorisation, members.members[k], set.n, set.a[k],
                                          set.a_leading_dimension);
            }
            for (Index k = set.count; k % batch_lanes != 0; ++k) {
                set.tau[k] = set.tau[set.count - 1];
            }
            if (set.n > 0) {
                kernel(set);
            } else {
                for (Index k = 0; k < set.count; ++k) set.note(k, {});
            }
            tell(factorisation, members, set, job.results);
        });
    });
}

}  // namespace tessera::batched::cpu
