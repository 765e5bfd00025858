#pragma once

#include <cmath>
#include <limits>

#include "base/dispatch.hpp"
#include "base/find_csr_entry.hpp"
#include "tessera/csr.hpp"

namespace tessera {

/// Whether entry k of row i is finite and equal to its mirror image up to rounding; `largest`: max
/// |a_ij| per row.
template <class T>
TESSERA_HOST_DEVICE bool has_mirror_image(const CsrView<T>& matrix, const T* largest, Index i,
                                          Offset k) {
    if (!std::isfinite(matrix.values[k])) return false;
    const Index j = matrix.column_indices[k];
    if (i == j) return true;
    const Offset mirror = find_csr_entry(matrix, j, i);
    if (mirror < 0) return false;
    if (j < i) return true;  // Row j compares the values.
    const T size = largest[i] < largest[j] ? largest[i] : largest[j];
    return std::abs(matrix.values[k] - matrix.values[mirror]) <=
           1000 * std::numeric_limits<T>::epsilon() * size;
}

/// The position of the first entry in row order without its mirror image, or the number of entries.
/// Waits.
TESSERA_BACKENDS(template <class T>
                 Offset first_unsymmetric(const Context& context, const CsrView<T>& matrix);)

}  // namespace tessera
