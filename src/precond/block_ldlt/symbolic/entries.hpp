#pragma once

#include <cmath>

#include "base/for_each.hpp"
#include "tessera/csr.hpp"

// Bodies of for_each_index that go over the entries, rows and slots of a matrix in its grid.

namespace tessera::block_ldlt {

/// Sets *fault where the source of an entry is not in its row, or not in its column.
template <class T>
struct CheckSource {
    static constexpr int work = 4;
    const Offset* source;
    const Index* rows;
    const Index* columns;
    CsrView<T> matrix;
    int* fault;

    TESSERA_HOST_DEVICE void operator()(Offset e) const {
        const Offset at = source[e];
        if (at < 0) return;
        const bool in_row =
            at >= matrix.row_offsets[rows[e]] && at < matrix.row_offsets[rows[e] + 1];
        if (!in_row || matrix.column_indices[at] != columns[e]) raise_flag(fault);
    }
};

/// values_e = scale_row scale_column matrix[source_e]; 1 where source is -1.
template <class T>
struct LoadValue {
    static constexpr int work = 4;
    const Offset* source;
    const Index* rows;
    const Index* columns;
    const T* scale;
    const T* matrix;
    T* values;

    TESSERA_HOST_DEVICE void operator()(Offset e) const {
        const Offset at = source[e];
        values[e] = at < 0 ? T(1) : scale[rows[e]] * matrix[at] * scale[columns[e]];
    }
};

/// x_s = scale_r r_r for the row r of slot s, 0 in padding.
template <class T>
struct Gather {
    static constexpr int work = 1;
    const Index* slots;
    const T* scale;
    const T* r;
    T* x;

    TESSERA_HOST_DEVICE void operator()(Offset s) const {
        const Index row = slots[s];
        x[s] = row < 0 ? T(0) : scale[row] * r[row];
    }
};

/// z_r = scale_r x_s.
template <class T>
struct Scatter {
    static constexpr int work = 1;
    const Index* slots;
    const T* scale;
    const T* x;
    T* z;

    TESSERA_HOST_DEVICE void operator()(Offset s) const {
        const Index row = slots[s];
        if (row >= 0) z[row] = scale[row] * x[s];
    }
};

/// x_s = w_s where slot s is padding: a unit row of the padded matrix.
template <class T>
struct CopyPadding {
    static constexpr int work = 1;
    const Index* slots;
    const T* w;
    T* x;

    TESSERA_HOST_DEVICE void operator()(Offset s) const {
        if (slots[s] < 0) x[s] = w[s];
    }
};

/// norms_s = sum |a| over the row of slot s of the scaled matrix.
template <class T>
struct RowNorm {
    static constexpr int work = 32;
    const Index* slots;
    const T* scale;
    CsrView<T> matrix;
    T* norms;

    TESSERA_HOST_DEVICE void operator()(Offset s) const {
        const Index row = slots[s];
        T sum = T(row < 0);
        const Offset end = row < 0 ? 0 : matrix.row_offsets[row + 1];
        for (Offset e = row < 0 ? 0 : matrix.row_offsets[row]; e < end; ++e) {
            sum += std::abs(scale[row] * matrix.values[e] * scale[matrix.column_indices[e]]);
        }
        norms[s] = sum;
    }
};

/// largest_i = max |a| over the entries offsets[i] .. offsets[i + 1] - 1; 0 of none.
template <class T>
struct LargestEntry {
    static constexpr int work = 32;
    const Offset* offsets;
    const T* values;
    T* largest;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        T found = T(0);
        for (Offset e = offsets[i]; e < offsets[i + 1]; ++e) {
            const T size = std::abs(values[e]);
            if (size > found) found = size;
        }
        largest[i] = found;
    }
};

/// threshold_i = epsilon u, u = of_block_i, or where that is 0 or of_block null, *size, or where
/// that is 0, 1.
template <class T>
struct SetThreshold {
    static constexpr int work = 1;
    double epsilon;
    const T* size;
    const T* of_block;
    T* thresholds;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const T other = *size > T(0) ? *size : T(1);
        const bool own = of_block != nullptr && of_block[i] > T(0);
        thresholds[i] = T(epsilon * double(own ? of_block[i] : other));
    }
};

}  // namespace tessera::block_ldlt
