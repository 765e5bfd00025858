#pragma once

#include "base/dispatch.hpp"
#include "base/for_each.hpp"
#include "tessera/blocks.hpp"

namespace tessera {

/// The pattern of a square matrix.
struct SquarePattern {
    Index rows = 0;
    Offset nonzeros = 0;
    const Offset* row_offsets = nullptr;
    const Index* column_indices = nullptr;
};

/// A greedy segmentation: the items 0, next(0), next(next(0)), ...
struct Segmentation {
    Buffer<Index> starts;       ///< Starts, and the number of items.
    Index largest = 0;          ///< Largest distance of two neighbours.
    Offset sum_of_squares = 0;  ///< Sum of the squared distances.
};

// Both backends:
//  1. A bit per row: 1 where a supervariable starts, that is where the pattern of row i differs
//     from that of row i - 1 (row 0 always starts one), or the matrix ends.
//  2. A block that starts with row r may end at the marks in (r, r + bound], or at r + bound if
//     there are none. It ends at the last of them (supervariable: greedy agglomeration of
//     supervariables that are cut every `bound` rows) or at the first (natural).
//  3. Greedy segmentation: the successor of r is its block's end. A CPU follows them one by one. On
//     a GPU a chunk of rows maps each possible entry (offset of the first block start in it) to one
//     exit; these transition maps are composed over the chunks. Starts of each chunk, whose entry
//     is known now, are counted and written.
// group_blocks is 3. on blocks instead of rows. Both wait.
// clang-format off
TESSERA_BACKENDS(
    Segmentation find_blocks(const Context& context, const SquarePattern& pattern, Index bound,
                      Blocking blocking);
    Segmentation group_blocks(const Context& context, const Index* block_offsets, Index count, Index rows);)
// clang-format on

/// size^2 of block b.
struct BlockEntries {
    const Index* block_offsets;
    TESSERA_HOST_DEVICE Offset operator()(Offset b) const {
        const Offset size = block_offsets[b + 1] - block_offsets[b];
        return size * size;
    }
};

}  // namespace tessera
