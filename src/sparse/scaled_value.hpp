#pragma once

#include "base/host_device.hpp"
#include "tessera/csr.hpp"

namespace tessera {

/// The value of entry e, one of `row`: a_ij (s_i s_j), bitwise equal for (i, j) and (j, i); or a_ij
/// where s is null.
template <class T>
TESSERA_HOST_DEVICE inline T scaled_value(const CsrView<T>& matrix, const T* s, Offset row,
                                          Offset e) {
    return s == nullptr ? matrix.values[e]
                        : matrix.values[e] * (s[row] * s[matrix.column_indices[e]]);
}

}  // namespace tessera
