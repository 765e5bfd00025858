#pragma once

#include <cmath>

#include "base/host_device.hpp"
#include "sparse/scaling/kernels.hpp"

namespace tessera {

/// The entry (row, column), its position, or -1 where it is not stored.
template <class T>
TESSERA_HOST_DEVICE Offset find_entry(const CsrView<T>& matrix, Index row, Index column) {
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

/// The first row of the block of `row`, and the row behind its last one.
template <class T>
TESSERA_HOST_DEVICE Index block_first(const ScalingFactors<T>& factors, Index row) {
    return row + 1 - Index(factors.offsets[row + 1] - factors.offsets[row]);
}
template <class T>
TESSERA_HOST_DEVICE Index block_last(const ScalingFactors<T>& factors, Index row) {
    return row + Index(factors.transposed[row + 1] - factors.transposed[row]);
}

/// Whether a row has the columns of the first row of its block, and of each block all columns or
/// none.
template <class T>
TESSERA_HOST_DEVICE bool is_full_row(const CsrView<T>& matrix, const ScalingFactors<T>& factors,
                                     Index row) {
    const Index first = block_first(factors, row);
    const Offset begin = matrix.row_offsets[row], end = matrix.row_offsets[row + 1];
    const Offset model = matrix.row_offsets[first];
    if (matrix.row_offsets[first + 1] - model != end - begin) return false;
    for (Offset k = begin; k < end; ++k) {
        const Index column = matrix.column_indices[k];
        if (matrix.column_indices[model + (k - begin)] != column) return false;
        if (block_first(factors, column) < column &&
            (k == begin || matrix.column_indices[k - 1] != column - 1)) {
            return false;
        }
        if (block_last(factors, column) > column + 1 &&
            (k + 1 == end || matrix.column_indices[k + 1] != column + 1)) {
            return false;
        }
    }
    return true;
}

/// Entry k of row i of S A S^T for full blocks. The block row with the larger number is summed
/// inside, so that (i, j) and (j, i) take the same sums; within a diagonal block the larger index.
template <class T>
TESSERA_HOST_DEVICE T scaled_entry(const CsrView<T>& matrix, const ScalingFactors<T>& factors,
                                   Index i, Offset k) {
    const Index j = matrix.column_indices[k];
    const Index row_first = block_first(factors, i), column_first = block_first(factors, j);
    // Where column `column_first` stands in each row of the block row.
    const Offset corner = k - matrix.row_offsets[i] - (j - column_first);
    const T* const row_factor = factors.values + factors.offsets[i];
    const T* const column_factor = factors.values + factors.offsets[j];
    T sum = T(0);
    if (i <= j) {
        for (Index c = 0; c <= j - column_first; ++c) {
            T inner = T(0);
            for (Index r = 0; r <= i - row_first; ++r) {
                inner +=
                    row_factor[r] * matrix.values[matrix.row_offsets[row_first + r] + corner + c];
            }
            sum += inner * column_factor[c];
        }
    } else {
        for (Index r = 0; r <= i - row_first; ++r) {
            T inner = T(0);
            const Offset row = matrix.row_offsets[row_first + r] + corner;
            for (Index c = 0; c <= j - column_first; ++c) {
                inner += column_factor[c] * matrix.values[row + c];
            }
            sum += inner * row_factor[r];
        }
    }
    return sum;
}

template <class T>
TESSERA_HOST_DEVICE bool is_positive(T value) {
    return value > T(0) && std::isfinite(value);
}

}  // namespace tessera
