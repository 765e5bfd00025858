#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "tessera/types.hpp"

namespace tessera::matching {

inline constexpr double infinite = std::numeric_limits<double>::infinity();

/// The assignment problem: costs >= 0 of entries in compressed rows; an infinite cost is no entry.
struct Costs {
    Index rows;
    const Offset* row_offsets;
    const Index* columns;
    const double* costs;
};

/// A matching of least cost among those of the largest cardinality, and duals with
/// row_dual_i + column_dual_j <= cost_ij, = on matched entries.
struct Assignment {
    std::vector<Index> column_of_row;
    std::vector<Index> row_of_column;
    std::vector<double> row_dual;
    std::vector<double> column_dual;
    Index cardinality = 0;
};

/// Solves the assignment problem by shortest augmenting paths.
class ShortestPaths {
  public:
    explicit ShortestPaths(const Costs& costs);
    Assignment solve();

  private:
    void start();
    bool take_free_column(Index row);
    bool move_one_owner(Index row);
    void augment(Index root);
    void finish_tree(Index root, double length);
    void flip(Index root, Index end);
    void restore_feasibility();
    double reduced(Index row, Offset k) const {
        return costs_.costs[k] - assigned_.column_dual[costs_.columns[k]] - assigned_.row_dual[row];
    }

    enum class Label : std::uint8_t { none, reached, scanned };

    Costs costs_;
    Assignment assigned_;
    // Of one search. Labels are cleared through `touched_`.
    std::vector<double> distance_;
    std::vector<Index> parent_;  ///< The row that a column was reached from.
    std::vector<Label> label_;
    std::vector<Index> touched_;
    std::vector<Index> scanned_;
    std::vector<Index> level_;                    ///< Columns at the distance being scanned.
    std::vector<std::pair<double, Index>> heap_;  ///< Columns farther away, some outdated.
    /// What a search without success reached: no augmenting path leads through it any more.
    std::vector<Index> dead_column_;  ///< Number of the search, -1: none.
    std::vector<std::vector<Index>> dead_rows_;
};

}  // namespace tessera::matching
