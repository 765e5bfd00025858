#pragma once

#include <cstddef>

#include "base/dispatch.hpp"
#include "base/host_device.hpp"
#include "tessera/block_jacobi.hpp"

namespace tessera {

/// Bytes of a value in a format: any but working and adaptive.
constexpr int bytes_of(BlockPrecision format) {
    return format == BlockPrecision::f64 ? 8 : format == BlockPrecision::f32 ? 4 : 2;
}

/// A block-diagonal matrix as block Jacobi stores it: block b column-major, without gaps between
/// its columns, from byte starts[b] * unit on; all arrays in the memory of a Context. If formats
/// differ from block to block, the unit is 8, so that a block may end with up to 7 unused bytes;
/// else it is the size of a value, and nothing is unused. The bytes are aligned to 16 bytes, and 16
/// more than starts[count] * unit may be read.
struct StoredBlocks {
    Index rows = 0;
    Index count = 0;
    Index largest = 0;      ///< Rows of the largest block, 0..64.
    bool one_size = false;  ///< GPU: all blocks but the last are known to have `largest` rows.
    const Index* block_offsets = nullptr;         ///< count + 1 rows.
    const Offset* starts = nullptr;               ///< count + 1 starts, in units.
    int unit = 0;                                 ///< Bytes per unit.
    BlockPrecision format = BlockPrecision::f64;  ///< Format of all blocks, if formats is nullptr.
    const BlockPrecision* formats = nullptr;      ///< count formats, or nullptr.
    const std::byte* bytes = nullptr;
    /// If one_size and mixed: the largest number of units of a chunk of blocks_per_chunk blocks.
    Offset max_chunk_units = 0;
    /// GPU: groups of consecutive blocks with at most max_group_rows rows in all; group g starts
    /// with block groups[g]. group_count + 1 of them.
    Index group_count = 0;
    const Index* groups = nullptr;

    TESSERA_HOST_DEVICE BlockPrecision format_of(Offset b) const {
        return formats == nullptr ? format : formats[b];
    }
    TESSERA_HOST_DEVICE const std::byte* block(Offset b) const { return bytes + starts[b] * unit; }
};

/// The largest number of rows of a group of blocks.
constexpr Index max_group_rows(Index largest) { return largest <= 32 ? 32 : 64; }

/// Blocks of one size per chunk, if their formats differ.
constexpr Index blocks_per_chunk(Index largest) { return 64 / largest; }

/// z_b = X_b r_b for each stored block and each vector, or, if `transposed`, X_b^T r_b for one
/// vector; no overlap. Values are converted to T exactly; T is float or double, and float excludes
/// f64. The error of an element is at most gamma_n sum_j
/// |x_ij| |r_j| in T. The order of a sum depends only on the block's size, its row and the
/// transpose, so that results are bitwise equal whatever the other blocks and vectors are. The host
/// must have waited for the kernels that wrote the blocks: on a GPU apply begins to read them
/// before the previous work of the stream has ended. Asynchronous on a GPU.
TESSERA_BACKENDS(template <class T> void apply(const Context& context, const StoredBlocks& blocks,
                                               bool transposed, Vectors<const T> r, Vectors<T> z);)

}  // namespace tessera
