#pragma once

#include <optional>
#include <vector>

#include "precond/direct/analysis/arrangement.hpp"

namespace tessera::direct {

/// The order of elimination and the pattern of factors that are made row by row.
struct RowPlan {
    std::vector<Index> order;     ///< The column of A that is eliminated k-th.
    std::vector<Index> number;    ///< Its inverse.
    std::vector<Index> parent;    ///< In the elimination tree; -1: none.
    std::vector<Offset> offsets;  ///< Where row k of U begins, if no pivot leaves the diagonal.
    std::vector<char> is_first;   ///< Whether k and k + 1 are a pair; empty: there are no pairs.
    double flops = 0;             ///< As EliminationTree::flops.

    /// How many entries L and U may have: 2.5 times as many as without pivots off the diagonal.
    //   nnc666, 2.04 times as many  by rows 2.3 ms  fronts after them 3.4
    Offset max_entries() const { return 5 * offsets.back() + Offset(order.size()); }
    Offset bytes() const {
        return Offset((order.size() + number.size() + parent.size()) * sizeof(Index) +
                      offsets.size() * sizeof(Offset) + is_first.size());
    }
};

/// Plans factors row by row; none where dense fronts take less time, as rows are long.
std::optional<RowPlan> plan_rows(const PatternView& pattern, const Arrangement& arrangement,
                                 const std::vector<Index>& order);

}  // namespace tessera::direct
