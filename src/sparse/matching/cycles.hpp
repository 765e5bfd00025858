#pragma once

#include <span>
#include <vector>

#include "tessera/csr.hpp"

namespace tessera::matching {

/// Cuts the cycles of a matching of a symmetric matrix (a permutation of the rows that it matches)
/// into pairs and single rows, as match_symmetric documents; returns the partner of each row.
template <class T>
std::vector<Index> cut_cycles(int threads, const CsrView<T>& matrix,
                              std::span<const double> scaling,
                              std::span<const Index> column_of_row);

}  // namespace tessera::matching
