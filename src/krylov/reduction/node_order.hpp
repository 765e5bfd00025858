#pragma once

#include <vector>

#include "krylov/reduction/symmetriser.hpp"

namespace tessera {

/// The kept rows (places in part.rows) ordered by nodes: rows with the same columns side by side,
/// nodes by their first row. Empty unless nine rows of ten share their columns with one to five
/// others, or where a quarter of the rows has them in common with the row before.
template <class T>
std::vector<Index> find_node_order(const KeptPart<T>& part);

}  // namespace tessera
