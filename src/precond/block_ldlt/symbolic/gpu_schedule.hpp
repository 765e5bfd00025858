#pragma once

#include "precond/block_ldlt/symbolic/block_pattern.hpp"
#include "precond/block_ldlt/symbolic/pattern_view.hpp"

namespace tessera::block_ldlt {

// How a GPU takes the levels and the lists of a pattern.

/// The levels first .. last - 1. A level costs four launches at least: consecutive levels with
/// little work are batched, one thread block does them all, one after the other.
struct LevelGroup {
    Index first, last;
    bool batched;
};

/// All levels, batched ones in groups as long as they can be.
std::vector<LevelGroup> find_level_groups(const BlockPattern& pattern, Index k);

/// Blocks, or products of blocks, that a warp sums up at most: where a few lists are much longer
/// than the others, as those of dense rows, they are split into pieces for several warps.
inline constexpr Offset longest_piece = 128;

/// The lists from offsets[i] to offsets[i + 1] that are split for sums over them: those of more
/// than a piece and sixteen times the average.
struct SplitSums {
    SplitSums() = default;
    SplitSums(const Context& context, const std::vector<Offset>& offsets);

    template <class T>
    LongSums<T> view(T* partial) const {
        return {limit,
                items.data(),
                Index(items.size()),
                first_piece.data(),
                pieces.data(),
                Index(pieces.size()),
                partial};
    }

    Offset limit = std::numeric_limits<Offset>::max();  ///< Longer lists are split.
    Buffer<Offset> items;                               ///< Which; ascending.
    Buffer<Index> first_piece;                          ///< One more than there are items.
    Buffer<SumPiece> pieces;
};

/// The tasks of a triangular solve over lists from offsets[i] to offsets[i + 1], over ascending or
/// descending i, each row after its pieces; none where no list is longer than a piece.
struct SplitSolve {
    SplitSolve() = default;
    SplitSolve(const Context& context, const std::vector<Offset>& offsets, bool descending);

    /// Null: all rows in their order.
    const SolveTask* data() const { return tasks.empty() ? nullptr : tasks.data(); }

    Buffer<SolveTask> tasks;
    Index pieces = 0;
};

}  // namespace tessera::block_ldlt
