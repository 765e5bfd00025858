#pragma once

#include "tessera/blocks.hpp"

namespace tessera {

/// The items 0, next(0), next(next(0)), ... of a row of items, up to their end.
struct Chain {
    Buffer<Index> starts;  ///< In the end the number of items itself.
    Index largest = 0;     ///< Largest distance of two neighbours.
    Offset squares = 0;    ///< Sum of squares of the distances.
};

// Both backends, without a serial walk over the rows:
//  1. A bit per row: 1 where a supervariable starts, that is where the pattern of row i differs
//     from that of row i - 1 (row 0 always starts one).
//  2. From a block start r the next block start is next(r): the last (agglomerate) or first
//     (otherwise) marked row in (r, r + bound], or r + bound if there is none, at most `rows`. That
//     is greedy agglomeration of supervariables that are cut every `bound` rows, in O(1) by bit
//     operations. A chunk of rows maps each possible entry (offset of the first block start at or
//     behind the chunk's first row) to one exit; these maps compose, and the composition is scanned
//     over the chunks.
//  3. Each chunk follows its now known chain; starts are counted, scanned and written.
// group_blocks is the same on blocks instead of rows. Both wait.
namespace cpu {
Chain find_blocks(const Context& context, Index rows, const Offset* row_offsets,
                  const Index* column_indices, Index bound, bool agglomerate);
Chain group_blocks(const Context& context, const Index* block_offsets, Index count, Index rows);
/// entry_offsets[b] = sum of size^2 over the blocks before b, count + 1 of them.
void block_entry_offsets(const Context& context, const Index* block_offsets, Index count,
                         Offset* entry_offsets);
}  // namespace cpu
namespace cuda {
Chain find_blocks(const Context& context, Index rows, const Offset* row_offsets,
                  const Index* column_indices, Index bound, bool agglomerate);
Chain group_blocks(const Context& context, const Index* block_offsets, Index count, Index rows);
void block_entry_offsets(const Context& context, const Index* block_offsets, Index count,
                         Offset* entry_offsets);
}  // namespace cuda

}  // namespace tessera
