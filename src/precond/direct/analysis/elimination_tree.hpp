#pragma once

#include <vector>

#include "precond/direct/analysis/arrangement.hpp"

namespace tessera::direct {

/// The elimination tree of a symmetric pattern: the parent of column k is the first row below the
/// diagonal of column k of its factor.
struct EliminationTree {
    std::vector<Index> order;   ///< The column of the pattern that is eliminated k-th.
    std::vector<Index> number;  ///< Its inverse.
    std::vector<Index> parent;  ///< Larger than k; -1: none. Subtrees are ranges that end at k.
    std::vector<Index> counts;  ///< Entries of column k of the factor below the diagonal.

    /// Operations of a factorisation, by columns: LDL^T, or twice as many for LU.
    double flops(bool symmetric) const;
};

/// Renumbers `order` so that each subtree is a range (postorder), which changes no count.
EliminationTree make_elimination_tree(const PatternView& pattern, std::vector<Index> order);

}  // namespace tessera::direct
