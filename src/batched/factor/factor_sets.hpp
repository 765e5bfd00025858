#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "base/pivot_pair.hpp"
#include "batched/factor/kernels.hpp"
#include "simd/batch.hpp"

// Pivots, outputs and batch loop of the factorisations on the CPU.

namespace tessera::batched {

/// Outputs that cannot be computed from the factors of a matrix.
template <class T>
struct PivotRecord {
    Index info = 0;
    Index perturbed = 0;
    T perturbation = 0;
    T smallest = std::numeric_limits<T>::infinity();
    bool failed = false;  ///< A pivot is not finite.

    void add_perturbation(T by) {
        ++perturbed;
        perturbation = std::max(perturbation, by);
    }
    void fail(Index position) {
        if (info == 0) info = position + 1;
        perturbed = 0;
        perturbation = std::numeric_limits<T>::infinity();
        smallest = 0;
        failed = true;
    }
};

/// The pivot d after the threshold tau; 0 if its reciprocal is not finite or, if `positive`, if it
/// is not positive.
template <class T>
T pivot_after_threshold(T d, T tau, Index position, PivotRecord<T>& record, bool positive = false) {
    const T size = positive ? d : std::abs(d);
    if (size < record.smallest) record.smallest = size;
    if (tau > 0 && std::isfinite(d) && size < tau) {
        const T used = positive || d == 0 ? tau : std::copysign(tau, d);
        record.add_perturbation(std::abs(used - d));
        d = used;
    }
    if (!std::isfinite(d)) {
        record.fail(position);
        return d;
    }
    if (!std::isfinite(T(1) / d) || (positive && d <= 0)) {
        if (record.info == 0) record.info = position + 1;
        return T(0);
    }
    return d;
}

/// The 2 x 2 pivot in positions `position` and `position` + 1 after the threshold tau.
template <class T>
PivotPair<T> pivot_after_threshold(const PivotPair<T>& e, T tau, Index position,
                                   PivotRecord<T>& record) {
    const PivotEigen<T> v = eigenpairs(e);
    const T small = std::min(std::abs(v.first), std::abs(v.second));
    if (small < record.smallest) record.smallest = small;
    PivotPair<T> used = e;
    if (small < tau) {
        T eigenvalues[2] = {v.first, v.second};
        for (T& eigenvalue : eigenvalues) {
            if (!(std::abs(eigenvalue) < tau)) continue;
            const T raised = std::copysign(tau, eigenvalue);
            record.add_perturbation(std::abs(raised - eigenvalue));
            eigenvalue = raised;
        }
        used = with_eigenvalues(e, v, eigenvalues[0], eigenvalues[1]);
    }
    const PivotPair<T> inverted = inverse(used);
    if (!std::isfinite(used.e11 + used.e21 + used.e22) ||
        !std::isfinite(inverted.e11 + inverted.e21 + inverted.e22)) {
        record.fail(position);
    }
    return used;
}

namespace cpu {

/// Matrices of equal size; addresses and thresholds are repeated up to whole SIMD vectors.
template <class T>
struct FactorSet {
    Index n = 0;
    Index count = 0;
    Pivoting pivoting = Pivoting::fixed;
    const T* a[max_set_size];
    T* f[max_set_size];
    Offset a_leading_dimension = 0;
    Offset f_leading_dimension = 0;
    Index* rows[max_set_size];  ///< Permutations, initially the identity.
    Index* columns[max_set_size];
    T* scratch = nullptr;
    alignas(64) T tau[max_set_size];  ///< 0: no threshold.
    PivotRecord<T> records[max_set_size];

    /// Stores the record of matrix k; the factors of a failed one become NaN.
    void record(Index k, const PivotRecord<T>& record) {
        records[k] = record;
        for (Index j = 0; record.failed && j < n; ++j) {
            std::fill_n(f[k] + j * f_leading_dimension, n, std::numeric_limits<T>::quiet_NaN());
        }
    }
};

/// Up to this size matrices are interleaved, one per SIMD lane, with static and (ldu) partial
/// pivoting.
inline constexpr Index max_interleaved_rows = 24;

/// The determinant and the inertia of a matrix, from its pivots.
struct InertiaAndDeterminant {
    Index inertia[3] = {};  ///< Positive, negative, zero.
    double mantissa = 1;    ///< |det| = mantissa 2^exponent.
    std::int64_t exponent = 0;

