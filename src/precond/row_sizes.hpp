#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/find_csr_entry.hpp"
#include "base/for_each.hpp"
#include "tessera/csr.hpp"

// Loop bodies of for_each_index over the rows of a square matrix.

namespace tessera {

/// A matrix, or R A C with scalings of rows and columns.
template <class T>
struct ScaledMatrix {
    CsrView<T> a;
    const T* row_scale = nullptr;
    const T* column_scale = nullptr;

    /// The magnitude of entry e, in row i and column j.
    TESSERA_HOST_DEVICE double size(Offset e, Offset i, Index j) const {
        const double size = std::abs(double(a.values[e]));
        return row_scale == nullptr ? size : double(row_scale[i]) * size * double(column_scale[j]);
    }
};

/// |a_ii|, max_j |a_ij|, and the bits of max_i |a_ij|, which are zero before: nonnegative doubles
/// are ordered as their bits.
template <class T>
struct MeasureRow {
    static constexpr int work = 64;
    ScaledMatrix<T> matrix;
    double* diagonal;
    double* in_row;
    std::uint64_t* in_column;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        double on_diagonal = 0, largest = 0;
        const CsrView<T>& a = matrix.a;
        for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
            const Index j = a.column_indices[e];
            const double size = matrix.size(e, i, j);
            if (size > largest) largest = size;
            if (i == j) on_diagonal = size;
            raise_to(in_column + j, std::bit_cast<std::uint64_t>(size));
        }
        diagonal[i] = on_diagonal;
        in_row[i] = largest;
    }
};

/// Whether a diagonal entry is zero, or smaller than 1e-3 of `other`, the smaller one of the
/// largest entries of its row and column.
TESSERA_HOST_DEVICE inline bool is_small(double diagonal, double other) {
    return !(diagonal >= 1e-3 * other) || diagonal == 0;
}

/// |a_ii|.
template <class T>
TESSERA_HOST_DEVICE double diagonal_size(const CsrView<T>& a, Offset i) {
    const Offset e = find_csr_entry(a, Index(i), Index(i));
    return e < 0 ? 0 : std::abs(double(a.values[e]));
}

/// Sets *found where a diagonal entry is small beside the largest entry of its row alone; `lanes`
/// threads share a row.
template <class T>
struct FindSmallInRow {
    static constexpr int work = 64;
    int lanes;
    CsrView<T> a;
    int* found;

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const Offset i = place / lanes;
        const double diagonal = diagonal_size(a, i);
        bool small = diagonal == 0;
        for (Offset e = a.row_offsets[i] + place % lanes; e < a.row_offsets[i + 1]; e += lanes) {
            small = small || is_small(diagonal, std::abs(double(a.values[e])));
        }
        if (small) raise_flag(found);
    }
};

/// Sets *found where a diagonal entry is small.
struct FindSmallDiagonal {
    static constexpr int work = 4;
    const double* diagonal;
    const double* in_row;
    const std::uint64_t* in_column;
    int* found;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const double column = std::bit_cast<double>(in_column[i]);
        const double other = column < in_row[i] ? column : in_row[i];
        if (is_small(diagonal[i], other)) raise_flag(found);
    }
};

/// Sets *found where the largest entry of a row or a column is not zero, but far from one.
struct FindOutOfScale {
    static constexpr int work = 4;
    const double* in_row;
    const std::uint64_t* in_column;
    double bound;
    int* found;

    TESSERA_HOST_DEVICE bool is_far(double size) const {
        return size > bound || (size > 0 && size * bound < 1);
    }
    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        if (is_far(in_row[i]) || is_far(std::bit_cast<double>(in_column[i]))) raise_flag(found);
    }
};

/// 1 / sqrt|a_ii|, or of the largest entry of the row where that is zero; 1 in a row of zeros.
template <class T>
struct ScaleDiagonal {
    static constexpr int work = 64;
    CsrView<T> a;
    double* scaling;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        double size = diagonal_size(a, i);
        if (!(size > 0)) {
            for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
                const double other = std::abs(double(a.values[e]));
                if (other > size) size = other;
            }
        }
        scaling[i] = size > 0 ? 1 / std::sqrt(size) : 1;
    }
};

/// Sets *found where an entry of S A S is larger than `bound`; `lanes` threads share a row.
template <class T>
struct FindLargeEntry {
    static constexpr int work = 64;
    int lanes;
    CsrView<T> a;
    const double* scaling;
    double bound;
    int* found;

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const Offset i = place / lanes;
        for (Offset e = a.row_offsets[i] + place % lanes; e < a.row_offsets[i + 1]; e += lanes) {
            const double size = scaling[i] * std::abs(double(a.values[e]));
            if (size * scaling[a.column_indices[e]] > bound) raise_flag(found);
        }
    }
};

}  // namespace tessera
