#include "precond/incomplete/symbolic/block_pattern.hpp"

#include <algorithm>
#include <atomic>
#include <queue>

#include "base/checks.hpp"
#include "base/for_each.hpp"
#include "base/zeros.hpp"
#include "precond/incomplete/symbolic/arrangement.hpp"
#include "precond/incomplete/symbolic/kernels.hpp"

namespace tessera::incomplete {

namespace {

/// Whether the slots hold each of the columns 0 .. rows - 1 once, and -1.
bool is_permutation(int threads, Index rows, const std::vector<Index>& slots) {
    constexpr auto relaxed = std::memory_order_relaxed;
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
    return valid && count == rows;
}

/// The slot of each of `rows` columns, or the number of each of `rows` block rows in an order.
Buffer<Index> inverse_of(const Context& context, const Buffer<Index>& slots, Index rows) {
    Buffer<Index> inverse(context, rows);
    for_each_index(context, slots.size(), FindSlots{slots.data(), inverse.data()});
    return inverse;
}

}  // namespace

Grid make_grid(const Context& context, Index k, Index rows, std::vector<Index> slots,
               const std::vector<Index>& row_of_column) {
    require(k >= 1, "incomplete factors: blocks need at least one row");
    while (slots.size() % std::size_t(k) != 0) slots.push_back(-1);
    require(is_permutation(context.threads(), rows, slots),
            "incomplete factors: the slots must hold each row once, and -1 as padding");
    Grid grid{k,  rows, Index(slots.size() / std::size_t(k)), copy_to_buffer(context, slots),
              {}, {}};
    grid.slot_of_column = inverse_of(context, grid.slots, rows);
    if (row_of_column.empty()) return grid;
    const Buffer<Index> numbers = copy_to_buffer(context, row_of_column);
    grid.row_slots = Buffer<Index>(context, grid.slots.size());
    for_each_index(context, grid.slots.size(),
                   NumbersOfSlots{grid.slots.data(), numbers.data(), grid.row_slots.data()});
    return grid;
}

Grid copy_grid(const Context& from, const Grid& grid, const Context& to) {
    const auto copied = [&](const Buffer<Index>& numbers) {
        return copy_to_buffer(to, copy_to_host(from, numbers));
    };
    return {grid.k,
            grid.rows,
            grid.block_rows,
            copied(grid.slots),
            copied(grid.row_slots),
            copied(grid.slot_of_column)};
}

BlockRows copy_to_buffers(const Context& context, const GatheredRows& rows) {
    return {copy_to_buffer(context, rows.offsets), copy_to_buffer(context, rows.items)};
}

GatheredRows copy_to_host(const Context& context, const BlockRows& rows) {
    return {copy_to_host(context, rows.offsets), copy_to_host(context, rows.columns)};
}

BlockRows lower_blocks(const Context& context, const Grid& grid, const GroupPattern& pattern,
                       bool symmetric) {
    return TESSERA_RUN(lower_blocks, context, grid, pattern, symmetric);
}

namespace {

/// add_fill in host memory; check_count throws for too many blocks.
template <class Check>
GatheredRows filled(const GatheredRows& lower, int fill, Check&& check_count) {
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

}  // namespace

BlockRows add_fill(const Context& context, BlockRows lower, int fill, Offset max_blocks) {
    const auto check_count = [&](Offset blocks) {
        if (blocks <= max_blocks) return;
        throw OutOfMemory("incomplete factors: fill=" + std::to_string(fill) + " needs more than " +
                          std::to_string(max_blocks) + " blocks; use a smaller fill");
    };
    check_count(lower.columns.size());
    if (fill == 0) return lower;
    return copy_to_buffers(context, filled(copy_to_host(context, lower), fill, check_count));
}

PatternLists BlockPattern::lists(Index k, bool symmetric) const {
    return {
        k,           block_rows,     blocks(),           symmetric,         column_offsets.data(),
        rows.data(), columns.data(), row_offsets.data(), row_blocks.data(), update_offsets.data(),
        left.data(), right.data()};
}

GridByLevels arrange_by_levels(const Context& context, const Grid& grid, const BlockRows& blocks,
                               Index max_levels) {
    const LevelOrder levels = TESSERA_RUN(order_by_levels, context, blocks, max_levels);
    require_argument("preconditioner", !levels.level_offsets.empty(),
                     "incomplete factors: they have more"
                     " levels than max_levels=",
                     max_levels);
    BlockPattern pattern;
    pattern.block_rows = grid.block_rows;
    TESSERA_RUN(list_blocks, context, blocks, levels.order,
                inverse_of(context, levels.order, grid.block_rows), pattern);
    const Offset starts = levels.level_offsets.size();
    pattern.level_starts_in_context = Buffer<LevelStart>(context, starts);
    for_each_index(context, starts,
                   FindLevelStarts{levels.level_offsets.data(), pattern.column_offsets.data(),
                                   pattern.level_starts_in_context.data()});
    pattern.level_starts = copy_to_host(context, pattern.level_starts_in_context);
    const auto reordered = [&](const Buffer<Index>& slots) {
        Buffer<Index> result(context, slots.size());
        for_each_index(context, slots.size(),
                       ReorderSlots{grid.k, levels.order.data(), slots.data(), result.data()});
        return result;
    };
    Grid by_levels{
        grid.k, grid.rows, grid.block_rows, reordered(grid.slots), reordered(grid.row_slots), {}};
    by_levels.slot_of_column = inverse_of(context, by_levels.slots, grid.rows);
    return {std::move(by_levels), std::move(pattern)};
}

void count_updates(const Context& context, BlockPattern& pattern) {
    TESSERA_RUN(count_updates, context, pattern);
    pattern.updates = read_value(context, pattern.update_offsets.data() + pattern.blocks());
}

void list_updates(const Context& context, BlockPattern& pattern) {
    if (pattern.updates == 0) return;
    pattern.left = Buffer<Index>(context, pattern.updates);
    pattern.right = Buffer<Index>(context, pattern.updates);
    TESSERA_RUN(list_updates, context, pattern);
}

void set_no_updates(const Context& context, BlockPattern& pattern) {
    pattern.update_offsets = zeros<Offset>(context, pattern.blocks() + 1);
}

}  // namespace tessera::incomplete
