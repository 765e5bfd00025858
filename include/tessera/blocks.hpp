#pragma once

#include <string>

#include "tessera/csr.hpp"

namespace tessera {

/// Consecutive diagonal blocks of a matrix: block b has the rows block_offsets[b] ..
/// block_offsets[b+1]-1.
struct BlockPartition {
    BlockPartition() = default;
    /// A moved-from partition has no rows and no blocks.
    BlockPartition(BlockPartition&& other) noexcept { *this = std::move(other); }
    BlockPartition& operator=(BlockPartition&& other) noexcept {
        rows = std::exchange(other.rows, 0);
        count = std::exchange(other.count, 0);
        largest = std::exchange(other.largest, 0);
        entries = std::exchange(other.entries, 0);
        block_offsets = std::move(other.block_offsets);
        options = std::move(other.options);
        return *this;
    }

    Index rows = 0;
    Index count = 0;              ///< Number of blocks.
    Index largest = 0;            ///< Rows of the largest block.
    Offset entries = 0;           ///< Sum of size^2 over the blocks.
    Buffer<Index> block_offsets;  ///< count + 1 row numbers, in the memory of a Context.
    std::string options;          ///< Option text that makes it: "32", "32,blocks=natural".
};

/// Largest number of rows of a block.
inline constexpr Index largest_block_bound = 64;
/// Default bound on the rows of a block.
inline constexpr Index default_block_bound = 32;

/// How supervariables (consecutive rows with equal patterns) become blocks of at most `bound` rows.
/// Larger supervariables are cut every `bound` rows.
enum class Blocking : std::uint8_t {
    natural,        ///< Each supervariable is a block.
    supervariable,  ///< Consecutive ones are merged greedily while they fit.
};
TESSERA_API const char* to_string(Blocking blocking);

/// Blocks of at most `bound` (1..64) rows from the pattern of a square matrix in the memory of
/// `context`, equal on every backend. Blocks until the work is complete. Source: Anzt, Dongarra,
/// Flegar, Quintana-Orti, batched Gauss-Jordan block Jacobi, section 4.
template <class T>
TESSERA_API BlockPartition find_blocks(const Context& context, const CsrView<T>& matrix,
                                       Index bound, Blocking blocking = Blocking::supervariable);
TESSERA_ACCEPT_OWNERS(find_blocks)

/// Blocks of `size` rows (1..64); the last one is smaller when size does not divide rows.
TESSERA_API BlockPartition uniform_partition(const Context& context, Index rows, Index size);

/// Blocks from the caller's offsets (host memory): ascending from 0 to rows, none empty, none above
/// 64 rows. Throws InvalidArgument that names the first invalid block.
TESSERA_API BlockPartition blocks_from_offsets(const Context& context, Index rows,
                                               std::span<const Index> block_offsets);

}  // namespace tessera
