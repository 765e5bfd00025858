#include "sparse/matching/symmetric_auction.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/parallel.hpp"

namespace tessera::matching {

namespace {

/// Bids of a row; more of them indicate an odd cycle.
constexpr Index max_bids = 32;
/// Work budget of the auction phase: max average reads per entry.
constexpr Offset max_scans = 8;
/// Rounds of the auction; rows that a tie displaces bid again in the next.
constexpr int max_rounds = 4;
/// Bidders that are interleaved, each a prefetch ahead, to hide the latency of memory.
constexpr std::size_t interleaved_bidders = 16;

}  // namespace

SymmetricAuction::SymmetricAuction(const Costs& costs, int threads)
    : costs_(costs),
      threads_(threads),
      vertices_(std::size_t(costs.rows)),
      pending_(std::size_t(costs.rows), 0),
      budget_(max_scans * costs.row_offsets[costs.rows]) {
    start_from_diagonal();
    choose_initial_duals();
    std::vector<Index> left;
    for (Index i = 0; i < costs_.rows; ++i) {
        if (vertices_[i].partner < 0) left.push_back(i);
    }
    for (int round = 0; round < max_rounds && !left.empty(); ++round) left = auction_round(left);
}

/// Chooses half the cost of the diagonal as initial duals. Rows whose dual is feasible with those
/// of all neighbours are matched with themselves; in saddle-point systems these are usually most
/// rows of the first block.
void SymmetricAuction::start_from_diagonal() {
    parallel_ranges(threads_, costs_.rows, [&](Offset begin, Offset end) {
        for (Index i = Index(begin); i < Index(end); ++i) {
            const Index* const first = costs_.columns + costs_.row_offsets[i];
            const Index* const last = costs_.columns + costs_.row_offsets[i + 1];
            const Index* const diagonal = std::lower_bound(first, last, i);
            if (diagonal != last && *diagonal == i)
                vertices_[i].dual = costs_.costs[diagonal - costs_.columns] / 2;
        }
    });
    parallel_ranges(threads_, costs_.rows, [&](Offset begin, Offset end) {
        for (Index i = Index(begin); i < Index(end); ++i) {
            pending_[i] = conflicts_with_neighbour(i);
            if (!pending_[i] && vertices_[i].dual < infinite) vertices_[i].partner = i;
        }
    });
}

/// Whether the dual of row i is infeasible with that of a neighbour, or both rows have no diagonal.
/// For such rows the result depends on the order in which duals are chosen.
bool SymmetricAuction::conflicts_with_neighbour(Index i) const {
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

/// The largest dual that is feasible with the duals chosen so far.
void SymmetricAuction::choose_initial_dual(Index i) {
    double dual = vertices_[i].dual, least = infinite;
    for (Offset k = costs_.row_offsets[i]; k < costs_.row_offsets[i + 1]; ++k) {
        const Index j = costs_.columns[k];
        if (costs_.costs[k] == infinite || j == i) continue;
        least = std::min(least, costs_.costs[k]);
        if (pending_[j] || vertices_[j].dual == infinite) continue;
        dual = std::min(dual, costs_.costs[k] - vertices_[j].dual);
    }
    if (dual == infinite) dual = least < infinite ? least / 2 : 0;
    vertices_[i].dual = dual;
}

/// The pending rows, those with few entries first.
std::vector<Index> SymmetricAuction::pending_by_length() const {
    const auto length = [this](Index i) {
        return std::size_t(costs_.row_offsets[i + 1] - costs_.row_offsets[i]);
    };
    std::vector<Index> begin(1, 0);  // Where rows of each length begin, once they are counted.
    for (Index i = 0; i < costs_.rows; ++i) {
        if (!pending_[i]) continue;
        if (length(i) + 2 > begin.size()) begin.resize(length(i) + 2, 0);
        ++begin[length(i) + 1];
    }
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<Index> order(static_cast<std::size_t>(begin.back()));
    for (Index i = 0; i < costs_.rows; ++i) {
        if (pending_[i]) order[std::size_t(begin[length(i)]++)] = i;
    }
    return order;
}

/// Chooses initial duals of rows with a diagonal first, then of those without; in both groups, of
/// rows with few entries first. Rows without conflicts do not depend on the order: these run in
/// parallel.
void SymmetricAuction::choose_initial_duals() {
    const std::vector<Index> order = pending_by_length();
    for (const Index i : order) {
        if (vertices_[i].dual == infinite) continue;
        choose_initial_dual(i);
        pending_[i] = 0;
    }
    parallel_ranges(threads_, costs_.rows, [&](Offset begin, Offset end) {
        for (Index i = Index(begin); i < Index(end); ++i) {
            if (!pending_[i] && vertices_[i].dual == infinite) choose_initial_dual(i);
        }
    });
    for (const Index i : order) {
        if (!pending_[i]) continue;
        choose_initial_dual(i);
        pending_[i] = 0;
    }
}

/// Prefetches the data of the next stage of a bid of this row.
void SymmetricAuction::prefetch(Index i, int stage) const {
    if (stage == 0) {
        __builtin_prefetch(costs_.row_offsets + i);
        return;
    }
    // The hardware prefetches the rest of long rows.
    constexpr Offset max_prefetched = 16, line = 16;
    const Offset first = costs_.row_offsets[i];
    const Offset last = std::min(costs_.row_offsets[i + 1], first + max_prefetched);
    if (stage == 1) {
        for (Offset k = first; k < last; k += line) __builtin_prefetch(costs_.columns + k);
        for (Offset k = first; k < last; k += line / 2) __builtin_prefetch(costs_.costs + k);
    } else {
        for (Offset k = first; k < last; ++k) __builtin_prefetch(&vertices_[costs_.columns[k]]);
    }
}

/// Each row bids, then the row that it displaces, and so on. Returns rows that gave up; some may
/// have been matched later.
std::vector<Index> SymmetricAuction::auction_round(const std::vector<Index>& free_rows) {
    struct Bidder {
        Index row = -1;
        int stage = 0;
    };
    constexpr int stages = 3;
    std::array<Bidder, interleaved_bidders> active;
    std::vector<Index> left;
    std::size_t next = 0, ended = 0;
    for (std::size_t c = 0; ended < interleaved_bidders; c = (c + 1) % interleaved_bidders) {
        Bidder& bidder = active[c];
        if (bidder.row >= 0 && bidder.stage == stages) bidder = {bid(bidder.row, left), 0};
        if (bidder.row < 0) {
            if (next == free_rows.size()) {
                ended += bidder.stage == 0;
                bidder.stage = 1;
                continue;
            }
            bidder = {free_rows[next++], 0};
        }
        prefetch(bidder.row, bidder.stage++);
    }
    return left;
}

/// The two rows j with the smallest cost_ij - dual_j (for i itself half the cost). A free row comes
/// before others that are equally near.
SymmetricAuction::Nearest SymmetricAuction::nearest(Index i) const {
    Nearest nearest;
    for (Offset k = costs_.row_offsets[i]; k < costs_.row_offsets[i + 1]; ++k) {
        const Index j = costs_.columns[k];
        const double cost = costs_.costs[k];
        const double least = j == i ? cost / 2 : cost - vertices_[j].dual;
        if (least < nearest.first ||
            (least == nearest.first && least < infinite && is_free_or_diagonal(j) &&
             !is_free_or_diagonal(nearest.first_row))) {
            nearest.second = nearest.first;
            nearest.second_row = nearest.first_row;
            nearest.first = least;
            nearest.first_cost = cost;
            nearest.first_row = j;
        } else if (least < nearest.second) {
            nearest.second = least;
            nearest.second_row = j;
        }
    }
    return nearest;
}

/// Matches i and j and returns the displaced partner of j, -1: none.
Index SymmetricAuction::match(Index i, Index j) {
    const Index before = vertices_[j].partner;
    if (before >= 0) vertices_[before].partner = -1;
    vertices_[i].partner = j;
    vertices_[j].partner = i;
    return before == j ? -1 : before;
}

/// Matches a free row with its nearest row, whose dual is lowered until the second nearest is as
/// near. Returns the row that bids next, -1: none; abandoned rows are added to `left`.
Index SymmetricAuction::bid(Index i, std::vector<Index>& left) {
    if (vertices_[i].partner >= 0) return -1;
    budget_ -= costs_.row_offsets[i + 1] - costs_.row_offsets[i];
    const Nearest near = nearest(i);
    const Index j = near.first_row;
    if (j < 0) return -1;
    const bool is_only = near.second == infinite, is_tie = near.first == near.second;
    if (j == i || ((is_only || is_tie) && is_free_or_diagonal(j))) {
        vertices_[i].dual = near.first;
        match(i, j);
        return -1;
    }
    if (is_only || budget_ < 0 || vertices_[i].bids == max_bids) {
        left.push_back(i);
        return -1;
    }
    ++vertices_[i].bids;
    vertices_[i].dual = near.second;
    if (is_tie) {
        // No dual changes: the displaced row bids in the next round.
        left.push_back(match(i, near.second_row));
        return -1;
    }
    vertices_[j].dual = near.first_cost - near.second;
    return match(i, j);
}

}  // namespace tessera::matching
