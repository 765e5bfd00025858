#include "precond/direct/analysis/any_matching.hpp"

#include <algorithm>
#include <cmath>

#include "base/check_time.hpp"
#include "precond/row_sizes.hpp"

namespace tessera::direct {

namespace {

double inverse(double size) { return size > 0 ? std::clamp(1 / size, 0x1p-1000, 0x1p1000) : 1; }

/// Breadth first searches for alternating paths from free rows: the shortest change the fewest
/// rows.
template <class T>
class AlternatingPaths {
  public:
    AlternatingPaths(const CsrView<T>& a, std::vector<Index>& row_of_column)
        : a_(a),
          row_of_column_(row_of_column),
          look_(a.row_offsets, a.row_offsets + a.rows),
          seen_(look_.size(), -1),
          column_(look_.size()),
          from_(look_.size()) {
        queue_.reserve(look_.size());
    }

    /// Matches a free row, and others anew; false where there is no path.
    bool augment(Index root) {
        if (const Index j = free_column(root); j >= 0) {
            row_of_column_[j] = root;
            return true;
        }
        queue_.assign(1, root);
        seen_[root] = root;
        for (std::size_t at = 0; at < queue_.size(); ++at) {
            const Index i = queue_[at];
            for (Offset k = a_.row_offsets[i]; k < a_.row_offsets[i + 1]; ++k) {
                const Index j = a_.column_indices[k], row = row_of_column_[j];
                if (a_.values[k] == T(0) || seen_[row] == root) continue;
                seen_[row] = root;
                column_[row] = j;
                from_[row] = i;
                if (const Index end = free_column(row); end >= 0) {
                    flip(root, row, end);
                    return true;
                }
                queue_.push_back(row);
            }
        }
        return false;
    }

  private:
    /// Columns that are matched stay so: each entry is looked at once.
    Index free_column(Index i) {
        for (Offset& k = look_[i]; k < a_.row_offsets[i + 1]; ++k) {
            const Index j = a_.column_indices[k];
            if (row_of_column_[j] < 0 && a_.values[k] != T(0)) return j;
        }
        return -1;
    }

    /// Row i gets column j, the row before it on the path the column that i had, and so on.
    void flip(Index root, Index i, Index j) {
        for (; i != root; i = from_[i]) {
            row_of_column_[j] = i;
            j = column_[i];
        }
        row_of_column_[j] = root;
    }

    const CsrView<T>& a_;
    std::vector<Index>& row_of_column_;
    std::vector<Offset> look_;
    /// For each row that a search came to: its root, the column that led there, and the row before.
    std::vector<Index> seen_, column_, from_;
    std::vector<Index> queue_;
};

}  // namespace

template <class T>
AnyMatching match_any(const CsrView<T>& a) {
    const auto rows = std::size_t(a.rows);
    AnyMatching result{std::vector<Index>(rows, -1), std::vector<double>(rows, 0),
                       std::vector<double>(rows, 0)};
    std::vector<double> diagonal(rows, 0);
    // The largest entries of rows and columns, at first.
    std::vector<double>&row_scaling = result.row_scaling, &column_scaling = result.column_scaling;
    const auto for_each_entry = [&](Index i, auto&& use) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            use(a.column_indices[k], std::abs(double(a.values[k])));
        }
    };
    for (Index i = 0; i < a.rows; ++i) {
        if (i % 1024 == 0) check_time();
        double largest = 0;
        for_each_entry(i, [&](Index j, double size) {
            largest = std::max(largest, size);
            column_scaling[j] = std::max(column_scaling[j], size);
            if (i == j) diagonal[i] = size;
        });
        row_scaling[i] = largest;
    }
    for (Index i = 0; i < a.rows; ++i) {
        if (!is_small(diagonal[i], std::min(row_scaling[i], column_scaling[i]))) {
            result.row_of_column[i] = i;
        }
    }
    for (double& scaling : column_scaling) scaling = inverse(scaling);
    std::vector<Index> free_rows;
    free_rows.reserve(rows);
    for (Index i = 0; i < a.rows; ++i) {
        if (i % 1024 == 0) check_time();
        double largest = 0, best = 0;
        Index column = -1;
        for_each_entry(i, [&](Index j, double size) {
            size *= column_scaling[j];
            largest = std::max(largest, size);
            if (size > best && result.row_of_column[j] < 0) {
                best = size;
                column = j;
            }
        });
        row_scaling[i] = inverse(largest);
        if (result.row_of_column[i] == i) continue;
        if (column >= 0) {
            result.row_of_column[column] = i;
        } else {
            free_rows.push_back(i);
        }
    }
    if (free_rows.empty()) return result;
    AlternatingPaths<T> paths(a, result.row_of_column);
    for (const Index i : free_rows) {
        check_time();
        if (paths.augment(i)) continue;
        result.row_of_column.clear();
        return result;
    }
    return result;
}

template AnyMatching match_any(const CsrView<float>&);
template AnyMatching match_any(const CsrView<double>&);

}  // namespace tessera::direct
