#pragma once

#include <vector>

#include "tessera/csr.hpp"

namespace tessera::direct {

/// A matching of rows and columns by the pattern, whatever the product of its entries: for factors
/// that search pivots in all of a row.
struct AnyMatching {
    std::vector<Index> row_of_column;  ///< Empty where some row remains free.
    /// r, c: the largest |r_i a_ij c_j| of each row is about 1.
    std::vector<double> row_scaling, column_scaling;
};

/// Matches each row with the diagonal where that is not small, else with its largest entry (as a
/// part of its column) in a free column, else along a shortest alternating path.
/// Source: I. S. Duff, K. Kaya, B. Ucar, "Design, implementation, and analysis of maximum
/// transversal algorithms", ACM Trans. Math. Softw. 38 (2011), article 13.
template <class T>
AnyMatching match_any(const CsrView<T>& matrix);

}  // namespace tessera::direct
