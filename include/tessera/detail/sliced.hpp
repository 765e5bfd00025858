#pragma once

#include <cstdint>

#include "tessera/types.hpp"

namespace tessera {

enum class ValueFormat : std::uint8_t;

/// The pattern of a sliced matrix of B x B blocks, a view. Block row i has the rows
/// i B .. i B + B - 1 of the matrix; the last block row and column reach past the matrix where B
/// does not divide its size. Position p holds block row block_row(p) in lane p % H of slice
/// p / H, H = slice_height. Its k-th block, blocks sorted by column, is in slot
/// slice_offsets[p / H] + k H + p % H; slots of k >= row_lengths[p] are pads.
struct SlicedPattern {
    Index rows = 0;
    Index columns = 0;
    Index block = 1;         ///< B.
    Index slice_height = 1;  ///< H.
    Index slices = 0;
    const Offset* slice_offsets = nullptr;  ///< slices + 1 first slots.
    const Index* row_lengths = nullptr;     ///< slices * H numbers of blocks.
    const Index* block_columns = nullptr;   ///< One per slot; pads have valid columns.
    /// If not null, used instead: the block column of a slot of slice s is first_columns[s] +
    /// column_offsets[slot].
    const std::uint16_t* column_offsets = nullptr;
    const Index* first_columns = nullptr;
    const Index* permutation = nullptr;  ///< block_rows() block rows; nullptr: not sorted.
    /// Not sorted: lanes 2 i and 2 i + 1 hold block rows i and i + H / 2 of the slice, H even.
    bool paired = false;
    int lanes = 1;  ///< GPU: threads that share a block row in products: 1, 2, 4 or 16.
    constexpr Offset positions() const { return Offset(slices) * slice_height; }
    /// The block row at a position; block_rows() or more at positions without one.
    constexpr Offset block_row(Offset p) const {
        if (permutation != nullptr) return p < block_rows() ? permutation[p] : p;
        if (!paired) return p;
        const Offset lane = p % slice_height;
        return p - lane + lane / 2 + (lane % 2) * (slice_height / 2);
    }
    constexpr Index block_column(Offset slice, Offset slot) const {
        return column_offsets == nullptr ? block_columns[slot]
                                         : first_columns[slice] + column_offsets[slot];
    }
    constexpr Index block_rows() const { return rows / block + (rows % block != 0); }
    constexpr Index block_column_count() const { return columns / block + (columns % block != 0); }
};

/// A sliced matrix for products with vectors of T. Entry (r, c) of the slot (slice s, k,
/// lane) is values[slice_offsets[s] B B + (k B B + r B + c) H + lane]; fill and pads are zero.
template <class T>
struct SlicedView {
    SlicedPattern pattern;
    ValueFormat format{};
    const void* values = nullptr;
};

}  // namespace tessera
