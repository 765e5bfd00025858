#pragma once

#include "base/find_csr_entry.hpp"
#include "base/for_each.hpp"
#include "tessera/csr.hpp"

// Loop bodies of for_each_index for the symmetric part S of a matrix A, one row each.

namespace tessera {

/// s_ij = (a_ij + a_ji) / 2 for the entries of row i of S, exactly symmetric.
template <class T>
struct SymmetricPartRow {
    static constexpr int work = 64;
    CsrView<T> a;
    const Offset* row_offsets;
    const Index* columns;
    T* values;

    TESSERA_HOST_DEVICE T value(Index i, Index j) const {
        const Offset e = find_csr_entry(a, i, j);
        return e < 0 ? T(0) : a.values[e];
    }
    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        for (Offset e = row_offsets[i]; e < row_offsets[i + 1]; ++e) {
            const Index j = columns[e];
            values[e] = T(0.5) * value(Index(i), j) + T(0.5) * value(j, Index(i));
        }
    }
};

/// Sets *fault if row i of A has an entry that S has not.
template <class T>
struct CheckRowOfPart {
    static constexpr int work = 64;
    CsrView<T> a, part;
    int* fault;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
            if (find_csr_entry(part, Index(i), a.column_indices[e]) < 0) raise_flag(fault);
        }
    }
};

}  // namespace tessera
