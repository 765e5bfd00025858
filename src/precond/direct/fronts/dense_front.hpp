#pragma once

#include <limits>
#include <vector>

#include "precond/direct/fronts/dense_kernels.hpp"

namespace tessera::direct {

/// A front with its entries: a square column-major matrix, of a symmetric one the lower triangle.
template <class T>
struct DenseFront {
    T* values = nullptr;
    Index rows = 0;                 ///< Also the leading dimension.
    Index candidates = 0;           ///< The first rows and columns, which may be eliminated here.
    bool is_root = false;           ///< They cannot be eliminated later.
    std::vector<Index> row_ids;     ///< The rows' numbers in the order of elimination.
    std::vector<Index> column_ids;  ///< The columns' numbers; unused where symmetric.

    T* column(Index j) const { return values + Offset(j) * rows; }
    T& operator()(Index i, Index j) const { return values[Offset(j) * rows + i]; }
};

/// What the elimination of fronts met.
struct PivotCounts {
    Index null_pivots = 0, positive = 0, negative = 0;
    double smallest = std::numeric_limits<double>::infinity();  ///< The smallest pivot.
    Index smallest_row = -1;  ///< Its number in the order of elimination.

    void add(const PivotCounts& other) {
        null_pivots += other.null_pivots;
        positive += other.positive;
        negative += other.negative;
        note(other.smallest, other.smallest_row);
    }
    void note(double pivot, Index row) {
        if (row < 0 || pivot > smallest || (pivot == smallest && row > smallest_row)) return;
        smallest = pivot;
        smallest_row = row;
    }
};

/// Work space of the elimination of one front.
template <class T>
struct FrontWork {
    std::vector<T> front;          ///< The entries of the front.
    std::vector<T> first, second;  ///< Updated columns.
    std::vector<T> panel_rows;     ///< D L^T of a panel of LDL^T.
};

/// How fronts are eliminated.
template <class T>
struct Elimination {
    DenseKernels<T> kernels;
    double threshold = 0.1;
    double null = 0;  ///< Pivots up to this size count as zero.
    int threads = 1;
};

/// Columns that are eliminated before the rest of the front is updated by all of them.
inline constexpr Index panel_width = 32;

/// L U of the candidates with threshold partial pivoting among them, as many as pass; the others
/// are after these. Returns how many were eliminated: unit L below the diagonal, U on and above it.
/// The pivot of a column without one is infinite: solves divide by it, which makes x_k zero.
template <class T>
Index eliminate_lu(const Elimination<T>& how, DenseFront<T>& front, FrontWork<T>& work,
                   PivotCounts& counts);

/// L D L^T with symmetric pivots of one and two rows, likewise: D on the diagonal, and the entry
/// beside the diagonal of a pivot of two rows k and k + 1 in off_diagonal[k], which is 0 elsewhere.
/// Source of the tests of pivots: I. S. Duff, J. K. Reid, "MA27 - a set of Fortran subroutines for
/// solving sparse symmetric sets of linear equations", AERE R10533 (1982).
template <class T>
Index eliminate_ldlt(const Elimination<T>& how, DenseFront<T>& front, FrontWork<T>& work,
                     std::vector<T>& off_diagonal, PivotCounts& counts);

}  // namespace tessera::direct
