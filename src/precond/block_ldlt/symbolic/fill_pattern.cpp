#include <algorithm>
#include <queue>
#include <string>

#include "base/gather_rows.hpp"
#include "precond/block_ldlt/symbolic/block_pattern.hpp"

namespace tessera::block_ldlt {

namespace {

/// One row of the pattern under construction: its columns with their fill levels, and a heap of the
/// columns whose fill is still to be followed.
class GrowingRow {
  public:
    explicit GrowingRow(Index block_rows) : level_(std::size_t(block_rows), -1) {}

    /// Enters a column or lowers its level. A column that is entered while smaller ones are
    /// followed is larger than they are, so its level is final when its turn comes.
    void add(Index column, int level) {
        int& known = level_[std::size_t(column)];
        if (known < 0) {
            waiting_.push(column);
            columns_.push_back(column);
            known = level;
        }
        known = std::min(known, level);
    }
    bool waiting() const { return !waiting_.empty(); }
    Index take_smallest() {
        const Index column = waiting_.top();
        waiting_.pop();
        return column;
    }
    int level(Index column) const { return level_[std::size_t(column)]; }
    /// Hands the columns over, in ascending order, and is empty again.
    template <class F>
    void finish(F&& f) {
        std::ranges::sort(columns_);
        for (const Index column : columns_) {
            f(column, level_[std::size_t(column)]);
            level_[std::size_t(column)] = -1;
        }
        columns_.clear();
    }

  private:
    std::vector<int> level_;
    std::vector<Index> columns_;
    std::priority_queue<Index, std::vector<Index>, std::greater<>> waiting_;
};

struct Filled {
    Index row;
    int level;
};

void check_count(Offset blocks, Offset most, int fill, Index k) {
    if (blocks <= most) return;
    throw OutOfMemory("block_ldlt: fill=" + std::to_string(fill) + " needs more than " +
                      std::to_string(most) + " blocks of " + std::to_string(k) + " x " +
                      std::to_string(k) + "; take a smaller fill");
}

/// The blocks of the matrix alone.
template <class T>
BlockRows matrix_pattern(const Grid& grid, const CsrView<T>& matrix, Offset most, int threads) {
    const Index k = grid.k;
    auto [offsets, columns] =
        gather_rows(threads, grid.block_rows, [&](Offset i, std::vector<Index>& list) {
            for (Offset slot = i * k; slot < (i + 1) * k; ++slot) {
                prefetch_rows(matrix, slot, Offset(grid.slots.size()),
                              [&](Offset s) { return grid.slots[std::size_t(s)]; });
                const Index row = grid.slots[std::size_t(slot)];
                if (row < 0) continue;
                for (Offset e = matrix.row_offsets[row]; e < matrix.row_offsets[row + 1]; ++e) {
                    const Index j = grid.slot_of_row[std::size_t(matrix.column_indices[e])] / k;
                    if (j < i) list.push_back(j);
                }
            }
        });
    check_count(offsets.back(), most, 0, k);
    return {std::move(offsets), std::move(columns)};
}

}  // namespace

template <class T>
BlockRows fill_pattern(const Grid& grid, const CsrView<T>& matrix, int fill, Offset most,
                       int threads) {
    if (fill == 0) return matrix_pattern(grid, matrix, most, threads);
    const Index k = grid.k;
    BlockRows blocks;
    // The blocks so far by columns; followed only where fill can arise.
    std::vector<std::vector<Filled>> below(static_cast<std::size_t>(grid.block_rows));
    GrowingRow growing(grid.block_rows);
    for (Index i = 0; i < grid.block_rows; ++i) {
        for (Index slot = i * k; slot < (i + 1) * k; ++slot) {
            const Index row = grid.slots[std::size_t(slot)];
            if (row < 0) continue;
            for (Offset e = matrix.row_offsets[row]; e < matrix.row_offsets[row + 1]; ++e) {
                const Index j = grid.slot_of_row[std::size_t(matrix.column_indices[e])] / k;
                if (j < i) growing.add(j, 0);
            }
        }
        while (growing.waiting()) {
            const Index column = growing.take_smallest();
            const int level = growing.level(column);
            if (level >= fill) continue;
            for (const Filled& other : below[std::size_t(column)]) {
                const int sum = level + other.level + 1;
                if (sum <= fill) growing.add(other.row, sum);
            }
        }
        growing.finish([&](Index column, int level) {
            blocks.columns.push_back(column);
            if (level < fill) below[std::size_t(column)].push_back({i, level});
        });
        blocks.offsets.push_back(Offset(blocks.columns.size()));
        check_count(blocks.offsets.back(), most, fill, k);
    }
    return blocks;
}

template BlockRows fill_pattern<float>(const Grid&, const CsrView<float>&, int, Offset, int);
template BlockRows fill_pattern<double>(const Grid&, const CsrView<double>&, int, Offset, int);

}  // namespace tessera::block_ldlt
