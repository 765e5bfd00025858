#pragma once

#include <bit>
#include <cmath>

#include "base/find_csr_entry.hpp"
#include "base/for_each.hpp"
#include "tessera/csr.hpp"

// Loop bodies of for_each_index that look for rows which a reduction may change. A number that
// several rows raise is held as the bits of a double that is not negative, which have its order.
namespace tessera {

/// A row of a square matrix, summed.
struct RowSums {
    double diagonal = 0;
    double largest = 0;  ///< The largest |a_ij|.
    double others = 0;   ///< The sum of |a_ij|, j != i.

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
    int has_positive, has_negative, has_zero;  ///< Of the diagonal entries.
    Offset largest, smallest_inverse;  ///< max and 1 / min of the largest |a_ij| of the kept rows.
    Offset largest_fixed, smallest_fixed_inverse;  ///< The same of the fixed rows.
};

/// Sums of these over the columns of two rows are equal where the rows have the same columns, and
/// hardly elsewhere.
TESSERA_HOST_DEVICE inline std::uint64_t column_hash(Index column) {
    const std::uint64_t z = (std::uint64_t(column) + 1) * 0x9e3779b97f4a7c15ULL;
    return (z ^ (z >> 32)) * 0xbf58476d1ce4e5b9ULL;
}

/// Raises the numbers of `scan`; unless `hashes` is null, it gets those of the rows.
template <class T>
struct ScanRow {
    static constexpr int work = 32;
    CsrView<T> a;
    std::uint64_t* hashes;
    RowScan* scan;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const RowSums row = summed(a, Index(i));
        if (hashes != nullptr) {
            std::uint64_t hash = 0;
            for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
                hash += column_hash(a.column_indices[e]);
            }
            hashes[i] = hash;
        }
        raise_flag(row.diagonal > 0   ? &scan->has_positive
                   : row.diagonal < 0 ? &scan->has_negative
                                      : &scan->has_zero);
        const bool is_fixed = row.gives_unknown(a, Index(i));
        if (!(row.largest > 0)) return;
        raise_to(is_fixed ? &scan->largest_fixed : &scan->largest,
                 std::bit_cast<Offset>(row.largest));
        raise_to(is_fixed ? &scan->smallest_fixed_inverse : &scan->smallest_inverse,
                 std::bit_cast<Offset>(1 / row.largest));
    }
};

/// How many rows a sample has for FindTwin.
inline constexpr int twin_samples = 16;

/// found[s] = 1 if no row beside row samples[s] has the same hash, but another row has.
struct FindTwin {
    static constexpr int work = 16;
    const std::uint64_t* hashes;
    Index rows;
    Index samples[twin_samples];
    int* found;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const std::uint64_t hash = hashes[i];
        for (int s = 0; s < twin_samples; ++s) {
            const Index sample = samples[s];
            const std::uint64_t wanted = hashes[sample];
            if (i == sample || hash != wanted) continue;
            const bool is_beside = (sample > 0 && hashes[sample - 1] == wanted) ||
                                   (sample + 1 < rows && hashes[sample + 1] == wanted);
            if (!is_beside) raise_flag(found + s);
        }
    }
};

}  // namespace tessera
