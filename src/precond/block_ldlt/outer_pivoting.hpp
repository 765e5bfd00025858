#pragma once

#include <span>

#include "precond/block_ldlt/symbolic/block_pattern.hpp"

namespace tessera::block_ldlt {

/// Outer pivoting: an order of block rows in which those with unusable pivots stand behind the
/// others. Blocks keep the numbers that they had at first.
struct PushedBlocks {
    std::vector<Index> order;     ///< Block at each position.
    std::vector<Index> position;  ///< Of each block: the inverse of `order`.
    std::vector<Index> pushes;    ///< How often each block was pushed.

    explicit PushedBlocks(Index block_rows);
    /// Pushes `blocks` once more, and sorts all by their pushes, stable.
    void push(std::span<const Index> blocks);
};

/// The same pairs of block rows in the new order, where a block (a, b) that now has a before b is
/// the transposed one; and the grid in that order. No block comes or goes: only which updates lie
/// within the pattern changes.
BlockRows reorder_blocks(const BlockRows& blocks, const PushedBlocks& pushed, int threads);
Grid reorder_grid(const Grid& grid, const PushedBlocks& pushed);

}  // namespace tessera::block_ldlt
