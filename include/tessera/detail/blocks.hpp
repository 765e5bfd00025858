#pragma once

#include "tessera/blocks.hpp"

namespace tessera {

/// The first block of each group, and the number of blocks, for groups of consecutive blocks that
/// have at most `rows` (1..64) rows together (larger blocks are groups of one). In the memory of
/// `context`, equal on every backend. Blocks until the work is complete.
TESSERA_API Buffer<Index> group_blocks(const Context& context, const BlockPartition& blocks,
                                       Index rows);

/// Start of each block if the blocks are stored packed, one after the other: entry_offsets[b] is
/// the sum of size^2 over the blocks before b; count + 1 of them, in the memory of `context`.
TESSERA_API void block_entry_offsets(const Context& context, const BlockPartition& blocks,
                                     std::span<Offset> entry_offsets);

/// Whether natural blocks are nodes of natural.largest unknowns, of which few have no row, as they
/// are fixed: of 2 or 3 unknowns at most one in 11, of more, where blocks of various sizes are
/// common, one in 21.
inline bool are_nodes(const BlockPartition& natural) {
    const Offset share = natural.largest <= 3 ? 10 : 20;
    return natural.largest > 1 &&
           share * Offset(natural.count) * natural.largest <= (share + 1) * Offset(natural.rows);
}

/// 3 or 2, if natural blocks have so many rows, or a multiple of them as few do: neighbouring nodes
/// with the same neighbours, as on edges of hexahedra of second order. Else 1. Blocks until the work
/// is complete.
TESSERA_API Index rows_of_joined_nodes(const Context& context, const BlockPartition& natural);

/// The unknowns of a node where consecutive rows are nodes: natural.largest, if are_nodes(natural);
/// else rows_of_joined_nodes, if that is more than 1; else 3 or 2, if natural blocks have fewer on average and blocks of so many, which divide the
/// rows, would have at most a quarter more entries than the matrix, by a sample of 2,000 to 4,000:
/// finite elements without the entries that are zero; else 1. Blocks until the work is complete.
template <class T>
TESSERA_API Index node_rows(const Context& context, const CsrView<T>& matrix,
                            const BlockPartition& natural);

}  // namespace tessera
