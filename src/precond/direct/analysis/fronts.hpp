#pragma once

#include <span>
#include <vector>

#include "precond/direct/analysis/elimination_tree.hpp"

namespace tessera::direct {

/// An entry of A in a front, in host memory.
struct FrontEntry {
    Offset position;    ///< Its index in the values of A.
    Index row, column;  ///< In the front before delayed pivots are inserted.
};

/// The dense matrices in which an arranged matrix is factored. Front s has rows and columns
/// first[s] .. first[s + 1] - 1, in order of elimination, then those of below(s). Its own ones are
/// eliminated; what remains is added to its parent.
struct Fronts {
    Index rows = 0;
    bool symmetric = false;
    std::vector<Index> row, column;  ///< The row and the column of A that are eliminated k-th.
    std::vector<Index> first;        ///< One more than there are fronts.
    std::vector<Index> parent;       ///< -1: none. Children come before their parents.
    std::vector<Offset> child_offsets;
    std::vector<Index> children_of;
    std::vector<Offset> below_offsets;
    std::vector<Index> rows_below;   ///< Ascending.
    std::vector<Index> parent_rows;  ///< The row of each in the front of the parent.
    std::vector<Offset> entry_offsets;
    std::vector<FrontEntry> entries;
    /// First front of each diagonal block of the block triangular form, and the number of fronts.
    std::vector<Index> block_fronts;
    /// Entries of row k right of its diagonal block: their columns, in order of elimination, and
    /// positions in the values of A.
    std::vector<Offset> coupling_offsets;
    std::vector<Index> coupling_columns;
    std::vector<Offset> coupling_positions;
    /// What factors and contributions of one thread take at the most, without delayed pivots.
    double predicted_entries = 0;

    Index count() const { return Index(first.size()) - 1; }
    Index width(Index front) const { return first[front + 1] - first[front]; }
    std::span<const Index> below(Index front) const {
        return list(below_offsets, rows_below, front);
    }
    std::span<const Index> rows_in_parent(Index front) const {
        return list(below_offsets, parent_rows, front);
    }
    std::span<const Index> children(Index front) const {
        return list(child_offsets, children_of, front);
    }
    /// Rows, without delayed pivots.
    Index size(Index front) const { return width(front) + Index(below(front).size()); }
    /// Operations of the front.
    double flops(Index front) const;
    Offset bytes() const;

  private:
    static std::span<const Index> list(const std::vector<Offset>& offsets,
                                       const std::vector<Index>& items, Index front) {
        return {items.data() + offsets[front], std::size_t(offsets[front + 1] - offsets[front])};
    }
};

/// Throws OutOfMemory unless so many bytes are at most a share of the free host memory.
void require_memory(double bytes, double share);

/// Groups columns of similar pattern into fronts, with a limited number of zeros. Throws
/// OutOfMemory where factors of type T would take more host memory than they may.
template <class T>
Fronts make_fronts(const CsrView<T>& matrix, const Arrangement& arrangement,
                   const EliminationTree& tree);

}  // namespace tessera::direct
