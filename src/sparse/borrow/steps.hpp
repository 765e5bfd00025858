#pragma once

#include "base/for_each.hpp"
#include "tessera/borrow.hpp"

namespace tessera::borrow {

/// to[i] = from[i]
template <class From, class To>
struct ConvertIndices {
    static constexpr int work = 1;
    const From* from;
    To* to;
    TESSERA_HOST_DEVICE void operator()(Offset i) const { to[i] = To(from[i]); }
};

/// What is wrong with a row.
enum class Fault : int { none, offsets, column, order };
inline constexpr Offset fault_kinds = 4;

/// Checks a row of compressed rows, which `sharing` threads share: the largest (rows - row)
/// fault_kinds + Fault is that of the first row at fault.
template <class RowOffset, class Column>
struct CheckRow {
    static constexpr int work = 16;
    int sharing;
    Offset rows, columns, entries;
    const RowOffset* row_offsets;
    const Column* column_indices;
    bool sorted;  ///< Columns must ascend.
    Offset* first_fault;

    TESSERA_HOST_DEVICE Fault fault(Offset i, int part) const {
        const Offset begin = Offset(row_offsets[i]), end = Offset(row_offsets[i + 1]);
        if ((i == 0 && begin != 0) || (i == rows - 1 && end != entries)) return Fault::offsets;
        if (begin < 0 || begin > end || end > entries) return Fault::offsets;
        for (Offset k = begin + part; k < end; k += sharing) {
            const Offset column = Offset(column_indices[k]);
            if (column < 0 || column >= columns) return Fault::column;
            if (sorted && k > begin && Offset(column_indices[k - 1]) >= column) return Fault::order;
        }
        return Fault::none;
    }
    TESSERA_HOST_DEVICE void operator()(Offset thread) const {
        const Offset i = thread / sharing;
        const Fault found = fault(i, int(thread % sharing));
        if (found != Fault::none) {
            raise_to(first_fault, (rows - i) * fault_kinds + Offset(found));
        }
    }
};

/// to[k] = sum of the caller's values at positions[starts[k]] .. positions[starts[k + 1] - 1].
template <class T>
struct GatherSums {
    static constexpr int work = 2;
    const Offset* starts;
    const Offset* positions;
    const T* values;
    T* to;
    TESSERA_HOST_DEVICE void operator()(Offset k) const {
        T sum = values[positions[starts[k]]];
        for (Offset t = starts[k] + 1; t < starts[k + 1]; ++t) sum += values[positions[t]];
        to[k] = sum;
    }
};

/// Row i of CSR from block sparse rows.
template <class RowOffset, class Column>
struct ExpandRow {
    static constexpr int work = 64;
    Index block;
    const RowOffset* block_offsets;
    const Column* block_columns;
    Offset rows;
    Offset* row_offsets;
    Index* column_indices;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const Offset block_row = i / block, r = i % block;
        const Offset first = Offset(block_offsets[block_row]);
        const Offset length = Offset(block_offsets[block_row + 1]) - first;
        const Offset begin = first * block * block + r * length * block;
        row_offsets[i] = begin;
        if (i == rows - 1) row_offsets[rows] = begin + length * block;
        for (Offset t = 0; t < length; ++t) {
            const Offset column = Offset(block_columns[first + t]) * block;
            for (Offset c = 0; c < block; ++c) {
                column_indices[begin + t * block + c] = Index(column + c);
            }
        }
    }
};

/// The values of row i of CSR, whose offsets are given, from block sparse rows.
template <class T>
struct ExpandValues {
    static constexpr int work = 64;
    Index block;
    BlockOrder order;
    const Offset* row_offsets;
    const T* values;
    T* to;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const Offset size = Offset(block) * block, r = i % block;
        const Offset begin = row_offsets[i];
        const Offset length = (row_offsets[i + 1] - begin) / block;
        const T* const blocks = values + (begin - r * length * block);
        for (Offset t = 0; t < length; ++t) {
            for (Offset c = 0; c < block; ++c) {
                to[begin + t * block + c] =
                    blocks[t * size +
                           (order == BlockOrder::row_major ? r * block + c : r + c * block)];
            }
        }
    }
};

}  // namespace tessera::borrow
