#pragma once

#include <cmath>
#include <limits>

#include "base/dispatch.hpp"
#include "base/find_csr_entry.hpp"
#include "tessera/csr.hpp"

namespace tessera {

/// An entry compared with its mirror image, 0 if that is not stored.
enum class Mirrored : int {
    yes,
    unpaired,  ///< Negligible, and the mirror image is not stored.
    no,        ///< Not finite, or they differ by more than rounding.
};

/// By how much two mirror images may differ; the largest |a_ij| of their rows.
template <class T>
TESSERA_HOST_DEVICE T mirror_tolerance(T largest, T other_largest) {
    const T size = largest < other_largest ? largest : other_largest;
    return 1000 * std::numeric_limits<T>::epsilon() * size;
}

/// Compares entry k of row i, in column j, with its mirror image at `mirror`, -1 if that is not
/// stored; `largest`: max |a_ij| per row; nullptr: they must be equal.
template <class T>
TESSERA_HOST_DEVICE Mirrored compare_mirror_image(const CsrView<T>& matrix, const T* largest,
                                                  Index i, Index j, Offset k, Offset mirror) {
    if (!std::isfinite(matrix.values[k])) return Mirrored::no;
    if (i == j) return Mirrored::yes;
    if (mirror >= 0 && j < i) return Mirrored::yes;  // Row j compares the values.
    const T image = mirror >= 0 ? matrix.values[mirror] : T(0);
    const T tolerance = largest != nullptr ? mirror_tolerance(largest[i], largest[j]) : T(0);
    if (!(std::abs(matrix.values[k] - image) <= tolerance)) return Mirrored::no;
    return mirror >= 0 ? Mirrored::yes : Mirrored::unpaired;
}

struct SymmetryFindings {
    Offset first_fault;  ///< First entry in row order without its mirror image, or their number.
    bool unpaired;       ///< A negligible entry has no stored mirror image; false after a fault.
};

/// Compares all entries. `any_fault`: the fault need not be the first. Waits.
TESSERA_BACKENDS(template <class T> SymmetryFindings compare_mirror_images(const Context& context,
                                                                           const CsrView<T>& matrix,
                                                                           bool any_fault);)

}  // namespace tessera
