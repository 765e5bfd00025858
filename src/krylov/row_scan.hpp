#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "base/find_csr_entry.hpp"
#include "base/for_each.hpp"
#include "tessera/csr.hpp"

// The loop body of for_each_index that looks at every row. A number that several rows raise is held
// as the bits of a double that is not negative, which have its order.
namespace tessera {

/// A sum is 0 up to rounding if it is at most this times the sum of its absolute terms.
template <class T>
inline constexpr double balance_limit = 256 * double(std::numeric_limits<T>::epsilon());

/// A row of a square matrix, summed.
struct RowSums {
    double diagonal = 0;
    double largest = 0;  ///< The largest |a_ij|.
    double others = 0;   ///< The sum of |a_ij|, j != i.
    double sum = 0;

    /// Whether row i alone gives its unknown: |a_ii| is at least 1e8 times the sum of the other
    /// entries, and |a_ij a_ji| at most 1e-8 |a_ii a_jj|, so that this is no question of units.
    template <class T>
    TESSERA_HOST_DEVICE bool gives_unknown(const CsrView<T>& a, Index i) const {
        const double size = std::abs(diagonal);
        if (!(size > 0 && size >= 1e8 * others && std::isfinite(size))) return false;
        if (others == 0) return true;
        for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
            const Index j = a.column_indices[e];
            const Offset mirror = find_csr_entry(a, j, i), own = find_csr_entry(a, j, j);
            if (j == i || mirror < 0) continue;
            const double image = std::abs(double(a.values[mirror]));
            const double other = own < 0 ? 0 : std::abs(double(a.values[own]));
            // In this order no product leaves the range.
            if (std::abs(double(a.values[e])) / size * image > 1e-8 * other) return false;
        }
        return true;
    }
};

template <class T>
TESSERA_HOST_DEVICE RowSums summed(const CsrView<T>& a, Index i) {
    RowSums row;
    for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
        const double value = double(a.values[e]), size = std::abs(value);
        row.largest = size > row.largest ? size : row.largest;
        row.sum += value;
        if (a.column_indices[e] == i) {
            row.diagonal = value;
        } else {
            row.others += size;
        }
    }
    return row;
}

/// What the rows of a matrix have in common.
struct RowScan {
    int has_positive, has_negative, has_zero;  ///< Whether a diagonal entry is so.
    int has_row_sum;  ///< Whether the sum of a row is more than rounding errors of its entries.
    int has_empty;    ///< Whether a row has no nonzero.
    /// max and 1 / min of the largest |a_ij| of rows: first those that alone give their unknown,
    /// then the others.
    Offset largest_fixed, smallest_fixed_inverse, largest, smallest_inverse;
    Offset largest_share;  ///< The largest sum of |a_ij|, j != i, over |a_ii|.
    Offset longest;        ///< Entries of the longest row.
};

/// Raises the numbers of `scan`.
template <class T>
struct ScanRow {
    static constexpr int work = 32;
    CsrView<T> a;
    RowScan* scan;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const RowSums row = summed(a, Index(i));
        raise_to(&scan->longest, a.row_offsets[i + 1] - a.row_offsets[i]);
        raise_flag(row.diagonal > 0   ? &scan->has_positive
                   : row.diagonal < 0 ? &scan->has_negative
                                      : &scan->has_zero);
        const double limit = balance_limit<T> * (std::abs(row.diagonal) + row.others);
        if (!(std::abs(row.sum) <= limit)) raise_flag(&scan->has_row_sum);
        if (row.diagonal == 0 && row.others == 0) raise_flag(&scan->has_empty);
        if (row.diagonal != 0) {
            raise_to(&scan->largest_share,
                     std::bit_cast<Offset>(row.others / std::abs(row.diagonal)));
        }
        const bool is_fixed = row.gives_unknown(a, Index(i));
        if (!(row.largest > 0)) return;
        raise_to(is_fixed ? &scan->largest_fixed : &scan->largest,
                 std::bit_cast<Offset>(row.largest));
        raise_to(is_fixed ? &scan->smallest_fixed_inverse : &scan->smallest_inverse,
                 std::bit_cast<Offset>(1 / row.largest));
    }
};

}  // namespace tessera
