#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sparse/matching/symmetric_auction.hpp"

namespace tessera::matching {

/// A matching of maximum cardinality, whose cost is minimal among all matchings of its rows with
/// its columns, and duals with row_dual_i + column_dual_j <= cost_ij, = on matched entries.
struct Assignment {
    std::vector<Index> column_of_row;
    std::vector<double> row_dual;
    std::vector<double> column_dual;
    Index cardinality = 0;
};

/// Solves the assignment problem: an initial matching, by SymmetricAuction for symmetric costs,
/// then shortest augmenting paths for the rows left free (R. Jonker, A. Volgenant, "A shortest
/// augmenting path algorithm for dense and sparse linear assignment problems", Computing 38, 1987).
class ShortestPaths {
  public:
    /// The result is the same for every number of threads.
    ShortestPaths(const Costs& costs, int threads, bool symmetric = true);
    Assignment solve();

  private:
    enum class Label : std::uint8_t { none, reached, scanned };

    /// All data of a column that a search reads, in one cache line.
    struct Column {
        double dual = infinite;
        double distance = 0;
        Index row = -1;            ///< The matched row.
        Index parent = -1;         ///< The row before it in the search tree.
        Index failed_search = -1;  ///< The failed search that reached it.
        Label label = Label::none;
    };

    void start_from_auction();
    void start_from_column_minima();
    static bool is_tight(double cost, double row_dual, double column_dual);
    void augment(Index root);
    bool scan(Index row, double row_distance, double& best, Index& end);
    Index next_column();
    void update_duals(Index root, double length);
    void flip(Index root, Index end);
    void tighten_matched();
    void restore_feasibility();

    void match(Index row, Index column) {
        column_of_row_[row] = column;
        columns_[column].row = row;
    }
    double reduced(Index row, Offset k) const {
        return costs_.costs[k] - columns_[costs_.columns[k]].dual - row_dual_[row];
    }

    Costs costs_;
    int threads_;
    bool symmetric_;
    std::vector<Column> columns_;
    std::vector<Index> column_of_row_;
    std::vector<double> row_dual_;
    // Data of one search. Labels are cleared through `touched_`.
    std::vector<Index> touched_;
    std::vector<Index> scanned_;
    std::vector<Index> level_;                    ///< Columns at the distance being scanned.
    std::vector<std::pair<double, Index>> heap_;  ///< Columns farther away, some entries outdated.
    /// The rows that each failed search reached: no augmenting path leads through them.
    std::vector<std::vector<Index>> failed_rows_;
};

}  // namespace tessera::matching
