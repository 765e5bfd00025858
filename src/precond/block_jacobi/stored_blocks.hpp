#pragma once

#include <cstddef>

#include "tessera/precond.hpp"

namespace tessera {

/// Bytes of a value.
constexpr int bytes_of(BlockFormat format) {
    return format == BlockFormat::f64                                           ? 8
           : format == BlockFormat::f32 || format == BlockFormat::truncated_f64 ? 4
                                                                                : 2;
}

/// A block-diagonal matrix as block Jacobi keeps it: block b column-major, without gaps between its
/// columns, from byte starts[b] * unit on; all arrays in the memory of a Context.
/// Where formats differ from block to block the unit is 8, so that a block may end with up to 7
/// unused bytes; where all are the same it is a value, and nothing is unused. The bytes are 16
/// bytes aligned, and 16 more than starts[count] * unit may be read.
struct StoredBlocks {
    Index rows = 0;
    Index count = 0;
    Index largest = 0;                      ///< Rows of the largest block, 0..64.
    const Index* block_offsets = nullptr;   ///< count + 1 rows.
    const Offset* starts = nullptr;         ///< count + 1, in units.
    int unit = 0;                           ///< Bytes.
    BlockFormat format = BlockFormat::f64;  ///< Of all blocks, where formats is nullptr.
    const BlockFormat* formats = nullptr;   ///< count, or nullptr.
    const std::byte* bytes = nullptr;
    /// GPU: groups of consecutive blocks that have at most group_rows rows together; group g starts
    /// with block groups[g]. group_count + 1 of them.
    Index group_count = 0;
    const Index* groups = nullptr;
};

/// Rows that the blocks of a group have together at most.
constexpr Index group_rows(Index largest) { return largest <= 32 ? 32 : 64; }

}  // namespace tessera
