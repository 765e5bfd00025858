#include "precond/incomplete/symbolic/block_pattern.hpp"

#include <algorithm>
#include <queue>

#include "base/dispatch.hpp"
#include "base/gather_rows.hpp"
#include "base/parallel.hpp"
#include "base/transpose_pattern.hpp"

namespace tessera::incomplete {

namespace {

/// Stable counting sort of the positions 0 .. keys.size() - 1 by key < `end`; `offsets`: start of
/// each key.
template <class Offsets>
void sort_by_key(const std::vector<Index>& keys, Index end, std::vector<Offsets>& offsets,
                 std::vector<Index>& positions) {
    offsets.assign(std::size_t(end) + 1, 0);
    positions.resize(keys.size());
    for (const Index key : keys) ++offsets[key + 1];
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    std::vector<Offsets> next(offsets.begin(), offsets.end() - 1);
    for (std::size_t k = 0; k < keys.size(); ++k) positions[next[keys[k]]++] = Index(k);
}

/// f(slot, slot of the column, position in the matrix) for each entry of block row i, and
/// f(slot, slot, -1) for its padding. row_of(slot): the row of the matrix, or -1.
template <class T, class RowOf, class F>
void visit_entries(const Grid& grid, const CsrView<T>& matrix, Index i, RowOf&& row_of, F&& f) {
    for (Index slot = i * grid.k; slot < (i + 1) * grid.k; ++slot) {
        prefetch_rows(matrix, slot, Offset(grid.slots.size()), row_of);
        const Index row = row_of(slot);
        if (row < 0) f(slot, slot, Offset(-1));
        if (row < 0) continue;
        for (Offset e = matrix.row_offsets[row]; e < matrix.row_offsets[row + 1]; ++e) {
            f(slot, grid.slot_of_column[matrix.column_indices[e]], e);
        }
    }
}

std::span<const Index> blocks_of_row(const BlockPattern& pattern, Offset i) {
    return std::span(pattern.row_blocks)
        .subspan(std::size_t(pattern.row_offsets[i]),
                 std::size_t(pattern.row_offsets[i + 1] - pattern.row_offsets[i]));
}

/// f(block, left, right) for each pair of blocks (i, k), (j, k) of the block (i, j); each block
/// row i in one thread. One part per thread, as each part has a marker array.
template <class F>
void visit_updates(const BlockPattern& pattern, int threads, F&& f) {
    const auto row = [&](Offset i) { return blocks_of_row(pattern, i); };
    parallel_parts(threads, pattern.block_rows, threads, [&](Offset, Offset first, Offset last) {
        std::vector<Index> block_of_column(std::size_t(pattern.block_rows), -1);
        for (Offset i = first; i < last; ++i) {
            for (const Index b : row(i)) block_of_column[pattern.columns[b]] = b;
            for (const Index b : row(i)) {
                check_time();
                for (const Index right : row(pattern.columns[b])) {
                    const Index left = block_of_column[pattern.columns[right]];
                    if (left >= 0) f(b, left, right);
                }
            }
            for (const Index b : row(i)) block_of_column[pattern.columns[b]] = -1;
        }
    });
}

}  // namespace

Grid make_grid(Index k, Index rows, std::vector<Index> slots, std::vector<Index> row_of_column) {
    require(k >= 1, "incomplete factors: blocks need at least one row");
    while (slots.size() % std::size_t(k) != 0) slots.push_back(-1);
    std::vector<Index> slot_of_column(std::size_t(rows), -1);
    constexpr const char* wrong =
        "incomplete factors: the slots must hold each row once, and -1 as padding";
    Index count = 0;
    for (std::size_t s = 0; s < slots.size(); ++s) {
        const Index column = slots[s];
        if (column == -1) continue;
        require(column >= 0 && column < rows && slot_of_column[column] == -1, wrong);
        slot_of_column[column] = Index(s);
        ++count;
    }
    require(count == rows, wrong);
    const auto block_rows = Index(slots.size() / std::size_t(k));
    return {
        k, rows, block_rows, std::move(slots), std::move(slot_of_column), std::move(row_of_column)};
}

GatheredRows union_with_transpose(int threads, const GatheredRows& rows,
                                  const GatheredRows& to_transpose) {
    const auto count = Index(rows.offsets.size() - 1);
    std::vector<Offset> offsets(rows.offsets.size());
    std::vector<Index> transposed(to_transpose.items.size());
    transpose_pattern(count, to_transpose.offsets.data(), to_transpose.items.data(), offsets,
                      transposed.data(), [](Offset e, Offset) {
                          if (e % 65536 == 0) check_time();
                      });
    return gather_rows(threads, count, [&](Offset i, std::vector<Index>& list) {
        list.insert(list.end(), rows.items.begin() + rows.offsets[i],
                    rows.items.begin() + rows.offsets[i + 1]);
        list.insert(list.end(), transposed.begin() + offsets[i],
                    transposed.begin() + offsets[i + 1]);
    });
}

template <class T>
GatheredRows lower_blocks(const Grid& grid, const CsrView<T>& matrix, bool symmetric, int threads) {
    const auto row_of = [&](Offset slot) { return grid.row(std::size_t(slot)); };
    const auto gather = [&](bool below) {
        return gather_rows(threads, grid.block_rows, [&](Offset i, std::vector<Index>& list) {
            Index last = -1;  // Neighbouring entries are in one block.
            visit_entries(grid, matrix, Index(i), row_of, [&](Index, Index other, Offset) {
                const Index j = other / grid.k;
                if (j == last) return;
                last = j;
                if (below ? j < i : j > i) list.push_back(j);
            });
        });
    };
    if (symmetric) return gather(true);
    return union_with_transpose(threads, gather(true), gather(false));
}

GatheredRows add_fill(const GatheredRows& lower, int fill, Offset max_blocks) {
    const auto check_count = [&](Offset blocks) {
        if (blocks <= max_blocks) return;
        throw OutOfMemory("incomplete factors: fill=" + std::to_string(fill) + " needs more than " +
                          std::to_string(max_blocks) + " blocks; use a smaller fill");
    };
    if (fill == 0) {
        check_count(lower.offsets.back());
        return lower;
    }
    const auto block_rows = Index(lower.offsets.size() - 1);
    GatheredRows blocks{{0}, {}};
    struct FilledBlock {
        Index row;
        int level;
    };
    // The previous blocks by columns: those that can cause fill.
    std::vector<std::vector<FilledBlock>> below(static_cast<std::size_t>(block_rows));
    std::vector<int> levels(below.size(), -1);  // Levels by columns of the row under construction.
    std::priority_queue<Index, std::vector<Index>, std::greater<>> waiting;
    const auto add = [&](Index column, int level) {
        int& known = levels[column];
        if (known < 0) waiting.push(column);
        known = known < 0 ? level : std::min(known, level);
    };
    for (Index i = 0; i < block_rows; ++i) {
        check_time();
        for (Offset e = lower.offsets[i]; e < lower.offsets[i + 1]; ++e) add(lower.items[e], 0);
        // Columns are visited in ascending order and add larger ones only: their levels are final.
        while (!waiting.empty()) {
            const Index column = waiting.top();
            waiting.pop();
            const int level = std::exchange(levels[column], -1);
            blocks.items.push_back(column);
            if (level >= fill) continue;
            for (const FilledBlock& other : below[column]) {
                if (level + other.level < fill) add(other.row, level + other.level + 1);
            }
            below[column].push_back({i, level});
        }
        blocks.offsets.push_back(Offset(blocks.items.size()));
        check_count(blocks.offsets.back());
    }
    return blocks;
}

BlockPattern arrange_by_levels(Grid& grid, const GatheredRows& blocks) {
    const auto m = std::size_t(grid.block_rows);
    BlockPattern pattern;
    pattern.block_rows = grid.block_rows;
    std::vector<Index> level(m, 0);
    Index levels = 0;
    for (std::size_t i = 0; i < m; ++i) {
        for (Offset b = blocks.offsets[i]; b < blocks.offsets[i + 1]; ++b) {
            level[i] = std::max(level[i], level[blocks.items[b]] + 1);
        }
        levels = std::max(levels, level[i] + 1);
    }
    std::vector<Index> order;
    sort_by_key(level, levels, pattern.level_offsets, order);

    // Sorts the blocks by new rows, then, stably, by columns.
    std::vector<Index> new_number(m), slots, rows, columns, by_columns;
    for (std::size_t i = 0; i < m; ++i) {
        new_number[order[i]] = Index(i);
        const auto from = grid.slots.begin() + Offset(order[i]) * grid.k;
        slots.insert(slots.end(), from, from + grid.k);
    }
    grid = make_grid(grid.k, grid.rows, std::move(slots), std::move(grid.row_of_column));
    rows.reserve(blocks.items.size());
    columns.reserve(blocks.items.size());
    for (std::size_t i = 0; i < m; ++i) {
        for (Offset b = blocks.offsets[order[i]]; b < blocks.offsets[order[i] + 1]; ++b) {
            rows.push_back(Index(i));
            columns.push_back(new_number[blocks.items[b]]);
        }
    }
    sort_by_key(columns, grid.block_rows, pattern.column_offsets, by_columns);
    pattern.rows.reserve(rows.size());
    pattern.columns.reserve(rows.size());
    for (const Index b : by_columns) {
        pattern.rows.push_back(rows[b]);
        pattern.columns.push_back(columns[b]);
    }
    sort_by_key(pattern.rows, grid.block_rows, pattern.row_offsets, pattern.row_blocks);
    return pattern;
}

void count_updates(BlockPattern& pattern, int threads) {
    auto& offsets = pattern.update_offsets;
    offsets.assign(std::size_t(pattern.blocks()) + 1, 0);
    visit_updates(pattern, threads, [&](Index b, Index, Index) { ++offsets[b + 1]; });
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
}

void list_updates(BlockPattern& pattern, int threads) {
    pattern.left.resize(std::size_t(pattern.updates()));
    pattern.right.resize(pattern.left.size());
    std::vector<Offset> next(pattern.update_offsets);
    visit_updates(pattern, threads, [&](Index b, Index left, Index right) {
        pattern.left[next[b]] = left;
        pattern.right[next[b]++] = right;
    });
}

template <class T>
BlockEntries find_entries(const Context& host, const Grid& grid, const BlockPattern& pattern,
                          const CsrView<T>& matrix, bool symmetric) {
    const Index k = grid.k;
    const int threads = host.threads();
    const Offset diagonals = pattern.blocks(), transposes = diagonals + pattern.block_rows;
    BlockEntries entries;
    entries.offsets.assign(std::size_t(transposes + (symmetric ? 0 : pattern.blocks())) + 1, 0);
    const auto row_of = [&](Offset slot) { return grid.row(std::size_t(slot)); };
    // Calls f(item, row slot, column slot, source) for each entry of each item; one thread visits
    // all entries of an item, in the block row of the matrix.
    const auto visit_all = [&](auto&& f) {
        parallel_parts(
            threads, pattern.block_rows, threads, [&](Offset, Offset first, Offset last) {
                std::vector<Offset> item_of_column(std::size_t(pattern.block_rows), -1);
                for (Index i = Index(first); i < Index(last); ++i) {
                    const auto set_items = [&](bool present) {
                        for (const Index b : blocks_of_row(pattern, i)) {
                            item_of_column[pattern.columns[b]] = present ? b : -1;
                        }
                        item_of_column[i] = present ? diagonals + i : -1;
                        if (symmetric) return;
                        for (Offset b = pattern.column_offsets[i];
                             b < pattern.column_offsets[i + 1]; ++b) {
                            item_of_column[pattern.rows[b]] = present ? transposes + b : -1;
                        }
                    };
                    set_items(true);
                    visit_entries(grid, matrix, i, row_of,
                                  [&](Index slot, Index other, Offset source) {
                                      // A negligible entry a_ij without a_ji of a symmetric matrix
                                      // may be in no block: it was above the diagonal before the
                                      // rows were numbered by levels.
                                      const Offset item = item_of_column[other / k];
                                      if (item >= 0 && (!symmetric || other <= slot)) {
                                          f(item, slot, other, source);
                                      }
                                  });
                    set_items(false);
                }
            });
    };
    visit_all([&](Offset item, Index, Index, Offset) { ++entries.offsets[item + 1]; });
    std::partial_sum(entries.offsets.begin(), entries.offsets.end(), entries.offsets.begin());
    const Offset count = entries.offsets.back();
    entries.source = Buffer<Offset>(host, count);
    entries.position = Buffer<std::uint16_t>(host, count);
    entries.row = Buffer<Index>(host, count);
    entries.column = Buffer<Index>(host, count);
    Offset* const source_of = entries.source.data();
    std::uint16_t* const position_of = entries.position.data();
    Index *const row_of_entry = entries.row.data(), *const column_of_entry = entries.column.data();
    std::vector<Offset> next(entries.offsets);
    visit_all([&](Offset item, Index slot, Index other, Offset source) {
        const Offset e = next[item]++;
        const Index in_row = slot % k, in_column = other % k;
        source_of[e] = source;
        position_of[e] =
            std::uint16_t(item < transposes ? in_row + in_column * k : in_column + in_row * k);
        row_of_entry[e] = grid.row(std::size_t(slot));
        column_of_entry[e] = grid.slots[other];
    });
    return entries;
}

#define TESSERA_INSTANTIATE(T)                          \
    template decltype(lower_blocks<T>) lower_blocks<T>; \
    template decltype(find_entries<T>) find_entries<T>;
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::incomplete
