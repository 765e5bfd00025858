#pragma once

#include "precond/incomplete/symbolic/block_pattern.hpp"
#include "precond/incomplete/symbolic/pattern_view.hpp"

namespace tessera::incomplete {

// How the levels and lists of a pattern are scheduled on a GPU: small levels in groups, long lists
// in pieces.

/// The levels first .. last - 1. A single level costs at least four launches; consecutive levels
/// with little work are batched: one thread block factors them, one after the other.
struct LevelGroup {
    Index first, last;
    bool batched;
};

/// All levels; groups of batched levels, of symmetric matrices only, are as long as possible.
/// Waits.
std::vector<LevelGroup> find_level_groups(const Context& context, const BlockPattern& pattern,
                                          Index k, bool symmetric);

/// The length of the longest list, from offsets[i] to offsets[i + 1] in the memory of `context`.
/// Waits.
Offset longest_list(const Context& context, const Buffer<Offset>& offsets);

/// Maximum number of blocks, or Schur updates, of a piece. Lists much longer than the others, as
/// those of dense rows, are split into pieces, which several warps sum up.
inline constexpr Offset max_piece = 128;

/// The lists, from offsets[i] to offsets[i + 1], that are split for sums: longer than a piece and
/// than sixteen times the average.
struct SplitSums {
    SplitSums() = default;
    /// Waits.
    SplitSums(const Context& context, const Buffer<Offset>& offsets);

    template <class T>
    SplitSumsView<T> view(T* partial) const {
        return {limit,
                items.data(),
                Index(items.size()),
                first_piece.data(),
                pieces.data(),
                Index(pieces.size()),
                partial};
    }

    Offset limit = std::numeric_limits<Offset>::max();  ///< Longer lists are split.
    Buffer<Offset> items;                               ///< Indices of the lists, ascending.
    Buffer<Index> first_piece;                          ///< One more than there are items.
    Buffer<SumPiece> pieces;
};

/// The tasks of a triangular solve over lists from offsets[i] to offsets[i + 1], over ascending or
/// descending i, each row after its pieces; none if no list is longer than a piece.
struct SplitSolve {
    SplitSolve() = default;
    /// Waits.
    SplitSolve(const Context& context, const Buffer<Offset>& offsets, bool descending);

    /// Null: all rows in their order.
    const SolveTask* data() const { return tasks.empty() ? nullptr : tasks.data(); }

    Buffer<SolveTask> tasks;
    Index pieces = 0;
};

}  // namespace tessera::incomplete
