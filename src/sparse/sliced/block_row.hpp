#pragma once

#include "base/host_device.hpp"
#include "sparse/sliced/kernels.hpp"

namespace tessera {

/// f(block column, entry bits) for the blocks of a block row that hold an entry, ascending: a merge
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
        const Offset first = Offset(block_column) * B;
        std::uint64_t bits = 0;
        for (int r = 0; r < B; ++r) {
            for (; at[r] < end[r]; ++at[r]) {
                const Offset column = matrix.column_indices[at[r]];
                if (column >= first + B) break;
                bits |= std::uint64_t(1) << (r * B + int(column - first));
            }
        }
        f(block_column, bits);
    }
}

/// The entry bits of the slot that is `k` columns into its slice; all ones without fill.
TESSERA_HOST_DEVICE inline std::uint64_t entry_bits_of(const SlicedPattern& pattern,
                                                       Offset slice_start, Index k, Index lane) {
    if (pattern.entry_bits == nullptr) return ~std::uint64_t(0);
    const Index bytes = entry_bytes(pattern.block);
    const std::uint8_t* from =
        pattern.entry_bits + (slice_start + Offset(k) * pattern.slice_height) * bytes + lane;
    std::uint64_t bits = 0;
    for (Index j = 0; j < bytes; ++j) {
        bits |= std::uint64_t(from[Offset(j) * pattern.slice_height]) << (8 * j);
    }
    return bits;
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

/// f(k, c, column) for the entries that row r of the block row in (slice, lane) gives back.
template <int B, class F>
TESSERA_HOST_DEVICE inline void for_entries(const SlicedPattern& pattern, Offset slice, Index lane,
                                            Index length, int r, Fill fill, F&& f) {
    const Offset slice_start = pattern.slice_offsets[slice];
    for (Index k = 0; k < length; ++k) {
        const Offset slot = slice_start + Offset(k) * pattern.slice_height + lane;
        const Offset first = Offset(pattern.block_column(slice, slot)) * B;
        const std::uint64_t bits =
            fill == Fill::keep ? ~std::uint64_t(0) : entry_bits_of(pattern, slice_start, k, lane);
        for (int c = 0; c < B; ++c) {
            if ((bits >> (r * B + c) & 1) != 0 && first + c < pattern.columns) {
                f(k, c, Index(first + c));
            }
        }
    }
}

}  // namespace tessera
