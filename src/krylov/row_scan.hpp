#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "base/dispatch.hpp"
#include "base/find_csr_entry.hpp"
#include "tessera/csr.hpp"

// A look at every row of a matrix.
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

/// Row i; with `lanes`, every `lanes`-th entry from number `lane` on.
template <class T>
TESSERA_HOST_DEVICE RowSums summed(const CsrView<T>& a, Index i, int lane = 0, int lanes = 1) {
    RowSums row;
    for (Offset e = a.row_offsets[i] + lane; e < a.row_offsets[i + 1]; e += lanes) {
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

/// What the rows of a matrix have in common: maxima over the rows. Numbers with a fraction are held
/// as the bits of a double that is not negative, which have its order.
struct RowScan {
    /// 1 if a diagonal entry is so.
    Offset has_positive = 0, has_negative = 0, has_zero = 0;
    Offset has_row_sum = 0;  ///< 1 if the sum of a row is more than rounding errors of its entries.
    Offset has_empty = 0;    ///< 1 if a row has no nonzero.
    /// max and 1 / min of the largest |a_ij| of rows: first those that alone give their unknown,
    /// then the others.
    Offset largest_fixed = 0, smallest_fixed_inverse = 0, largest = 0, smallest_inverse = 0;
    Offset largest_share = 0;  ///< The largest sum of |a_ij|, j != i, over |a_ii|.
    Offset longest = 0;        ///< Entries of the longest row.

    /// raise(number, value) for each number and another scan's.
    template <class Raise>
    TESSERA_HOST_DEVICE void join(const RowScan& other, const Raise& raise) {
        raise(has_positive, other.has_positive);
        raise(has_negative, other.has_negative);
        raise(has_zero, other.has_zero);
        raise(has_row_sum, other.has_row_sum);
        raise(has_empty, other.has_empty);
        raise(largest_fixed, other.largest_fixed);
        raise(smallest_fixed_inverse, other.smallest_fixed_inverse);
        raise(largest, other.largest);
        raise(smallest_inverse, other.smallest_inverse);
        raise(largest_share, other.largest_share);
        raise(longest, other.longest);
    }

    /// Row i, summed.
    template <class T>
    TESSERA_HOST_DEVICE void note(const CsrView<T>& a, Index i, const RowSums& row) {
        const auto raise = [](Offset& number, Offset value) {
            number = value > number ? value : number;
        };
        raise(longest, a.row_offsets[i + 1] - a.row_offsets[i]);
        (row.diagonal > 0 ? has_positive : row.diagonal < 0 ? has_negative : has_zero) = 1;
        const double limit = balance_limit<T> * (std::abs(row.diagonal) + row.others);
        if (!(std::abs(row.sum) <= limit)) has_row_sum = 1;
        if (row.diagonal == 0 && row.others == 0) has_empty = 1;
        if (row.diagonal != 0) {
            raise(largest_share, std::bit_cast<Offset>(row.others / std::abs(row.diagonal)));
        }
        if (row.largest > 0) {
            const bool is_fixed = row.gives_unknown(a, i);
            raise(is_fixed ? largest_fixed : largest, std::bit_cast<Offset>(row.largest));
            raise(is_fixed ? smallest_fixed_inverse : smallest_inverse,
                  std::bit_cast<Offset>(1 / row.largest));
        }
    }
};

TESSERA_BACKENDS(
    /// Looks at all rows of a square matrix. Waits.
    template <class T> RowScan scan_rows(const Context& context, const CsrView<T>& matrix);)

}  // namespace tessera
