#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "base/for_each.hpp"
#include "tessera/csr.hpp"

// Functions and loop bodies of for_each_index that measure a solution row by row. A number that
// several rows raise is held as the bits of a double that is not negative, which have its order.
namespace tessera {

/// The bits of |value|. A NaN, whose sign is any, is above all numbers.
TESSERA_HOST_DEVICE inline Offset order_bits(double value) {
    return std::bit_cast<Offset>(value) & std::numeric_limits<Offset>::max();
}

/// a b, rounded by itself: the compiler must not join it with a sum.
TESSERA_HOST_DEVICE inline double rounded_product(double a, double b) {
#ifdef __CUDA_ARCH__
    return __dmul_rn(a, b);
#else
    return a * b;
#endif
}

/// The bits of |v_i| / scale_i; scale null: 1.
template <class T>
struct ElementSize {
    const T* v;
    const double* scale = nullptr;
    TESSERA_HOST_DEVICE Offset operator()(Offset i) const {
        const double size = std::abs(double(v[i]));
        return order_bits(scale == nullptr ? size : size / scale[i]);
    }
};

/// *largest = max(*largest, sizes(i)) for i = 0 .. count - 1. On a CPU one thread without atomic
/// operations is limited by the memory.
TESSERA_BACKENDS(template <class T> void measure_largest(const Context& context, Offset count,
                                                         const ElementSize<T>& sizes,
                                                         Offset* largest);)

// Functions of a row are inlined wherever they are used, so that the kernels of each instruction
// set have copies of their own.

/// Sums over entries of a row.
struct RowTerms {
    double sum = 0;    ///< b_i - sum_j a_ij x_j, in double, without its error.
    double error = 0;  ///< The sum's, if it is compensated.
    double terms = 0;  ///< sum_j |a_ij x_j|.
    double size = 0;   ///< sum_j |a_ij|.

    /// Adds a term less its rounding error.
    [[gnu::always_inline]] TESSERA_HOST_DEVICE inline void add(double term, double rounding = 0) {
        const double before = sum;
        sum = before + term;
        const double added = sum - before;
        error += ((before - (sum - added)) + (term - added)) - rounding;
    }
};

/// Row i, without the error of the sum.
template <class T>
[[gnu::always_inline]] TESSERA_HOST_DEVICE inline RowTerms plain_terms(const CsrView<T>& a,
                                                                       const T* x, Offset i,
                                                                       double start) {
    RowTerms row{start};
    for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
        const double value = double(a.values[e]), factor = double(x[a.column_indices[e]]);
        row.terms += std::fabs(value) * std::fabs(factor);
        row.size += std::fabs(value);
        row.sum -= rounded_product(value, factor);
    }
    return row;
}

/// Row i with compensated sums (Dot2 of Ogita, Rump, Oishi, SIAM J. Sci. Comput. 26, 2005); with
/// `lanes`, every `lanes`-th entry from number `lane` on.
template <class T>
[[gnu::always_inline]] TESSERA_HOST_DEVICE inline RowTerms compensated_terms(
    const CsrView<T>& a, const T* x, Offset i, double start, int lane = 0, int lanes = 1) {
    RowTerms row{start};
    for (Offset e = a.row_offsets[i] + lane; e < a.row_offsets[i + 1]; e += lanes) {
        const double value = double(a.values[e]), factor = double(x[a.column_indices[e]]);
        const double term = -rounded_product(value, factor);
        row.terms += std::fabs(value) * std::fabs(factor);
        row.size += std::fabs(value);
        row.add(term, std::fma(value, factor, term));
    }
    return row;
}

/// Plain sums have at most so many entries.
constexpr Offset max_plain_entries = 1000;

/// Row i; sums of more entries are compensated.
template <class T>
[[gnu::always_inline]] TESSERA_HOST_DEVICE inline RowTerms row_terms(const CsrView<T>& a,
                                                                     const T* x, Offset i,
                                                                     double start) {
    const bool is_long = a.row_offsets[i + 1] - a.row_offsets[i] > max_plain_entries;
    return is_long ? compensated_terms(a, x, i, start) : plain_terms(a, x, i, start);
}

