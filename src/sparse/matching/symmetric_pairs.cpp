#include "sparse/matching/symmetric_pairs.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/parallel.hpp"

namespace tessera::matching {

namespace {

/// A row that has bid so often goes round an odd cycle, or could as well.
constexpr Index most_bids = 32;
/// Bids look at each entry so many times on average.
constexpr Offset most_looks = 8;
/// Rows that are displaced without a gain, by ties, are looked at again so many times.
constexpr int most_rounds = 4;
/// Chains of bids side by side: while one waits for memory, others go on.
constexpr std::size_t chains = 16;

}  // namespace

SymmetricPairs::SymmetricPairs(const Costs& costs, int threads)
    : costs_(costs),
      threads_(threads),
      vertices_(std::size_t(costs.rows)),
      waiting_(std::size_t(costs.rows), 0),
      budget_(most_looks * costs.row_offsets[costs.rows]) {
    halve_diagonal();
    choose_other_duals();
    std::vector<Index> left;
    for (Index i = 0; i < costs_.rows; ++i) {
        if (vertices_[i].partner < 0) left.push_back(i);
    }
    for (int round = 0; round < most_rounds && !left.empty(); ++round) left = bid_round(left);
}

/// Half the cost of the diagonal where there is one. Who has such a dual, and no neighbour whose
/// own one is too large beside it, keeps both: in most saddle-point systems that is most of the
/// first block.
void SymmetricPairs::halve_diagonal() {
    parallel_ranges(threads_, costs_.rows, [&](Offset begin, Offset end) {
        for (Index i = Index(begin); i < Index(end); ++i) {
            const Index* const first = costs_.columns + costs_.row_offsets[i];
            const Index* const last = costs_.columns + costs_.row_offsets[i + 1];
            const Index* const at = std::lower_bound(first, last, i);
            if (at != last && *at == i) vertices_[i].dual = costs_.costs[at - costs_.columns] / 2;
        }
    });
    parallel_ranges(threads_, costs_.rows, [&](Offset begin, Offset end) {
        for (Index i = Index(begin); i < Index(end); ++i) {
            waiting_[i] = depends_on_order(i);
            if (!waiting_[i] && vertices_[i].dual < infinite) vertices_[i].partner = i;
        }
    });
}

/// Whether the halves of two diagonals are together larger than the cost between them, or both rows
/// have no diagonal.
bool SymmetricPairs::depends_on_order(Index i) const {
    const double dual = vertices_[i].dual;
    for (Offset k = costs_.row_offsets[i]; k < costs_.row_offsets[i + 1]; ++k) {
        const Index j = costs_.columns[k];
        if (j == i || costs_.costs[k] == infinite) continue;
        const double other = vertices_[j].dual;
        if (dual < infinite ? other < infinite && costs_.costs[k] - other < dual
                            : other == infinite) {
            return true;
        }
    }
    return false;
}

/// As large as the duals of the neighbours that have theirs allow; who has none yet looks at this
/// one later.
void SymmetricPairs::choose_dual(Index i) {
    double dual = vertices_[i].dual, least = infinite;
    for (Offset k = costs_.row_offsets[i]; k < costs_.row_offsets[i + 1]; ++k) {
        const Index j = costs_.columns[k];
        if (costs_.costs[k] == infinite || j == i) continue;
        least = std::min(least, costs_.costs[k]);
        if (waiting_[j] || vertices_[j].dual == infinite) continue;
        dual = std::min(dual, costs_.costs[k] - vertices_[j].dual);
    }
    if (dual == infinite) dual = least < infinite ? least / 2 : 0;
    vertices_[i].dual = dual;
}

/// First those that have a diagonal; then those without, whose order matters only where they are
/// neighbours of each other. Rows with few entries come first: of many, one takes the least.
void SymmetricPairs::choose_other_duals() {
    std::vector<std::pair<Offset, Index>> order[2];  // With a diagonal, without.
    for (Index i = 0; i < costs_.rows; ++i) {
        if (!waiting_[i]) continue;
        const Offset length = costs_.row_offsets[i + 1] - costs_.row_offsets[i];
        order[vertices_[i].dual == infinite].emplace_back(length, i);
    }
    for (auto& part : order) std::ranges::sort(part);
    const auto choose_in_order = [&](const std::vector<std::pair<Offset, Index>>& rows) {
        for (const auto& [length, i] : rows) {
            choose_dual(i);
            waiting_[i] = 0;
        }
    };
    choose_in_order(order[0]);
    parallel_ranges(threads_, costs_.rows, [&](Offset begin, Offset end) {
        for (Index i = Index(begin); i < Index(end); ++i) {
            if (!waiting_[i] && vertices_[i].dual == infinite) choose_dual(i);
        }
    });
    choose_in_order(order[1]);
}

/// Asks for what the next stage of a bid of this row reads.
void SymmetricPairs::prefetch(Index i, int stage) const {
    if (stage == 0) {
        __builtin_prefetch(costs_.row_offsets + i);
        return;
    }
    // Of long rows the processor asks for more by itself.
    constexpr Offset most = 16, line = 16;
    const Offset first = costs_.row_offsets[i];
    const Offset last = std::min(costs_.row_offsets[i + 1], first + most);
    if (stage == 1) {
        for (Offset k = first; k < last; k += line) __builtin_prefetch(costs_.columns + k);
        for (Offset k = first; k < last; k += line / 2) __builtin_prefetch(costs_.costs + k);
    } else {
        for (Offset k = first; k < last; ++k) __builtin_prefetch(&vertices_[costs_.columns[k]]);
    }
}

/// Each of the rows bids, then the one that it displaces, and so on. Returns rows that are free
/// then; some are not any more.
std::vector<Index> SymmetricPairs::bid_round(const std::vector<Index>& free_rows) {
    struct Chain {
        Index row = -1;
        int stage = 0;
    };
    constexpr int stages = 3;
    std::array<Chain, chains> active;
    std::vector<Index> left;
    std::size_t next = 0, ended = 0;
    for (std::size_t c = 0; ended < chains; c = (c + 1) % chains) {
        Chain& chain = active[c];
        if (chain.row >= 0 && chain.stage == stages) chain = {bid(chain.row, left), 0};
        if (chain.row < 0) {
            if (next == free_rows.size()) {
                ended += chain.stage == 0;
                chain.stage = 1;
                continue;
            }
            chain = {free_rows[next++], 0};
        }
        prefetch(chain.row, chain.stage++);
    }
    return left;
}

/// The two rows with the least cost_ij - dual_j, or half the cost for the row itself. Of equal ones
/// the first is one that can be had.
SymmetricPairs::Nearest SymmetricPairs::nearest(Index i) const {
    Nearest found;
    for (Offset k = costs_.row_offsets[i]; k < costs_.row_offsets[i + 1]; ++k) {
        const Index j = costs_.columns[k];
        const double cost = costs_.costs[k];
        const double least = j == i ? cost / 2 : cost - vertices_[j].dual;
        if (least < found.first || (least == found.first && least < infinite && is_at_home(j) &&
                                    !is_at_home(found.first_row))) {
            found.second = found.first;
            found.second_row = found.first_row;
            found.first = least;
            found.first_cost = cost;
            found.first_row = j;
        } else if (least < found.second) {
            found.second = least;
            found.second_row = j;
        }
    }
    return found;
}

/// Makes a pair and returns the row that is displaced, -1: none.
Index SymmetricPairs::take(Index i, Index j) {
    const Index before = vertices_[j].partner;
    if (before >= 0) vertices_[before].partner = -1;
    vertices_[i].partner = j;
    vertices_[j].partner = i;
    return before == j ? -1 : before;
}

/// A row that has no partner takes its nearest one, whose dual goes down until the second nearest
/// is as near. Returns the row that bids next, -1: none; those that are given up go to `left`.
Index SymmetricPairs::bid(Index i, std::vector<Index>& left) {
    if (vertices_[i].partner >= 0) return -1;
    budget_ -= costs_.row_offsets[i + 1] - costs_.row_offsets[i];
    const Nearest near = nearest(i);
    const Index j = near.first_row;
    if (j < 0) return -1;
    const bool is_only = near.second == infinite, is_tie = near.first == near.second;
    if (j == i || ((is_only || is_tie) && is_at_home(j))) {
        vertices_[i].dual = near.first;
        take(i, j);
        return -1;
    }
    if (is_only || budget_ < 0 || vertices_[i].bids == most_bids) {
        left.push_back(i);
        return -1;
    }
    ++vertices_[i].bids;
    vertices_[i].dual = near.second;
    if (is_tie) {
        // No dual changes: whom it displaces waits for the next round.
        left.push_back(take(i, near.second_row));
        return -1;
    }
    vertices_[j].dual = near.first_cost - near.second;
    return take(i, j);
}

}  // namespace tessera::matching
