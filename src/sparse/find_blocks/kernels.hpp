#pragma once

#include "tessera/blocks.hpp"

namespace tessera {

/// Where the nonzeros of a square matrix are.
struct CsrPattern {
    Index rows = 0;
    Offset nonzeros = 0;
    const Offset* row_offsets = nullptr;
    const Index* column_indices = nullptr;
};

/// A segmentation: the items 0, next(0), next(next(0)), ...
struct Chain {
    Buffer<Index> starts;  ///< In the end the number of items itself.
    Index largest = 0;     ///< Largest distance of two neighbours.
    Offset squares = 0;    ///< Sum of squares of the distances.
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
namespace cpu {
Chain find_blocks(const Context& context, const CsrPattern& pattern, Index bound,
                  Blocking blocking);
Chain group_blocks(const Context& context, const Index* block_offsets, Index count, Index rows);
/// entry_offsets[b] = sum of size^2 over the blocks before b, count + 1 of them.
void block_entry_offsets(const Context& context, const Index* block_offsets, Index count,
                         Offset* entry_offsets);
}  // namespace cpu
namespace cuda {
Chain find_blocks(const Context& context, const CsrPattern& pattern, Index bound,
                  Blocking blocking);
Chain group_blocks(const Context& context, const Index* block_offsets, Index count, Index rows);
void block_entry_offsets(const Context& context, const Index* block_offsets, Index count,
                         Offset* entry_offsets);
}  // namespace cuda

}  // namespace tessera
