#pragma once

#include "tessera/csr.hpp"

namespace tessera::cli {

/// Comparison of a square matrix with its transpose bit by bit: a triangle may be written for both.
/// Solvers and preconditioners are chosen by is_symmetric.
struct SymmetryStatistics {
    bool pattern = false;  ///< The pattern is symmetric.
    double asymmetry = 0;  ///< max |a_ij - a_ji| / max |a_ij|; for a symmetric pattern only.
    bool exact() const { return pattern && asymmetry == 0; }
};

/// Compares a square matrix in host memory with its transpose; stops at the first position without
/// a mirror image.
template <class T>
SymmetryStatistics find_symmetry(const CsrView<T>& matrix);

struct DiagonalStatistics {
    Offset missing = 0;  ///< Number of diagonal entries that are not stored.
    Offset zero = 0;     ///< Number of diagonal entries stored as zero.
    Offset negative = 0;
};

template <class T>
DiagonalStatistics find_diagonal(const CsrView<T>& matrix);

struct RowStatistics {
    Offset min = 0;
    Offset max = 0;
    Offset empty = 0;
    Index lower_bandwidth = 0;  ///< max (i - j) over the entries.
    Index upper_bandwidth = 0;  ///< max (j - i) over the entries.
};

template <class T>
RowStatistics find_rows(const CsrView<T>& matrix);

}  // namespace tessera::cli
