#pragma once

#include "base/host_device.hpp"
#include "tessera/types.hpp"

namespace tessera {

/// The position of the entry (row, column) of a CSR matrix, or of the block of a BSR matrix, by
/// bisection, or -1 if it is not stored.
template <class Csr>
TESSERA_HOST_DEVICE Offset find_csr_entry(const Csr& matrix, Index row, Index column) {
    Offset first = matrix.row_offsets[row], last = matrix.row_offsets[row + 1];
    const Offset end = last;
    while (first < last) {
        const Offset middle = first + (last - first) / 2;
        if (matrix.column_indices[middle] < column) {
            first = middle + 1;
        } else {
            last = middle;
        }
    }
    return first < end && matrix.column_indices[first] == column ? first : Offset(-1);
}

}  // namespace tessera
