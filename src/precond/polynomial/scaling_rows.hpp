#pragma once

#include <cmath>
#include <limits>

#include "base/find_csr_entry.hpp"
#include "base/for_each.hpp"
#include "tessera/csr.hpp"

// Loop bodies of for_each_index that scale a matrix.

namespace tessera::scaling {

/// s_i = a_ii^(-1/2). Where that does not exist, as a_ii is missing, not positive or not finite,
/// s_i is NaN, bad_i is 1, and any_bad is set.
template <class T>
struct InvertRoot {
    static constexpr int work = 4;
    CsrView<T> matrix;
    T* diagonal;
    Index* bad;
    int* any_bad;

    TESSERA_HOST_DEVICE void operator()(Offset row) const {
        const Index i = Index(row);
        const Offset position = find_csr_entry(matrix, i, i);
        const T root = std::sqrt(position < 0 ? T(0) : matrix.values[position]);
        const bool good = root > T(0) && std::isfinite(root);
        bad[i] = good ? 0 : 1;
        if (!good) raise_flag(any_bad);
        diagonal[i] = good ? T(1) / root : std::numeric_limits<T>::quiet_NaN();
    }
};

/// a_ij (s_i s_j) for every lanes-th entry of a row.
template <class T>
struct ScaleEntries {
    static constexpr int work = 16;
    int lanes;
    CsrView<T> matrix;
    const T* diagonal;
    T* scaled;

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const Offset i = place / lanes;
        const T s = diagonal[i];
        for (Offset k = matrix.row_offsets[i] + place % lanes; k < matrix.row_offsets[i + 1];
             k += lanes) {
            scaled[k] = matrix.values[k] * (s * diagonal[matrix.column_indices[k]]);
        }
    }
};

}  // namespace tessera::scaling
