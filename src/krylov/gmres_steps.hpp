#pragma once

#include "krylov/recurrence.hpp"

namespace tessera {

template <class T>
struct GmresState {
    Recurrence<T> recurrence;
    T rr;         ///< r^T r
    T ww;         ///< w^T w of the new basis vector before it is normalised.
    T scale;      ///< What makes the newest basis vector a unit vector.
    T length;     ///< 1 when a correction was formed, else 0.
    int columns;  ///< Basis vectors that the least-squares problem holds.
};

/// The small arrays of GMRES in the memory of a Context, for a restart length m.
template <class T>
struct GmresArrays {
    GmresState<T>* state;
    T* triangle;  ///< m x m, column-major: R of the QR factorisation of the Hessenberg matrix.
    T* cosines;   ///< m Givens rotations.
    T* sines;
    T* right;         ///< m + 1: the rotated right-hand side.
    T* sums;          ///< m: what `dots` left.
    T* column;        ///< m: the new column of the Hessenberg matrix.
    T* coefficients;  ///< m
    int restart;
};

/// Begins a cycle at the residual whose square norm is rr.
template <class T>
struct GmresBegin {
    GmresArrays<T> arrays;
    TESSERA_HOST_DEVICE void operator()() const {
        GmresState<T>& s = *arrays.state;
        const T norm = std::sqrt(s.rr);
        s.recurrence.observe(norm);
        s.columns = 0;
        s.scale = norm > 0 ? T(1) / norm : T(0);
        arrays.right[0] = norm;
    }
};

/// After one pass of classical Gram-Schmidt over count vectors: adds it up in the column (the first
/// pass sets it), and the coefficients that take it away from w.
template <class T>
struct GmresProject {
    GmresArrays<T> arrays;
    int count;
    bool first;
    TESSERA_HOST_DEVICE void operator()() const {
        if (first) arrays.state->recurrence.begin();
        for (int i = 0; i < count; ++i) {
            arrays.column[i] = first ? arrays.sums[i] : arrays.column[i] + arrays.sums[i];
            arrays.coefficients[i] = -arrays.sums[i];
        }
    }
};

/// Rotates column j into the triangle; the residual norm is the last entry of the rotated
/// right-hand side. What is left of w after two passes is rounding when it is below
/// (j + 1) eps ||A z||: then the Krylov space is invariant and the solution lies in it, unless the
/// projected matrix is singular.
template <class T>
struct GmresRotate {
    GmresArrays<T> arrays;
    int j;
    TESSERA_HOST_DEVICE void operator()() const {
        GmresState<T>& s = *arrays.state;
        T* column = arrays.column;
        T square = s.ww;
        for (int i = 0; i <= j; ++i) square += column[i] * column[i];
        const T rounding = T(j + 1) * std::numeric_limits<T>::epsilon() * std::sqrt(square);
        const T norm = std::sqrt(s.ww);
        const T below = norm <= rounding ? T(0) : norm;
        s.scale = below > 0 ? T(1) / below : T(0);
        if (s.recurrence.running()) rotate(s, column, square, below, rounding);
        s.recurrence.count();
    }

  private:
    TESSERA_HOST_DEVICE void rotate(GmresState<T>& s, T* column, T square, T below,
                                    T rounding) const {
        if (!std::isfinite(square)) return s.recurrence.stop(Outcome::non_finite);
        for (int i = 0; i < j; ++i) {
            const T upper = column[i];
            column[i] = arrays.cosines[i] * upper + arrays.sines[i] * column[i + 1];
            column[i + 1] = arrays.cosines[i] * column[i + 1] - arrays.sines[i] * upper;
        }
        const T diagonal = std::hypot(column[j], below);
        if (diagonal <= rounding) {
            return s.recurrence.stop(Outcome::breakdown, Cause::singular_projection);
        }
        arrays.cosines[j] = column[j] / diagonal;
        arrays.sines[j] = below / diagonal;
        column[j] = diagonal;
        for (int i = 0; i <= j; ++i) arrays.triangle[j * arrays.restart + i] = column[i];
        arrays.right[j + 1] = -arrays.sines[j] * arrays.right[j];
        arrays.right[j] *= arrays.cosines[j];
        s.columns = j + 1;
        s.recurrence.observe(std::abs(arrays.right[j + 1]));
    }
};

/// Back substitution; coefficients of basis vectors that are not there are 0. The columns are used
/// up, so that forming x twice adds nothing.
template <class T>
struct GmresSolve {
    GmresArrays<T> arrays;
    TESSERA_HOST_DEVICE void operator()() const {
        GmresState<T>& s = *arrays.state;
        for (int i = arrays.restart - 1; i >= 0; --i) {
            T sum = 0;
            if (i < s.columns) {
                sum = arrays.right[i];
                for (int k = i + 1; k < s.columns; ++k) {
                    sum -= arrays.triangle[k * arrays.restart + i] * arrays.coefficients[k];
                }
                sum /= arrays.triangle[i * arrays.restart + i];
            }
            arrays.coefficients[i] = sum;
        }
        s.length = s.columns > 0 ? T(1) : T(0);
        s.columns = 0;
    }
};

}  // namespace tessera
