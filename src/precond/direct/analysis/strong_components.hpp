#pragma once

#include <vector>

#include "tessera/csr.hpp"

namespace tessera::direct {

/// The strongly connected components of a square matrix in host memory, whose row row_of_column[j]
/// belongs to column j: the diagonal blocks of its block upper triangular form. Writes the block of
/// each column, and returns how many there are: entries of the rows of a block are in its columns
/// and those of later blocks.
/// Source: R. Tarjan, "Depth-first search and linear graph algorithms", SIAM J. Comput. 1 (1972).
template <class T>
Index strong_components(const CsrView<T>& matrix, const std::vector<Index>& row_of_column,
                        std::vector<Index>& block_of_column);

}  // namespace tessera::direct