/// The residual of each row and its componentwise backward error |r_i| / (|A| |x| + |b|)_i. Where
/// that divisor is at most the size of rounding errors, ||A_i||_1 ||x||_inf takes the place of
/// |b_i| (M. Arioli, J. W. Demmel, I. S. Duff, SIAM J. Matrix Anal. Appl. 10, 1989).
template <class T>
struct RowErrors {
    CsrView<T> a;
    const T *b, *x;
    const Offset* largest_x;
    T* residuals;
    double* errors;
    Offset* largest_error;
    double max_rounding;  ///< Rounding errors of a row's sum that are larger are compensated.

    [[gnu::always_inline]] TESSERA_HOST_DEVICE static inline bool is_small(const RowTerms& row,
                                                                           double size_b,
                                                                           double max_x,
                                                                           Index rows) {
        constexpr double roundoff = double(std::numeric_limits<T>::epsilon()) / 2;
        return row.terms + size_b <= 1000.0 * double(rows) * roundoff * (row.size * max_x + size_b);
    }
    /// Sets the residual and the error of row i; `max_x`: *largest_x.
    [[gnu::always_inline]] TESSERA_HOST_DEVICE inline double set(Offset i, const RowTerms& row,
                                                                 double max_x) const {
        const double residual = row.sum + row.error;
        const double size_b = std::fabs(double(b[i]));
        const double divisor =
            row.terms + (is_small(row, size_b, max_x, a.rows) ? row.size * max_x : size_b);
        const double error = residual == 0 ? 0 : std::fabs(residual) / divisor;
        residuals[i] = T(residual);
        errors[i] = error;
        return error;
    }
};
/// Runs the body for all rows; on a GPU several threads share a row, and all are compensated.
TESSERA_BACKENDS(template <class T>
                 void measure_rows(const Context& context, const RowErrors<T>& body);)

namespace cpu {
/// r_i = b_i - sum_j a_ij x_j with compensated sums, for rows first .. last - 1; r may be b.
template <class T>
void measure_residuals(const Context& context, const CsrView<T>& a, const T* b, const T* x, T* r,
                       Offset first, Offset last);
}  // namespace cpu

/// *row_from_end = rows - (first row with the largest error).
struct FindWorstRow {
    static constexpr int work = 1;
    const double* errors;
    const Offset* largest_error;
    Offset rows;
    Offset* row_from_end;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        if (order_bits(errors[i]) == *largest_error) raise_to(row_from_end, rows - i);
    }
};

/// The largest |a_ij| r_i c_j of each row and column.
template <class T>
struct LargestScaled {
    static constexpr int work = 32;
    CsrView<T> a;
    const double *row_scale, *column_scale;
    Offset *rows, *columns;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        double largest = 0;
        for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
            const Index j = a.column_indices[e];
            const double size = std::abs(double(a.values[e])) * row_scale[i] * column_scale[j];
            raise_to(columns + j, order_bits(size));
            largest = size > largest ? size : largest;
        }
        rows[i] = order_bits(largest);
    }
};

/// Divides a scale by the square root of its row's or column's largest scaled entry, rounded to a
/// power of two, and sets that entry to 0 for the next step.
struct Equilibrate {
    static constexpr int work = 2;
    Offset* largest;
    double* scale;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const double entry = std::bit_cast<double>(largest[i]);
        if (entry > 0) scale[i] *= std::exp2(-std::round(std::log2(entry) / 2));
        largest[i] = 0;
    }
};

/// The largest elements of R r and R b, and the largest row sum of |R A C|.
template <class T>
struct ScaledNorms {
    static constexpr int work = 32;
    CsrView<T> a;
    const T *b, *x;
    const double *row_scale, *column_scale;
    Offset *residual, *right_hand_side, *row_sum;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        double sum = 0;
        for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
            sum += std::abs(double(a.values[e])) * column_scale[a.column_indices[e]];
        }
        const RowTerms row = row_terms(a, x, i, double(b[i]));
        raise_to(residual, order_bits(row_scale[i] * std::abs(row.sum + row.error)));
        raise_to(right_hand_side, order_bits(row_scale[i] * std::abs(double(b[i]))));
        raise_to(row_sum, order_bits(row_scale[i] * sum));
    }
};

}  // namespace tessera
