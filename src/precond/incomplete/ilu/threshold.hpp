#pragma once

#include <vector>

#include "precond/incomplete/symbolic/block_pattern.hpp"

namespace tessera::incomplete {

/// Rows of a triangle in slots, without the diagonal; ascending columns.
struct TriangleRows {
    std::vector<Offset> offsets{0};
    std::vector<Index> columns;
    std::vector<double> values;
};

/// P R A C Q ~ (I + L) D (I + U).
struct ThresholdFactor {
    TriangleRows l, u;
    std::vector<double> d;
    Index perturbed = 0;        ///< Pivots raised.
    double smallest_pivot = 0;  ///< Smallest magnitude before.
};

struct ThresholdOptions {
    double drop = 0;  ///< Entries of row i up to drop times the mean of |row i of A| are dropped,
    double max_share =
        0;  ///< and all but the max(10, max_share / 2 entries) largest of each triangle.
    double epsilon = 0;  ///< Smaller pivots are raised to epsilon times the largest entry.
};

/// Incomplete factorisation by a dual threshold, row by row, of a matrix in host memory in a grid
/// of blocks of one row.
/// Source: Y. Saad, "ILUT: a dual threshold incomplete LU factorization", Numer. Linear Algebra
/// Appl. 1 (1994), pp. 387-402.
template <class T>
ThresholdFactor threshold_factor(const Grid& grid, const CsrView<T>& matrix,
                                 const std::vector<double>& row_scaling,
                                 const std::vector<double>& column_scaling,
                                 const ThresholdOptions& options);

/// The columns of L and of U^T, row by row.
GatheredRows union_of_triangles(const ThresholdFactor& factor);

}  // namespace tessera::incomplete
