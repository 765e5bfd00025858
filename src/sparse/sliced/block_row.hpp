#pragma once

#include "base/host_device.hpp"
#include "sparse/sliced/kernels.hpp"

namespace tessera {

/// f(block column) for the blocks of a block row that hold an entry, ascending: a merge
/// of its B rows.
template <int B, class F>
TESSERA_HOST_DEVICE inline void for_blocks(const CsrPattern& matrix, Index block_row, F&& f) {
    Offset at[B], end[B];
    for (int r = 0; r < B; ++r) {
        const Offset row = Offset(block_row) * B + r;
        at[r] = row < matrix.rows ? matrix.row_offsets[row] : 0;
        end[r] = row < matrix.rows ? matrix.row_offsets[row + 1] : 0;
    }
    while (true) {
        Index least = matrix.columns;
        for (int r = 0; r < B; ++r) {
            if (at[r] < end[r] && matrix.column_indices[at[r]] < least) {
                least = matrix.column_indices[at[r]];
            }
        }
        if (least == matrix.columns) return;
        const Index block_column = least / B;
        const Offset next = (Offset(block_column) + 1) * B;
        for (int r = 0; r < B; ++r) {
            while (at[r] < end[r] && matrix.column_indices[at[r]] < next) ++at[r];
        }
        f(block_column);
    }
}

/// Puts `column` into a slot of `slice`, of a pattern that has all but the columns.
TESSERA_HOST_DEVICE inline void put_column(const SlicedPattern& pattern, const SlotColumns& columns,
                                           Offset slice, Offset slot, Index column) {
    if (columns.column_offsets == nullptr) {
        columns.block_columns[slot] = column;
    } else {
        columns.column_offsets[slot] = std::uint16_t(column - pattern.first_columns[slice]);
    }
}

/// The column of pads: where it can be, one near those of their row.
TESSERA_HOST_DEVICE inline Index pad_column(const SlicedPattern& pattern, Offset slice,
                                            Offset block_row) {
    if (pattern.first_columns != nullptr) return pattern.first_columns[slice];
    const Index last = pattern.block_column_count() - 1;
    return block_row < last ? Index(block_row) : last;
}

}  // namespace tessera
