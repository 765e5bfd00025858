#pragma once

#include "tessera/blocks.hpp"

namespace tessera {

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
