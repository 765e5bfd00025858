#include "sparse/matching/shortest_paths.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/parallel.hpp"

namespace tessera::matching {

ShortestPaths::ShortestPaths(const Costs& costs, int threads, bool symmetric)
    : costs_(costs),
      threads_(threads),
      symmetric_(symmetric),
      columns_(std::size_t(costs.rows)),
      column_of_row_(std::size_t(costs.rows), -1),
      row_dual_(std::size_t(costs.rows), 0) {}

Assignment ShortestPaths::solve() {
    if (symmetric_) {
        start_from_auction();
    } else {
        start_from_column_minima();
    }
    for (Index row = 0; row < costs_.rows; ++row) {
        if (column_of_row_[row] >= 0) continue;
        check_time();
        augment(row);
    }
    tighten_matched();
    restore_feasibility();

    Assignment result;
    result.cardinality =
        costs_.rows - Index(std::count(column_of_row_.begin(), column_of_row_.end(), -1));
    result.column_of_row = std::move(column_of_row_);
    result.row_dual = std::move(row_dual_);
    result.column_dual.reserve(columns_.size());
    for (const Column& column : columns_) result.column_dual.push_back(column.dual);
    return result;
}

/// Starts from the dual variables and pairs of the auction. As costs may be symmetric up to
/// rounding only, the duals of rows are made feasible, and rows that then have no tight entry
/// become free.
void ShortestPaths::start_from_auction() {
    const SymmetricAuction pairs(costs_, threads_);
    const auto& vertices = pairs.vertices();
    const auto initialise = [&](Offset begin, Offset end) {
        for (Index i = Index(begin); i < Index(end); ++i) {
            columns_[i].dual = vertices[i].dual;
            double least = infinite, matched = infinite;
            for (Offset k = costs_.row_offsets[i]; k < costs_.row_offsets[i + 1]; ++k) {
                const Index j = costs_.columns[k];
                const double left = costs_.costs[k] - vertices[j].dual;
                least = std::min(least, left);
                if (j == vertices[i].partner) matched = costs_.costs[k];
            }
            row_dual_[i] = least < infinite ? least : 0;
            const Index j = vertices[i].partner;
            if (j >= 0 && is_tight(matched, row_dual_[i], vertices[j].dual)) match(i, j);
        }
    };
    parallel_ranges(threads_, costs_.rows, initialise, 1024);
}

/// Starts from the least cost of each column, then of each row what these leave, and matches rows
/// with free columns on entries that are tight then.
void ShortestPaths::start_from_column_minima() {
    const Offset nonzeros = costs_.row_offsets[costs_.rows];
    for (Offset k = 0; k < nonzeros; ++k) {
        double& dual = columns_[costs_.columns[k]].dual;
        dual = std::min(dual, costs_.costs[k]);
    }
    for (Column& column : columns_) {
        if (column.dual == infinite) column.dual = 0;
    }
    for (Index i = 0; i < costs_.rows; ++i) {
        double least = infinite;
        Index best = -1;
        for (Offset k = costs_.row_offsets[i]; k < costs_.row_offsets[i + 1]; ++k) {
            const Column& column = columns_[costs_.columns[k]];
            const double left = costs_.costs[k] - column.dual;
            if (left == infinite) continue;
            // Among equal ones a free column, at best that of the diagonal.
            const bool is_better =
                left < least || (left == least && column.row < 0 &&
                                 (costs_.columns[k] == i || columns_[best].row >= 0));
            if (!is_better) continue;
            least = left;
            best = costs_.columns[k];
        }
        if (best < 0) continue;
        row_dual_[i] = least;
        if (columns_[best].row < 0) match(i, best);
    }
}

/// Whether a cost equals the sum of two duals up to rounding.
bool ShortestPaths::is_tight(double cost, double row_dual, double column_dual) {
    if (cost == infinite) return false;
    const double sizes = std::abs(cost) + std::abs(row_dual) + std::abs(column_dual);
    return cost - column_dual - row_dual <= 2 * std::numeric_limits<double>::epsilon() * sizes;
}

/// Relaxes the entries of a row at distance `row_distance`; true when nothing can be nearer than
/// `best`.
bool ShortestPaths::scan(Index row, double row_distance, double& best, Index& end) {
    const double dual = row_dual_[row];
    for (Offset k = costs_.row_offsets[row]; k < costs_.row_offsets[row + 1]; ++k) {
        const Index j = costs_.columns[k];
        Column& column = columns_[j];
        if (column.label == Label::scanned || column.failed_search >= 0) continue;
        const double distance = row_distance + std::max(costs_.costs[k] - column.dual - dual, 0.);
        if (distance >= best) continue;
        if (column.label == Label::reached && distance >= column.distance) continue;
        column.parent = row;
        if (column.row < 0) {
            best = distance;
            end = j;
            if (best <= row_distance) return true;
            continue;
        }
        if (column.label == Label::none) touched_.push_back(j);
        column.label = Label::reached;
        column.distance = distance;
        if (distance <= row_distance) {
            level_.push_back(j);
        } else {
            heap_.emplace_back(distance, j);
            std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
        }
    }
    return false;
}

/// The nearest column that is not scanned yet, -1: none.
Index ShortestPaths::next_column() {
    if (!level_.empty()) {
        const Index j = level_.back();
        level_.pop_back();
        return j;
    }
    while (!heap_.empty()) {
        const auto [distance, j] = heap_.front();
        std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
        heap_.pop_back();
        if (columns_[j].label == Label::reached && distance == columns_[j].distance) return j;
    }
    return -1;
}

/// Dijkstra's search over alternating paths from a free row to the nearest free column.
void ShortestPaths::augment(Index root) {
    double best = infinite;  // Distance to the nearest free column so far.
    Index end = -1;
    touched_.clear();
    scanned_.clear();
    level_.clear();
    heap_.clear();
    Index row = root;
    double row_distance = 0;
    while (!scan(row, row_distance, best, end)) {
        const Index j = next_column();
        if (j < 0 || columns_[j].distance >= best) break;
        columns_[j].label = Label::scanned;
        scanned_.push_back(j);
        row_distance = columns_[j].distance;
        row = columns_[j].row;
    }
    for (const Index j : touched_) columns_[j].label = Label::none;
    if (end >= 0) {
        update_duals(root, best);
        flip(root, end);
        return;
    }
    failed_rows_.emplace_back(1, root);
    for (const Index j : scanned_) {
        columns_[j].failed_search = Index(failed_rows_.size()) - 1;
        failed_rows_.back().push_back(columns_[j].row);
    }
}

/// Makes the path of this length tight and keeps all duals feasible.
void ShortestPaths::update_duals(Index root, double length) {
    for (const Index j : scanned_) {
        const double change = length - columns_[j].distance;
        columns_[j].dual -= change;
        row_dual_[columns_[j].row] += change;
    }
    row_dual_[root] += length;
}

void ShortestPaths::flip(Index root, Index end) {
    for (Index j = end;;) {
        const Index i = columns_[j].parent;
        const Index before = column_of_row_[i];
        match(i, j);
        if (i == root) return;
        j = before;
    }
}

/// Makes matched entries tight up to one rounding.
void ShortestPaths::tighten_matched() {
    const auto tighten = [&](Offset begin, Offset end) {
        for (Index i = Index(begin); i < Index(end); ++i) {
            const Index j = column_of_row_[i];
            if (j < 0) continue;
            const Index* const first = costs_.columns + costs_.row_offsets[i];
            const Index* const last = costs_.columns + costs_.row_offsets[i + 1];
            const Offset k = std::lower_bound(first, last, j) - costs_.columns;
            row_dual_[i] = costs_.costs[k] - columns_[j].dual;
        }
    };
    parallel_ranges(threads_, costs_.rows, tighten);
}

/// Searches skip the columns of failed searches, so their entries may be infeasible. Entries of the
/// rows of a failed search lead to its columns or those of earlier ones: lowering the duals of
/// columns, the last search first, and raising those of their rows makes all entries feasible.
void ShortestPaths::restore_feasibility() {
    if (failed_rows_.empty()) return;
    std::vector<double> excess(failed_rows_.size(), 0);
    std::vector<char> has_failed(std::size_t(costs_.rows), 0);
    for (const auto& rows : failed_rows_) {
        for (const Index i : rows) has_failed[i] = 1;
    }
    const auto update_excess = [&](Index i, std::size_t before) {
        for (Offset k = costs_.row_offsets[i]; k < costs_.row_offsets[i + 1]; ++k) {
            const Index search = columns_[costs_.columns[k]].failed_search;
            if (search < 0 || std::size_t(search) >= before) continue;
            excess[search] = std::max(excess[search], -reduced(i, k));
        }
    };
    for (Index i = 0; i < costs_.rows; ++i) {
        if (!has_failed[i]) update_excess(i, failed_rows_.size());
    }
    for (std::size_t search = failed_rows_.size(); search-- > 0;) {
        for (const Index i : failed_rows_[search]) {
            row_dual_[i] += excess[search];
            const Index j = column_of_row_[i];
            if (j >= 0) columns_[j].dual -= excess[search];
            update_excess(i, search);
        }
    }
}

}  // namespace tessera::matching
