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
/// part of its column) in a free column, else along the first alternating path that is found.
/// Source of the search: I. S. Duff, "On algorithms for obtaining a maximum transversal", ACM
/// Trans. Math. Softw. 7 (1981), pp. 315-330.
template <class T>
AnyMatching match_any(const CsrView<T>& matrix);

}  // namespace tessera::direct
