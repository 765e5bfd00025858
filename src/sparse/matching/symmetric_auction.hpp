#pragma once

#include <limits>
#include <vector>

#include "tessera/types.hpp"

namespace tessera::matching {

inline constexpr double infinite = std::numeric_limits<double>::infinity();

/// The assignment problem: costs of entries in compressed rows; an infinite cost is no entry.
struct Costs {
    Index rows;
    const Offset* row_offsets;
    const Index* columns;
    const double* costs;
};

/// Auction phase of the assignment problem for symmetric costs. Dual variables are the same for
/// rows and columns, dual_i + dual_j <= cost_ij; rows are matched in pairs, or with themselves, on
/// entries with equality.
///
/// A bid is the reduction transfer of Jonker and Volgenant (see ShortestPaths) for row i and column
/// i at once: half of the work, and far less in a saddle-point system, where each of the few
/// constraints matches a row and a column by one bid. Odd cycles cannot be matched in pairs: the
/// number of bids is limited, and such rows, and a few ties, stay unmatched.
class SymmetricAuction {
  public:
    /// All data of a row that a bid reads, in one cache line.
    struct Vertex {
        double dual = infinite;
        Index partner = -1;  ///< The row itself: on the diagonal. -1: none.
        Index bids = 0;
    };

    /// Costs that are not symmetric give infeasible duals. The result is equal for every number of
    /// threads.
    SymmetricAuction(const Costs& costs, int threads);
    const std::vector<Vertex>& vertices() const { return vertices_; }

  private:
    struct Nearest {
        double first = infinite, second = infinite;
        double first_cost = infinite;
        Index first_row = -1, second_row = -1;
    };

    void start_from_diagonal();
    void choose_initial_duals();
    std::vector<Index> pending_by_length() const;
    bool conflicts_with_neighbour(Index i) const;
    void choose_initial_dual(Index i);
    std::vector<Index> auction_round(const std::vector<Index>& free_rows);
    Nearest nearest(Index i) const;
    Index bid(Index i, std::vector<Index>& left);
    Index match(Index i, Index j);
    /// Inlined, as compilers drop calls that only prefetch.
    [[gnu::always_inline]] inline void prefetch(Index i, int stage) const;

    bool is_free_or_diagonal(Index j) const {
        return vertices_[j].partner < 0 || vertices_[j].partner == j;
    }

    Costs costs_;
    int threads_;
    std::vector<Vertex> vertices_;
    std::vector<char> pending_;  ///< Rows whose initial dual is not chosen yet.
    Offset budget_;              ///< Remaining number of entries that bids may read.
};

}  // namespace tessera::matching
