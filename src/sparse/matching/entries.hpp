#pragma once

#include <algorithm>

#include "tessera/csr.hpp"

namespace tessera::matching {

/// Where the entry (row, column) is stored, -1: nowhere.
template <class T>
Offset find_entry(const CsrView<T>& matrix, Index row, Index column) {
    const Index* const first = matrix.column_indices + matrix.row_offsets[row];
    const Index* const last = matrix.column_indices + matrix.row_offsets[row + 1];
    const Index* const at = std::lower_bound(first, last, column);
    return at != last && *at == column ? at - matrix.column_indices : Offset(-1);
}

}  // namespace tessera::matching
