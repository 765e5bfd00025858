#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "tessera/types.hpp"

// Inversion by Gauss-Jordan elimination in plain loops, for float, double and long double. Blocks
// are column-major: element (i, j) of an n x n block is a[i + j * n].
// Source: Anzt, Dongarra, Flegar, Quintana-Orti, Variable-size batched Gauss-Jordan elimination for
// block-Jacobi preconditioning on graphics processors, Parallel Computing 81 (2019), Fig. 2.
//
// It returns 0, or k where the k-th pivot (1-based), or its reciprocal, is zero or not finite, or
// n where only an entry of the inverse is not finite; the block is then left undefined. A pivot is
// the first of the largest magnitudes among the remaining rows; NaN is chosen only if all others
// are zeros, and then ends the elimination.
//
// Pivoting among rows bounds the left residual: ||X A - I|| / (n eps ||A|| ||X||) stays below
// max(1, pivot growth); the right one, ||A X - I||, can be far larger.

namespace tessera::reference {

template <class T>
bool usable_pivot(T pivot) {
    return std::isfinite(pivot) && std::isfinite(T(1) / pivot);
}

template <class T>
bool all_finite(Offset count, const T* values) {
    return std::all_of(values, values + count, [](T value) { return std::isfinite(value); });
}

/// Overwrites `a` with its inverse. Rows stay where they are; p[i] is the step in which row i was
/// the pivot row. `pivot_growth`, if not null, receives max(1, max |u_kj| / max |a_ij|), u_kj the
/// pivot rows right of their pivots when they are chosen (the factor U of Gaussian elimination).
template <class T>
Index gauss_jordan_implicit(Index n, T* a, double* pivot_growth = nullptr) {
    const auto at = [&](Index i, Index j) -> T& { return a[i + j * n]; };
    T largest_given = 0;
    T largest_met = 0;
    for (Index e = 0; e < n * n; ++e) largest_given = std::max(largest_given, std::abs(a[e]));
    std::vector<Index> p(static_cast<std::size_t>(n), -1);
    for (Index k = 0; k < n; ++k) {
        Index pivot_row = -1;
        T largest = 0;
        for (Index i = 0; i < n; ++i) {
            if (p[std::size_t(i)] < 0 && std::abs(at(i, k)) > largest) {
                largest = std::abs(at(i, k));
                pivot_row = i;
            }
        }
        if (pivot_row < 0 || !usable_pivot(at(pivot_row, k))) return k + 1;
        p[std::size_t(pivot_row)] = k;

        const T d = at(pivot_row, k);
        for (Index i = 0; i < n; ++i) at(i, k) = i == pivot_row ? T(0) : -at(i, k) / d;
        for (Index j = 0; j < n; ++j) {
            if (j == k) continue;
            for (Index i = 0; i < n; ++i) at(i, j) += at(i, k) * at(pivot_row, j);
        }
        for (Index j = k + 1; j < n; ++j) {
            largest_met = std::max(largest_met, std::abs(at(pivot_row, j)));
        }
        for (Index j = 0; j < n; ++j) at(pivot_row, j) = (j == k ? T(1) : at(pivot_row, j)) / d;
    }
    largest_met = std::max(largest_met, largest_given);
    if (pivot_growth != nullptr) *pivot_growth = n > 0 ? double(largest_met / largest_given) : 1;
    if (!all_finite(Offset(n) * n, a)) return n;
    const std::vector<T> d(a, a + Offset(n) * n);
    std::vector<Index> row_of_step(static_cast<std::size_t>(n));
    for (Index i = 0; i < n; ++i) row_of_step[std::size_t(p[std::size_t(i)])] = i;
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < n; ++i) {
            // X(p, :) = D(:, p)
            at(p[std::size_t(i)], j) = d[std::size_t(i + p[std::size_t(j)] * n)];
        }
    }
    return 0;
}

}  // namespace tessera::reference
