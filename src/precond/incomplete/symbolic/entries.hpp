#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/for_each.hpp"
#include "tessera/csr.hpp"

// Loop bodies of for_each_index: one thread per entry, slot or block row of a matrix in its grid.

namespace tessera::incomplete {

/// Pivots of all diagonal blocks.
struct PivotSummary {
    double smallest = std::numeric_limits<double>::infinity();  ///< Smallest magnitude.
    Offset perturbed = 0;                                       ///< Number of raised pivots.
};

/// Sets *fault if the source of an entry is not in its row, or not in its column.
template <class T>
struct CheckSource {
    static constexpr int work = 4;
    const Offset* source;
    const Index* rows;
    const Index* columns;
    CsrView<T> matrix;
    int* fault;

    TESSERA_HOST_DEVICE void operator()(Offset e) const {
        const Offset position = source[e];
        if (position < 0) return;
        const bool in_row =
            position >= matrix.row_offsets[rows[e]] && position < matrix.row_offsets[rows[e] + 1];
        if (!in_row || matrix.column_indices[position] != columns[e]) raise_flag(fault);
    }
};

/// values_e = row_scale matrix[source_e] column_scale; 1 where source is -1. Null scales: 1.
template <class T>
struct LoadValue {
    static constexpr int work = 4;
    const Offset* source;
    const Index* rows;
    const Index* columns;
    const T* row_scale;
    const T* column_scale;
    const T* matrix;
    T* values;

    TESSERA_HOST_DEVICE void operator()(Offset e) const {
        const Offset position = source[e];
        if (position < 0) {
            values[e] = T(1);
        } else if (row_scale == nullptr) {
            values[e] = matrix[position];
        } else {
            values[e] = row_scale[rows[e]] * matrix[position] * column_scale[columns[e]];
        }
    }
};

/// To the order of the factor: x_s = scale_i r_i for the row (or column) i = slots_s of A in slot s
/// (position s of the permuted, padded system); in padding slots w_s, or 0 if w is null. A null
/// scale: 1.
template <class T>
struct GatherVector {
    static constexpr int work = 1;
    const Index* slots;
    const T* scale;
    const T* r;
    const T* w;
    T* x;

    TESSERA_HOST_DEVICE void operator()(Offset s) const {
        const Index row = slots[s];
        const T padding = w == nullptr ? T(0) : w[s];
        if (row < 0) {
            x[s] = padding;
        } else {
            x[s] = scale == nullptr ? r[row] : scale[row] * r[row];
        }
    }
};

/// Back to the order of A: z_i = scale_i x_s for i = slots_s; padding slots are skipped. A
/// null scale: 1.
template <class T>
struct ScatterVector {
    static constexpr int work = 1;
    const Index* slots;
    const T* scale;
    const T* x;
    T* z;

    TESSERA_HOST_DEVICE void operator()(Offset s) const {
        const Index row = slots[s];
        if (row >= 0) z[row] = scale == nullptr ? x[s] : scale[row] * x[s];
    }
};

/// transposes_b = blocks_b^T for k x k blocks, one element each.
template <class T>
struct TransposeBlocks {
    static constexpr int work = 1;
    Index k;
    const T* blocks;
    T* transposes;

    TESSERA_HOST_DEVICE void operator()(Offset e) const {
        const Offset square = Offset(k) * k, block = e / square, in_block = e % square;
        transposes[e] = blocks[block * square + in_block / k + in_block % k * k];
    }
};

/// Ones on the diagonals of k x k blocks, of which slot s has column s % k.
template <class T>
struct SetUnitDiagonal {
    static constexpr int work = 1;
    Index k;
    T* blocks;

    TESSERA_HOST_DEVICE void operator()(Offset s) const { blocks[s * k + s % k] = T(1); }
};

/// max |a_e| over e = first, first + step, ... below `end`; 0 if there are none; NaN is ignored.
template <class T>
TESSERA_HOST_DEVICE T largest_entry(const T* a, Offset first, Offset end, Offset step) {
    T largest = T(0);
    for (Offset e = first; e < end; e += step) {
        const T size = std::abs(a[e]);
        if (size > largest) largest = size;
    }
    return largest;
}

/// max |a_e| over all parts: part i of `parts` has e = i, i + parts, ... below `count`. Nonnegative
/// doubles are ordered as their bits.
template <class T>
struct LargestEntry {
    static constexpr int work = 128;
    Offset count, parts;
    const T* values;
    std::uint64_t* largest_bits;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const double largest = largest_entry(values, i, count, parts);
        raise_to(largest_bits, std::bit_cast<std::uint64_t>(largest));
    }
};

/// Pivots of the diagonal blocks i, i + parts, ... below `count`; NaN is ignored.
template <class T>
struct SummarisePivots {
    static constexpr int work = 128;
    Offset count, parts;
    const Index* perturbed;
    const T* smallest;
    PivotSummary* summaries;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        PivotSummary summary;
        for (Offset e = i; e < count; e += parts) {
            if (double(smallest[e]) < summary.smallest) summary.smallest = double(smallest[e]);
            summary.perturbed += perturbed[e];
        }
        summaries[i] = summary;
    }
};

}  // namespace tessera::incomplete