    void scale(double factor) {
        int e = 0;
        mantissa = std::frexp(mantissa * std::abs(factor), &e);
        exponent += e;
    }
    double log_determinant() const { return std::log(mantissa) + double(exponent) * std::log(2.0); }
};

template <class T>
InertiaAndDeterminant inertia_and_determinant(Factorisation factorisation, Index n, const T* f,
                                              Offset ld) {
    InertiaAndDeterminant result;
    for (Index s = 0; s < n; ++s) {
        const double d = f[s + s * ld];
        const double e21 =
            factorisation == Factorisation::ldlt && s + 1 < n ? f[s + (s + 1) * ld] : T(0);
        if (!(std::abs(e21) > 0)) {
            ++result.inertia[d > 0 ? 0 : d < 0 ? 1 : 2];
            result.scale(d);
            if (factorisation == Factorisation::llt) result.scale(d);
            continue;
        }
        ++s;
        ++result.inertia[0];
        ++result.inertia[1];
        result.scale(e21);
        result.scale(d / e21 * (f[s + s * ld] / e21) - 1);
        result.scale(e21);
    }
    return result;
}

/// Whether the permutation p of n is odd.
inline bool is_odd(Index n, const Index* p) {
    bool odd = false;
    bool seen[largest_size] = {};
    for (Index s = 0; s < n; ++s) {
        if (seen[s]) continue;
        for (Index k = p[s]; k != s; k = p[k]) {
            seen[k] = true;
            odd = !odd;
        }
    }
    return odd;
}

/// Writes the requested outputs of a set.
template <class T>
void write_results(const FactorJob<T>& job, const BatchSet& matrices, const FactorSet<T>& set) {
    const FactorResults<T>& to = job.results;
    const auto write = [](auto* array, Index b, auto value) {
        if (array != nullptr) array[b] = value;
    };
    for (Index k = 0; k < set.count; ++k) {
        const Index b = matrices.members[k];
        const PivotRecord<T>& record = set.records[k];
        write(to.info, b, record.info);
        write(to.perturbed, b, record.perturbed);
        write(to.perturbation, b, record.perturbation);
        write(to.smallest_pivot, b, record.smallest);
        if (!to.inertia && !to.log_determinant && !to.determinant_sign) continue;
        const InertiaAndDeterminant pivots =
            inertia_and_determinant(job.factorisation, set.n, set.f[k], set.f_leading_dimension);
        if (to.inertia) std::copy_n(pivots.inertia, 3, to.inertia + 3 * Offset(b));
        write(to.log_determinant, b, T(pivots.log_determinant()));
        if (to.determinant_sign == nullptr) continue;
        bool negative = pivots.inertia[1] % 2 != 0;
        if (job.factorisation == Factorisation::ldu) {
            negative ^= is_odd(set.n, set.rows[k]) != is_odd(set.n, set.columns[k]);
        }
        to.determinant_sign[b] = pivots.inertia[2] > 0 ? 0 : negative ? -1 : 1;
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

/// Cost of a matrix of n rows in operations on values: elimination and copies.
inline double factor_work(Index n) { return double(n) * n * (n / 2 + 8) + 8; }

/// Scratch memory for n rows, enough for every instruction set: a matrix with padded columns,
/// working columns and one vector per column; or interleaved matrices and three vectors per row.
template <class T>
Offset factor_scratch_lines(Index n) {
    const Index lanes = Index(sizeof(CacheLine) / sizeof(T));
    const Offset column = (n + lanes - 1) / lanes;
    const Offset interleaved = std::min(n, max_interleaved_rows);
    return std::max(column * Offset(n + 3) + n, interleaved * (interleaved + 3));
}

/// kernel(set) for all sets of matrices of equal size; it writes the factors, permutations and
/// records of the set.
template <class T, class Kernel>
void factor_batch(const Context& context, const FactorJob<T>& job, Kernel&& kernel) {
    const Index largest = job.plan != nullptr ? job.plan->largest() : job.a.size;
    const bool lower = job.factorisation != Factorisation::ldu;
    for_batch_parts(context, job.a, job.plan, factor_work, [&](auto&& for_sets) {
        std::vector<CacheLine> scratch(std::size_t(factor_scratch_lines<T>(largest)));
        std::vector<Index> own(2 * std::size_t(max_set_size) * std::size_t(largest));
        FactorSet<T> set;
        for_sets([&](const BatchSet& matrices) {
            set.n = matrices.n;
            set.count = matrices.count;
            set.pivoting = job.pivoting;
            set.a_leading_dimension = job.a.sizes != nullptr ? set.n : job.a.leading_dimension;
            set.f_leading_dimension = job.f.sizes != nullptr ? set.n : job.f.leading_dimension;
            set.scratch = reinterpret_cast<T*>(scratch.data());
            gather_addresses(job.a, matrices, set.a);
            gather_addresses(job.f, matrices, set.f);
            Index* next_own = own.data();  // For permutations that are not requested.
            for (Index k = 0; k < set.count; ++k) {
                const Index b = matrices.members[k];
                const auto identity = [&](Index* given) {
                    Index* const p = given != nullptr ? given + job.permutations.start(b)
                                                      : std::exchange(next_own, next_own + set.n);
                    std::iota(p, p + set.n, 0);
                    return p;
                };
                set.rows[k] = identity(job.permutations.rows);
                set.columns[k] = identity(job.permutations.columns);
                set.tau[k] = threshold_of<T>(
                    job.options, b,
                    job.options.relative
                        ? largest_magnitude(set.n, set.a[k], set.a_leading_dimension, lower)
                        : T(1));
            }
            for (Index k = set.count; k % lane_alignment != 0; ++k) set.tau[k] = set.tau[k - 1];
            if (set.n > 0) {
                kernel(set);
            } else {
                for (Index k = 0; k < set.count; ++k) set.record(k, {});
            }
            write_results(job, matrices, set);
        });
    });
}

}  // namespace cpu

}  // namespace tessera::batched
