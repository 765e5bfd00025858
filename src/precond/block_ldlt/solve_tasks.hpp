#pragma once

#include <vector>

#include "precond/block_ldlt/kernels.hpp"

namespace tessera::block_ldlt {

/// Longer lists of a block row (block column) are cut into pieces of at most so many blocks.
inline constexpr Offset longest_piece = 128;

/// The tasks of a triangular solve over lists from offsets[i] to offsets[i + 1], over ascending or
/// descending i, each row behind its pieces; none where no list is longer than a piece.
std::vector<SolveTask> solve_tasks(const std::vector<Offset>& offsets, bool descending);

}  // namespace tessera::block_ldlt
