#pragma once

#include "base/for_each.hpp"
#include "tessera/csr.hpp"

namespace tessera {

/// Whether two rows have entries in the same columns, as the rows of one node have.
template <class T>
TESSERA_HOST_DEVICE bool have_same_columns(const CsrView<T>& a, Index one, Index other) {
    const Offset first = a.row_offsets[one], begin = a.row_offsets[other];
    const Offset length = a.row_offsets[one + 1] - first;
    if (a.row_offsets[other + 1] - begin != length) return false;
    for (Offset e = 0; e < length; ++e) {
        if (a.column_indices[first + e] != a.column_indices[begin + e]) return false;
    }
    return true;
}

/// Loop body of for_each_index over `samples` rows, at equal distances: found[s] = 1 if none of the
/// rows beside one has the same columns, but another row has. That one is among its columns, unless
/// its diagonal entry is missing.
template <class T>
struct FindTwinRow {
    static constexpr int work = 1 << 8;  // 64 rows are not worth a second thread.
    CsrView<T> a;
    int samples;
    int* found;

    TESSERA_HOST_DEVICE void operator()(Offset s) const {
        const Index i = Index(Offset(a.rows) * (2 * s + 1) / (2 * samples));
        found[s] = 0;
        if (i > 0 && have_same_columns(a, i, i - 1)) return;
        if (i + 1 < a.rows && have_same_columns(a, i, i + 1)) return;
        for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
            const Index j = a.column_indices[e];
            if (j != i && have_same_columns(a, i, j)) found[s] = 1;
        }
    }
};

}  // namespace tessera
