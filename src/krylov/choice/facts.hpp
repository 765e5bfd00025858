#pragma once

#include "base/find_csr_entry.hpp"
#include "base/for_each.hpp"
#include "tessera/csr.hpp"

namespace tessera {

/// flags[i] = 1 unless the diagonal entry of row i is stored and positive, else 0.
template <class T>
struct FlagDiagonal {
    static constexpr int work = 8;
    CsrView<T> matrix;
    T* flags;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const Offset k = find_csr_entry(matrix, Index(i), Index(i));
        flags[i] = k >= 0 && matrix.values[k] > T(0) ? T(0) : T(1);
    }
};

}  // namespace tessera
