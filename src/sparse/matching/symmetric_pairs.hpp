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

/// For symmetric costs: duals that are the same for rows and columns, dual_i + dual_j <= cost_ij,
/// and a matching of rows with each other, or with themselves, on entries that they make tight.
///
/// An auction: a bid is the reduction transfer of Jonker and Volgenant (see ShortestPaths) for a
/// row and for the column with its number at once. That is half of the work where both halves have
/// the same answer, and far less than half in a saddle-point system: its constraints, few, choose
/// among many variables, and the variables that they take have their columns at once, for which
/// they would compete otherwise. Cycles of odd length cannot be matched so: what goes round one is
/// stopped and left unmatched, as are a few ties.
class SymmetricPairs {
  public:
    /// What a bid needs of a row, in one place of memory.
    struct Vertex {
        double dual = infinite;
        Index partner = -1;  ///< Itself: on the diagonal. -1: none.
        Index bids = 0;
    };

    /// Costs that are not symmetric give duals that are not feasible. The result is the same for
    /// every number of threads.
    SymmetricPairs(const Costs& costs, int threads);
    const std::vector<Vertex>& vertices() const { return vertices_; }

  private:
    struct Nearest {
        double first = infinite, second = infinite;
        double first_cost = infinite;
        Index first_row = -1, second_row = -1;
    };

    void halve_diagonal();
    void choose_other_duals();
    bool depends_on_order(Index i) const;
    void choose_dual(Index i);
    std::vector<Index> bid_round(const std::vector<Index>& free_rows);
    Nearest nearest(Index i) const;
    Index bid(Index i, std::vector<Index>& left);
    Index take(Index i, Index j);
    /// Inlined, as compilers drop calls that only ask for memory.
    [[gnu::always_inline]] inline void prefetch(Index i, int stage) const;

    bool is_at_home(Index j) const { return vertices_[j].partner < 0 || vertices_[j].partner == j; }

    Costs costs_;
    int threads_;
    std::vector<Vertex> vertices_;
    std::vector<char> waiting_;  ///< For a dual that depends on those before it.
    Offset budget_;              ///< Entries that bids may still look at.
};

}  // namespace tessera::matching
