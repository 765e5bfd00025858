#include "sparse/matching/shortest_paths.hpp"

#include <algorithm>
#include <functional>

namespace tessera::matching {

ShortestPaths::ShortestPaths(const Costs& costs)
    : costs_(costs),
      distance_(std::size_t(costs.rows)),
      parent_(std::size_t(costs.rows)),
      label_(std::size_t(costs.rows), Label::none),
      dead_column_(std::size_t(costs.rows), -1) {
    const std::size_t n = std::size_t(costs.rows);
    assigned_.column_of_row.assign(n, -1);
    assigned_.row_of_column.assign(n, -1);
    assigned_.row_dual.assign(n, 0);
    assigned_.column_dual.assign(n, infinite);
}

Assignment ShortestPaths::solve() {
    start();
    std::vector<Index> free_rows;
    for (Index i = 0; i < costs_.rows; ++i) {
        if (assigned_.column_of_row[i] < 0 && costs_.row_offsets[i] < costs_.row_offsets[i + 1]) {
            free_rows.push_back(i);
        }
    }
    for (const Index row : free_rows) augment(row);
    // Matched entries are tight again but for one rounding.
    for (Index i = 0; i < costs_.rows; ++i) {
        const Index j = assigned_.column_of_row[i];
        if (j < 0) continue;
        ++assigned_.cardinality;
        const Offset first = costs_.row_offsets[i], last = costs_.row_offsets[i + 1];
        const Index* const at = std::lower_bound(costs_.columns + first, costs_.columns + last, j);
        assigned_.row_dual[i] = costs_.costs[at - costs_.columns] - assigned_.column_dual[j];
    }
    restore_feasibility();
    return std::move(assigned_);
}

/// Duals from the least costs of columns, then of rows, and a first matching on tight entries.
void ShortestPaths::start() {
    for (Index i = 0; i < costs_.rows; ++i) {
        for (Offset k = costs_.row_offsets[i]; k < costs_.row_offsets[i + 1]; ++k) {
            double& dual = assigned_.column_dual[costs_.columns[k]];
            dual = std::min(dual, costs_.costs[k]);
        }
    }
    for (double& dual : assigned_.column_dual) {
        if (dual == infinite) dual = 0;
    }
    for (Index i = 0; i < costs_.rows; ++i) {
        double least = infinite;
        for (Offset k = costs_.row_offsets[i]; k < costs_.row_offsets[i + 1]; ++k) {
            least = std::min(least, reduced(i, k));
        }
        if (least < infinite) assigned_.row_dual[i] = least;
        if (!take_free_column(i)) move_one_owner(i);
    }
}

/// Matches a free row with a free column where their entry is tight.
bool ShortestPaths::take_free_column(Index row) {
    for (Offset k = costs_.row_offsets[row]; k < costs_.row_offsets[row + 1]; ++k) {
        const Index j = costs_.columns[k];
        if (assigned_.row_of_column[j] >= 0 || reduced(row, k) > 0) continue;
        assigned_.row_of_column[j] = row;
        assigned_.column_of_row[row] = j;
        return true;
    }
    return false;
}

/// The same where the row that has the column can take another one.
bool ShortestPaths::move_one_owner(Index row) {
    for (Offset k = costs_.row_offsets[row]; k < costs_.row_offsets[row + 1]; ++k) {
        const Index j = costs_.columns[k];
        if (reduced(row, k) > 0) continue;
        const Index owner = assigned_.row_of_column[j];
        if (!take_free_column(owner)) continue;
        assigned_.row_of_column[j] = row;
        assigned_.column_of_row[row] = j;
        return true;
    }
    return false;
}

/// Dijkstra's search over alternating paths from a free row to the nearest free column.
void ShortestPaths::augment(Index root) {
    double best = infinite;  // To the nearest free column so far.
    Index end = -1;
    Index i = root;
    double here = 0;
    touched_.clear();
    scanned_.clear();
    level_.clear();
    heap_.clear();
    while (best > here) {
        for (Offset k = costs_.row_offsets[i]; k < costs_.row_offsets[i + 1]; ++k) {
            const Index j = costs_.columns[k];
            if (label_[j] == Label::scanned || dead_column_[j] >= 0) continue;
            const double distance = here + std::max(reduced(i, k), 0.);
            if (distance >= best) continue;
            if (label_[j] == Label::reached && distance >= distance_[j]) continue;
            parent_[j] = i;
            if (assigned_.row_of_column[j] < 0) {
                best = distance;
                end = j;
                if (best <= here) break;
                continue;
            }
            if (label_[j] == Label::none) touched_.push_back(j);
            label_[j] = Label::reached;
            distance_[j] = distance;
            if (distance <= here) {
                level_.push_back(j);
            } else {
                heap_.emplace_back(distance, j);
                std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
            }
        }
        Index next = -1;
        if (!level_.empty()) {
            next = level_.back();
            level_.pop_back();
        }
        while (next < 0 && !heap_.empty()) {
            const auto [distance, j] = heap_.front();
            std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
            heap_.pop_back();
            if (label_[j] == Label::reached && distance == distance_[j]) next = j;
        }
        if (next < 0 || distance_[next] >= best) break;
        label_[next] = Label::scanned;
        scanned_.push_back(next);
        here = distance_[next];
        i = assigned_.row_of_column[next];
    }
    if (end >= 0) {
        finish_tree(root, best);
        flip(root, end);
    } else {
        dead_rows_.emplace_back(1, root);
        for (const Index j : scanned_) {
            dead_column_[j] = Index(dead_rows_.size()) - 1;
            dead_rows_.back().push_back(assigned_.row_of_column[j]);
        }
    }
    for (const Index j : touched_) label_[j] = Label::none;
}

/// Makes the path of this length tight and keeps all duals feasible.
void ShortestPaths::finish_tree(Index root, double length) {
    for (const Index j : scanned_) {
        const double change = length - distance_[j];
        assigned_.column_dual[j] -= change;
        assigned_.row_dual[assigned_.row_of_column[j]] += change;
    }
    assigned_.row_dual[root] += length;
}

void ShortestPaths::flip(Index root, Index end) {
    for (Index j = end;;) {
        const Index i = parent_[j];
        const Index before = assigned_.column_of_row[i];
        assigned_.column_of_row[i] = j;
        assigned_.row_of_column[j] = i;
        if (i == root) return;
        j = before;
    }
}

/// Later searches did not look at dead columns. Entries lead from dead rows to columns that died
/// with them or before, so lowering the duals of these columns, the last to die first, and raising
/// those of their rows makes all entries feasible again.
void ShortestPaths::restore_feasibility() {
    if (dead_rows_.empty()) return;
    std::vector<double> excess(dead_rows_.size(), 0);
    std::vector<char> is_dead(std::size_t(costs_.rows), 0);
    for (const auto& rows : dead_rows_) {
        for (const Index i : rows) is_dead[i] = 1;
    }
    const auto look_at = [&](Index i, std::size_t before) {
        for (Offset k = costs_.row_offsets[i]; k < costs_.row_offsets[i + 1]; ++k) {
            const Index search = dead_column_[costs_.columns[k]];
            if (search < 0 || std::size_t(search) >= before) continue;
            excess[search] = std::max(excess[search], -reduced(i, k));
        }
    };
    for (Index i = 0; i < costs_.rows; ++i) {
        if (!is_dead[i]) look_at(i, dead_rows_.size());
    }
    for (std::size_t search = dead_rows_.size(); search-- > 0;) {
        for (const Index i : dead_rows_[search]) {
            assigned_.row_dual[i] += excess[search];
            const Index j = assigned_.column_of_row[i];
            if (j >= 0) assigned_.column_dual[j] -= excess[search];
            look_at(i, search);
        }
    }
}

}  // namespace tessera::matching
