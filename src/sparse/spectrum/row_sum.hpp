#pragma once

#include <bit>
#include <cmath>

#include "base/for_each.hpp"
#include "sparse/scaled_value.hpp"

namespace tessera {

/// The largest sum of absolute values of a row, by for_each_index. Nonnegative doubles are ordered
/// as their bits, NaN last.
template <class T>
struct RowSum {
    static constexpr int work = 128;
    CsrView<T> matrix;
    const T* scaling;  ///< Scaling, or null.
    std::uint64_t* largest;

    TESSERA_HOST_DEVICE void operator()(Offset row) const {
        T sum = T(0);
        for (Offset k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k) {
            sum += std::abs(scaled_value(matrix, scaling, row, k));
        }
        raise_to(largest, std::bit_cast<std::uint64_t>(std::abs(double(sum))));
    }
};

}  // namespace tessera
