#pragma once

#include "tessera/blocks.hpp"

namespace tessera {

/// What find_blocks and its kin need to know of a partition.
struct BlockStatistics {
    Index largest = 0;
    Offset entries = 0;  ///< Sum of size^2.
};

// Both backends, in three passes without a serial walk over the rows:
//  1. A bit per row: 1 where a supervariable starts, that is where the pattern of row i differs
//     from that of row i - 1 (row 0 always starts one).
//  2. From a block start r the next block start is next(r): the last (agglomerate) or first
//     (otherwise) marked row in (r, r + bound], or r + bound if there is none, at most `rows`. That
//     is greedy agglomeration of supervariables that are cut every `bound` rows, in O(1) by bit
//     operations. A chunk of rows maps each of the `bound` possible entries (offsets of the first
//     block start at or behind the chunk's first row) to one exit; these maps compose, and the
//     composition is scanned over the chunks.
//  3. Each chunk walks its now known chain; starts are counted, scanned and written.
// Returns count + 1 block offsets. Waits.
namespace cpu {
Buffer<Index> find_blocks(const Context& context, Index rows, const Offset* row_offsets,
                          const Index* column_indices, Index bound, bool agglomerate);
BlockStatistics block_statistics(const Context& context, const Index* block_offsets, Index count);
/// inverse_offsets[b] = sum of size^2 over the blocks before b, count + 1 of them.
void block_entry_offsets(const Context& context, const Index* block_offsets, Index count,
                         Offset* inverse_offsets);
}  // namespace cpu
namespace cuda {
Buffer<Index> find_blocks(const Context& context, Index rows, const Offset* row_offsets,
                          const Index* column_indices, Index bound, bool agglomerate);
BlockStatistics block_statistics(const Context& context, const Index* block_offsets, Index count);
void block_entry_offsets(const Context& context, const Index* block_offsets, Index count,
                         Offset* inverse_offsets);
}  // namespace cuda

}  // namespace tessera
