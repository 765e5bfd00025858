#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "tessera/csr.hpp"

namespace tessera::problems {

/// The entries of one row: columns and values. `add` drops zeros and columns outside the matrix.
class RowList {
  public:
    explicit RowList(Offset columns) : columns_(columns) {}

    void add(Offset column, double value) {
        if (value != 0 && column >= 0 && column < columns_) entries_.emplace_back(column, value);
    }
    void clear() { entries_.clear(); }
    /// Sorts by column and adds up what is in one place, in the order it was added.
    void finish() {
        std::stable_sort(entries_.begin(), entries_.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
        std::size_t last = 0;
        for (std::size_t k = 1; k < entries_.size(); ++k) {
            if (entries_[k].first == entries_[last].first) {
                entries_[last].second += entries_[k].second;
            } else {
                entries_[++last] = entries_[k];
            }
        }
        if (!entries_.empty()) entries_.resize(last + 1);
    }
    const std::vector<std::pair<Offset, double>>& entries() const { return entries_; }

  private:
    Offset columns_;
    std::vector<std::pair<Offset, double>> entries_;
};

/// The matrix whose row i is what row_at(i, list) adds; it is asked twice for each row, in
/// parallel.
template <class T, class RowAt>
CsrMatrix<T> assemble_rows(const Context& cpu, Index rows, RowAt&& row_at) {
    std::vector<Offset> starts(std::size_t(rows) + 1, 0);
    const auto each_row = [&](auto&& use) {
        const auto walk = [&](Offset first, Offset last) {
            RowList list(rows);
            for (Offset i = first; i < last; ++i) {
                list.clear();
                row_at(Index(i), list);
                list.finish();
                use(i, list.entries());
            }
        };
        parallel_ranges(cpu.threads(), rows, walk, 1024);
    };
    each_row([&](Offset i, const auto& entries) { starts[i + 1] = Offset(entries.size()); });
    for (Index i = 0; i < rows; ++i) starts[i + 1] += starts[i];
    CsrMatrix<T> matrix(cpu, rows, rows, starts[rows]);
    std::ranges::copy(starts, matrix.row_offsets().data());
    Index* const columns = matrix.column_indices().data();
    T* const values = matrix.values().data();
    each_row([&](Offset i, const auto& entries) {
        Offset at = starts[i];
        for (const auto& [column, value] : entries) {
            columns[at] = Index(column);
            values[at++] = T(value);
        }
    });
    return matrix;
}

}  // namespace tessera::problems
