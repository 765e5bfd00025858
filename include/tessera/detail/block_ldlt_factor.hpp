#pragma once

#include <vector>

#include "tessera/types.hpp"

namespace tessera {

/// A factor of BlockLdlt in host memory: P S A S P^T ~ (I + V) F (I + V)^T in k x k blocks,
/// column-major, one after the other.
template <class T>
struct BlockLdltFactor {
    std::vector<Index> row_of_slot;    ///< P: the row of each slot; -1: padding, a unit row.
    std::vector<T> scaling;            ///< S, one value per row of A.
    std::vector<Index> rows, columns;  ///< Block row and block column of the blocks of V.
    std::vector<T> v, f;               ///< The blocks of V, and the diagonal blocks of F.
};

}  // namespace tessera
