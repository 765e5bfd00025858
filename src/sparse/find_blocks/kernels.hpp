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

/// The items 0, next(0), next(next(0)), ... of a row of items, up to their end.
struct Chain {
    Buffer<Index> starts;  ///< In the end the number of items itself.
    Index largest = 0;     ///< Largest distance of two neighbours.
    Offset squares = 0;    ///< Sum of squares of the distances.
};

/// Blocking::similar: the rows of a stretch see this far.
inline constexpr Index similar_stretch = 512;
inline constexpr Index similar_horizon = 768;

// Both backends, without a serial walk over the rows:
//  1. A bit per row: 1 where a supervariable starts, that is where the pattern of row i differs
//     from that of row i - 1 (row 0 always starts one), or the matrix ends.
//  2. A block that starts with row r may end at the marks in (r, r + bound], or at r + bound if
//     there are none. It ends at the last of them (supervariable: greedy agglomeration of
//     supervariables that are cut every `bound` rows), at the first (natural), or (similar) so that
//     the blocks from r on keep the most nonzeros, by dynamic programming from the back. This is
//     local: a row sees rows up to the horizon of its stretch, H (its first row + similar_horizon,
//     at most the end of the matrix); counted are nonzeros (i, j) with min(i, j) < H; ties go to
//     the larger block. A matrix up to similar_horizon rows so gets the best partition of all.
//  3. The block starts are a chain, r to its block's end. A chunk of rows maps each possible entry
//     (offset of the first block start at or behind the chunk's first row) to one exit; these maps
//     compose, and the composition is scanned over the chunks. Each chunk follows its now known
//     chain; starts are counted, scanned and written.
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
