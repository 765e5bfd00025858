#pragma once

#include <bit>
#include <cmath>

#include "base/for_each.hpp"
#include "tessera/csr.hpp"

namespace tessera {

/// Loop body of for_each_index: *largest = the bits of the largest |sum_j a_ij z_j| over
/// sum_j |a_ij z_j| of all rows, which have the order of doubles that are not negative.
template <class T>
struct ProductSize {
    static constexpr int work = 32;
    CsrView<T> a;
    const T* z;
    Offset* largest;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        double sum = 0, terms = 0;
        for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
            const double term = double(a.values[e]) * double(z[a.column_indices[e]]);
            sum += term;
            terms += std::abs(term);
        }
        if (sum != 0) raise_to(largest, std::bit_cast<Offset>(std::abs(sum) / terms));
    }
};

/// Loop body of for_each_index: z_i = 0 where row i has no nonzero.
template <class T>
struct ClearEmptyRows {
    static constexpr int work = 8;
    CsrView<T> a;
    T* z;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
            if (a.values[e] != T(0)) return;
        }
        z[i] = 0;
    }
};

}  // namespace tessera
