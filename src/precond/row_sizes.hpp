#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/for_each.hpp"
#include "tessera/csr.hpp"

// Loop bodies of for_each_index over the rows of a square matrix.

namespace tessera {

/// |a_ii|, max_j |a_ij|, and the bits of max_i |a_ij|, which are zero before: nonnegative doubles
/// are ordered as their bits.
template <class T>
struct MeasureRow {
    static constexpr int work = 64;
    CsrView<T> a;
    double* diagonal;
    double* in_row;
    std::uint64_t* in_column;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        double on_diagonal = 0, largest = 0;
        for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
            const double size = std::abs(double(a.values[e]));
            const Index j = a.column_indices[e];
            if (size > largest) largest = size;
            if (i == j) on_diagonal = size;
            raise_to(in_column + j, std::bit_cast<std::uint64_t>(size));
        }
        diagonal[i] = on_diagonal;
        in_row[i] = largest;
    }
};

/// Sets *found where a diagonal entry is zero, or smaller than 1e-3 of the largest entries of its
/// row and column.
struct FindSmallDiagonal {
    static constexpr int work = 4;
    const double* diagonal;
    const double* in_row;
    const std::uint64_t* in_column;
    int* found;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const double column = std::bit_cast<double>(in_column[i]);
        const double other = column < in_row[i] ? column : in_row[i];
        if (!(diagonal[i] >= 1e-3 * other) || diagonal[i] == 0) raise_flag(found);
    }
};

/// 1 / sqrt|a_ii|, or of the largest entry of the row where that is zero; 1 in a row of zeros.
template <class T>
struct ScaleDiagonal {
    static constexpr int work = 64;
    CsrView<T> a;
    double* scaling;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        double diagonal = 0, largest = 0;
        for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
            const double size = std::abs(double(a.values[e]));
            if (size > largest) largest = size;
            if (a.column_indices[e] == i) diagonal = size;
        }
        if (diagonal == 0) diagonal = largest;
        scaling[i] = diagonal > 0 ? 1 / std::sqrt(diagonal) : 1;
    }
};

/// Sets *found where an entry of S A S is larger than `bound`.
template <class T>
struct FindLargeEntry {
    static constexpr int work = 64;
    CsrView<T> a;
    const double* scaling;
    double bound;
    int* found;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
            const double size = scaling[i] * std::abs(double(a.values[e]));
            if (size * scaling[a.column_indices[e]] > bound) raise_flag(found);
        }
    }
};

}  // namespace tessera
