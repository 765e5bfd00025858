#include "precond/incomplete/symbolic/block_pattern.hpp"

#include <algorithm>
#include <atomic>
#include <queue>

#include "base/dispatch.hpp"
#include "base/gather_rows.hpp"
#include "base/parallel.hpp"

namespace tessera::incomplete {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;

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

/// f(j) for the block column j of each entry of block row i; several times where rows or entries
/// share a block.
template <class F>
void visit_block_columns(const Grid& grid, const GroupPattern& pattern, Index i, F&& f) {
    struct {
        const Offset* row_offsets;
        const Index* column_indices;
    } const rows{pattern.offsets, pattern.columns};
    const auto group_at = [&](Offset slot) {
        const Index row = grid.row(std::size_t(slot));
        return row < 0 ? -1 : row / pattern.size;
    };
    const Index end = (i + 1) * grid.k;
    for (Index slot = i * grid.k; slot < end;) {
        prefetch_rows(rows, slot, Offset(grid.slots.size()), group_at);
        const Index group = group_at(slot);
        slot += group < 0 ? 1 : pattern.size;
        if (group < 0) continue;
        for (Offset e = pattern.offsets[group]; e < pattern.offsets[group + 1]; ++e) {
            f(grid.slot_of_column[pattern.columns[e] * pattern.size] / grid.k);
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

Grid make_grid(Index k, Index rows, std::vector<Index> slots, std::vector<Index> row_of_column,
               int threads) {
    require(k >= 1, "incomplete factors: blocks need at least one row");
    while (slots.size() % std::size_t(k) != 0) slots.push_back(-1);
    std::vector<Index> slot_of_column(std::size_t(rows), -1);
    std::atomic<Index> count = 0;
    std::atomic<bool> valid = true;
    parallel_ranges(threads, Offset(slots.size()), [&](Offset first, Offset last) {
        for (Offset s = first; s < last; ++s) {
            const Index column = slots[s];
            if (column == -1) continue;
            if (column < 0 || column >= rows) {
                valid = false;
                return;
            }
            std::atomic_ref<Index>(slot_of_column[column]).store(Index(s), relaxed);
        }
    });
    // Where a column is in several slots, the last one written stays.
    parallel_ranges(threads, Offset(slots.size()), [&](Offset first, Offset last) {
        Index found = 0;
        for (Offset s = first; s < last && valid.load(relaxed); ++s) {
            if (slots[s] >= 0 && slot_of_column[slots[s]] == s) ++found;
            if (slots[s] >= 0 && slot_of_column[slots[s]] != s) valid = false;
        }
        count += found;
    });
    require(valid && count == rows,
            "incomplete factors: the slots must hold each row once, and -1 as padding");
    const auto block_rows = Index(slots.size() / std::size_t(k));
    return {
        k, rows, block_rows, std::move(slots), std::move(slot_of_column), std::move(row_of_column)};
}

namespace {

/// The rows of each column of a pattern, in any order; `keep(i, j)`: the entries.
template <class Keep>
GatheredRows transposed_in_any_order(int threads, const GatheredRows& rows, Keep&& keep) {
    GatheredRows result;
    result.offsets.assign(rows.offsets.size(), 0);
    const auto for_items = [&](auto&& f) {
        parallel_ranges(threads, Offset(rows.offsets.size()) - 1, [&](Offset first, Offset last) {
            for (Offset i = first; i < last; ++i) {
                if (i % 65536 == 0) check_time();
                for (Offset e = rows.offsets[i]; e < rows.offsets[i + 1]; ++e) {
                    if (keep(Index(i), rows.items[e])) f(Index(i), rows.items[e]);
                }
            }
        });
    };
    for_items([&](Index, Index j) {
        std::atomic_ref<Offset>(result.offsets[j + 1]).fetch_add(1, relaxed);
    });
    std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
    std::vector<Offset> next(result.offsets);
    result.items.resize(std::size_t(result.offsets.back()));
    for_items([&](Index i, Index j) {
        result.items[std::atomic_ref<Offset>(next[j]).fetch_add(1, relaxed)] = i;
    });
    return result;
}

}  // namespace

GatheredRows union_with_transpose(int threads, const GatheredRows& rows,
                                  const GatheredRows& to_transpose) {
    const GatheredRows transposed =
        transposed_in_any_order(threads, to_transpose, [](Index, Index) { return true; });
    return gather_rows(threads, Offset(rows.offsets.size()) - 1,
                       [&](Offset i, std::vector<Index>& list) {
                           for (const GatheredRows* one : {&rows, &transposed}) {
                               list.insert(list.end(), one->items.begin() + one->offsets[i],
                                           one->items.begin() + one->offsets[i + 1]);
                           }
                       });
}

GatheredRows lower_blocks(const Grid& grid, const GroupPattern& pattern, bool symmetric,
                          int threads) {
    const GatheredRows rows =
        gather_rows(threads, grid.block_rows, [&](Offset i, std::vector<Index>& list) {
            Index last = -1;  // Neighbouring entries are in one block.
            visit_block_columns(grid, pattern, Index(i), [&](Index j) {
                if (j != last && j != i && (!symmetric || j < i)) list.push_back(j);
                last = j;
            });
        });
    if (symmetric) return rows;
    const GatheredRows above =
        transposed_in_any_order(threads, rows, [](Index i, Index j) { return i < j; });
    return gather_rows(threads, grid.block_rows, [&](Offset i, std::vector<Index>& list) {
        for (Offset e = rows.offsets[i]; e < rows.offsets[i + 1] && rows.items[e] < i; ++e) {
            list.push_back(rows.items[e]);
        }
        list.insert(list.end(), above.items.begin() + above.offsets[i],
                    above.items.begin() + above.offsets[i + 1]);
    });
}

GatheredRows add_fill(GatheredRows lower, int fill, Offset max_blocks) {
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

namespace {

/// The level of each block row; returns their number.
Index find_levels(const GatheredRows& blocks, std::vector<Index>& level) {
    Index levels = 0;
    for (std::size_t i = 0; i < level.size(); ++i) {
        for (Offset b = blocks.offsets[i]; b < blocks.offsets[i + 1]; ++b) {
            level[i] = std::max(level[i], level[blocks.items[b]] + 1);
        }
        levels = std::max(levels, level[i] + 1);
    }
    return levels;
}

}  // namespace

GridByLevels arrange_by_levels(const Grid& grid, const GatheredRows& blocks, int threads) {
    const auto m = std::size_t(grid.block_rows);
    BlockPattern pattern;
    pattern.block_rows = grid.block_rows;
    std::vector<Index> level(m, 0), order, new_number(m), slots(grid.slots.size());
    const Index levels = find_levels(blocks, level);
    sort_by_key(level, levels, pattern.level_offsets, order);
    parallel_ranges(threads, grid.block_rows, [&](Offset first, Offset last) {
        for (Offset i = first; i < last; ++i) {
            new_number[order[i]] = Index(i);
            std::copy_n(grid.slots.begin() + Offset(order[i]) * grid.k, grid.k,
                        slots.begin() + i * grid.k);
        }
    });
    GatheredRows by_rows =
        gather_rows(threads, grid.block_rows, [&](Offset i, std::vector<Index>& list) {
            for (Offset b = blocks.offsets[order[i]]; b < blocks.offsets[order[i] + 1]; ++b) {
                list.push_back(new_number[blocks.items[b]]);
            }
        });
    pattern.column_offsets.assign(m + 1, 0);
    for (const Index column : by_rows.items) ++pattern.column_offsets[column + 1];
    std::partial_sum(pattern.column_offsets.begin(), pattern.column_offsets.end(),
                     pattern.column_offsets.begin());
    pattern.rows.resize(by_rows.items.size());
    pattern.columns.resize(by_rows.items.size());
    pattern.row_blocks.resize(by_rows.items.size());
    std::vector<Offset> next(pattern.column_offsets);
    for (Index i = 0; i < grid.block_rows; ++i) {
        for (Offset e = by_rows.offsets[i]; e < by_rows.offsets[i + 1]; ++e) {
            const Offset b = next[by_rows.items[e]]++;
            pattern.rows[b] = i;
            pattern.columns[b] = by_rows.items[e];
            pattern.row_blocks[e] = Index(b);
        }
    }
    pattern.row_offsets = std::move(by_rows.offsets);
    return {make_grid(grid.k, grid.rows, std::move(slots), grid.row_of_column, threads),
            std::move(pattern)};
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

}  // namespace tessera::incomplete
