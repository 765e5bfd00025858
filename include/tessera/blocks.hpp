#pragma once

#include <string>

#include "tessera/csr.hpp"

namespace tessera {

/// A split of the rows 0 .. rows-1 into consecutive diagonal blocks: block b has the rows
/// block_offsets[b] .. block_offsets[b+1]-1.
struct BlockPartition {
    Index rows = 0;
    Index count = 0;              ///< Blocks.
    Index largest = 0;            ///< Rows of the largest block.
    Offset entries = 0;           ///< Sum of size^2 over the blocks.
    Buffer<Index> block_offsets;  ///< count + 1 rows, in the memory of a Context.
    std::string options;          ///< How it was made, as text: "32", "32,blocks=natural".
};

/// Largest block that find_blocks makes.
inline constexpr Index largest_block_bound = 32;

/// Supervariable blocking: consecutive rows with equal patterns form supervariables, which are
/// agglomerated, first come first served, while their rows stay within `bound` (1..32; a longer
/// supervariable is cut every `bound` rows). `agglomerate` false returns the supervariables
/// themselves (cut at `bound`). The matrix is square and in the memory of `context`. Equal results
/// on every backend and for every number of threads. Waits (the counts go to the host).
/// Source: Anzt, Dongarra, Flegar, Quintana-Orti, batched Gauss-Jordan block Jacobi, section 4.
template <class T>
TESSERA_API BlockPartition find_blocks(const Context& context, const CsrView<T>& matrix,
                                       Index bound, bool agglomerate = true);

/// Blocks of `size` rows (1..32); the last one is smaller when size does not divide rows.
TESSERA_API BlockPartition uniform_blocks(const Context& context, Index rows, Index size);

/// Blocks from the caller's offsets (host memory): ascending from 0 to rows, none empty, none above
/// 32 rows. Throws InvalidArgument that names the first block at fault.
TESSERA_API BlockPartition blocks_from_offsets(const Context& context, Index rows,
                                               std::span<const Index> block_offsets);

/// Groups of consecutive blocks that have at most `rows` (1..64) rows together, first come first
/// served; a block larger than that is a group of its own. Group g starts with block groups[g];
/// number of groups + 1 of them, in the memory of `context`. Equal results on every backend and for
/// every number of threads. Waits (their number goes to the host).
TESSERA_API Buffer<Index> group_blocks(const Context& context, const BlockPartition& blocks,
                                       Index rows);

/// Where each block starts when the blocks are stored packed, one after the other: entry_offsets[b]
/// is the sum of size^2 over the blocks before b; count + 1 of them, in the memory of `context`.
TESSERA_API void block_entry_offsets(const Context& context, const BlockPartition& blocks,
                                     std::span<Offset> entry_offsets);

}  // namespace tessera
