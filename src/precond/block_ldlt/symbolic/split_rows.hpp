#pragma once

#include <vector>

#include "precond/block_ldlt/numeric/kernels.hpp"

namespace tessera::block_ldlt {

// On a GPU a list is walked by one warp. Where a few are much longer than the others, as those of
// dense rows, they are cut into pieces that go to several warps.

/// Blocks, or products of blocks, in a piece at most.
inline constexpr Offset longest_piece = 128;

/// The tasks of a triangular solve over lists from offsets[i] to offsets[i + 1], over ascending or
/// descending i, each row behind its pieces; none where no list is longer than a piece.
std::vector<SolveTask> solve_tasks(const std::vector<Offset>& offsets, bool descending);

/// The sums over lists from offsets[i] to offsets[i + 1] that are cut: those of more than a piece
/// and sixteen times the average.
struct CutSums {
    Offset limit = 0;                ///< Longer lists are cut.
    std::vector<Offset> items;       ///< Which; ascending.
    std::vector<Index> first_piece;  ///< One more than there are items.
    std::vector<SumPiece> pieces;
};
CutSums cut_sums(const std::vector<Offset>& offsets);

}  // namespace tessera::block_ldlt
