#include "precond/block_ldlt/symbolic/block_pattern.hpp"

#include <algorithm>
#include <numeric>

#include "base/dispatch.hpp"
#include "base/gather_rows.hpp"
#include "base/parallel.hpp"

namespace tessera::block_ldlt {

namespace {

/// counts[i + 1] items of each i become offsets, in place.
template <class Counts>
void to_offsets(Counts& counts) {
    std::partial_sum(counts.begin(), counts.end(), counts.begin());
}

std::vector<Index> levels_of_rows(const BlockRows& blocks) {
    std::vector<Index> level(blocks.offsets.size() - 1, 0);
    for (std::size_t i = 0; i < level.size(); ++i) {
        for (Offset b = blocks.offsets[i]; b < blocks.offsets[i + 1]; ++b) {
            level[i] = std::max(level[i], level[std::size_t(blocks.columns[std::size_t(b)])] + 1);
        }
    }
    return level;
}

/// The places 0 .. keys.size()-1 sorted by key < `end`, stable: where each key starts, the places.
template <class Offsets>
void sort_by_key(const std::vector<Index>& keys, Index end, std::vector<Offsets>& offsets,
                 std::vector<Index>& places) {
    offsets.assign(std::size_t(end) + 1, 0);
    places.resize(keys.size());
    for (const Index key : keys) ++offsets[std::size_t(key) + 1];
    to_offsets(offsets);
    std::vector<Offsets> next(offsets.begin(), offsets.end() - 1);
    for (std::size_t place = 0; place < keys.size(); ++place) {
        places[std::size_t(next[std::size_t(keys[place])]++)] = Index(place);
    }
}

/// f(block, left, right) for each pair of blocks (i, k), (j, k) of the block (i, j), over block
/// rows first_row .. last_row - 1.
template <class F>
void visit_triples(const BlockPattern& pattern, Offset first_row, Offset last_row, F&& f) {
    std::vector<Index> block_of_column(std::size_t(pattern.block_rows), -1);
    const auto row = [&](Offset i) {
        const Offset begin = pattern.row_offsets[std::size_t(i)];
        const Offset end = pattern.row_offsets[std::size_t(i) + 1];
        return std::span(pattern.row_blocks).subspan(std::size_t(begin), std::size_t(end - begin));
    };
    const auto column = [&](Index b) { return std::size_t(pattern.columns[std::size_t(b)]); };
    for (Offset i = first_row; i < last_row; ++i) {
        for (const Index b : row(i)) block_of_column[column(b)] = b;
        for (const Index b : row(i)) {
            for (const Index right : row(Offset(column(b)))) {
                const Index left = block_of_column[column(right)];
                if (left >= 0) f(b, left, right);
            }
        }
        for (const Index b : row(i)) block_of_column[column(b)] = -1;
    }
}

/// Few parts, as each has a marker of its own.
Offset parts_with_marker(int threads) { return std::max(1, threads); }

}  // namespace

Grid make_grid(Index k, Index rows, std::vector<Index> slots) {
    require(k >= 1, "block_ldlt: blocks need at least one row");
    Grid grid;
    grid.k = k;
    grid.rows = rows;
    grid.slots = std::move(slots);
    while (grid.slots.size() % std::size_t(k) != 0) grid.slots.push_back(-1);
    grid.block_rows = Index(grid.slots.size() / std::size_t(k));
    grid.slot_of_row.assign(std::size_t(rows), -1);
    Index found = 0;
    for (std::size_t s = 0; s < grid.slots.size(); ++s) {
        const Index row = grid.slots[s];
        if (row == -1) continue;
        require(row >= 0 && row < rows && grid.slot_of_row[std::size_t(row)] == -1,
                "block_ldlt: the slots must hold each row once, and -1 as padding");
        grid.slot_of_row[std::size_t(row)] = Index(s);
        ++found;
    }
    require(found == rows, "block_ldlt: the slots must hold each row once, and -1 as padding");
    return grid;
}

BlockPattern arrange_by_levels(Grid& grid, const BlockRows& blocks) {
    const auto m = std::size_t(grid.block_rows);
    const auto k = std::size_t(grid.k);
    BlockPattern pattern;
    pattern.block_rows = grid.block_rows;
    const std::vector<Index> level = levels_of_rows(blocks);
    const Index levels = level.empty() ? 0 : *std::ranges::max_element(level) + 1;
    std::vector<Index> order;
    sort_by_key(level, levels, pattern.level_offsets, order);

    std::vector<Index> number(m);
    std::vector<Index> slots(grid.slots.size());
    for (std::size_t i = 0; i < m; ++i) {
        number[std::size_t(order[i])] = Index(i);
        const auto from = grid.slots.begin() + Offset(k) * order[i];
        std::copy(from, from + Offset(k), slots.begin() + Offset(i * k));
    }
    grid = make_grid(grid.k, grid.rows, std::move(slots));

    // Sorted by rows, then, stable, by columns.
    std::vector<Index> rows, columns;
    rows.reserve(blocks.columns.size());
    columns.reserve(blocks.columns.size());
    for (std::size_t i = 0; i < m; ++i) {
        const auto old = std::size_t(order[i]);
        for (Offset b = blocks.offsets[old]; b < blocks.offsets[old + 1]; ++b) {
            rows.push_back(Index(i));
            columns.push_back(number[std::size_t(blocks.columns[std::size_t(b)])]);
        }
    }
    std::vector<Index> by_columns;
    sort_by_key(columns, grid.block_rows, pattern.column_offsets, by_columns);
    pattern.rows.resize(rows.size());
    pattern.columns.resize(rows.size());
    for (std::size_t b = 0; b < rows.size(); ++b) {
        pattern.rows[b] = rows[std::size_t(by_columns[b])];
        pattern.columns[b] = columns[std::size_t(by_columns[b])];
    }
    sort_by_key(pattern.rows, grid.block_rows, pattern.row_offsets, pattern.row_blocks);
    return pattern;
}

void count_triples(BlockPattern& pattern, int threads) {
    auto& offsets = pattern.triple_offsets;
    offsets.assign(std::size_t(pattern.blocks()) + 1, 0);
    parallel_parts(threads, pattern.block_rows, parts_with_marker(threads),
                   [&](Offset, Offset first, Offset last) {
                       visit_triples(pattern, first, last, [&](Offset b, Index, Index) {
                           ++offsets[std::size_t(b) + 1];
                       });
                   });
    to_offsets(offsets);
}

void list_triples(BlockPattern& pattern, int threads) {
    const auto& offsets = pattern.triple_offsets;
    pattern.left.resize(std::size_t(offsets.back()));
    pattern.right.resize(std::size_t(offsets.back()));
    parallel_parts(threads, pattern.block_rows, parts_with_marker(threads),
                   [&](Offset, Offset first, Offset last) {
                       Offset block = -1, at = 0;
                       visit_triples(pattern, first, last, [&](Offset b, Index left, Index right) {
                           if (b != block) at = offsets[std::size_t(b)];
                           block = b;
                           pattern.left[std::size_t(at)] = left;
                           pattern.right[std::size_t(at++)] = right;
                       });
                   });
}

template <class T>
BlockEntries find_entries(const Grid& grid, const BlockPattern& pattern, const CsrView<T>& matrix,
                          int threads) {
    const Index k = grid.k;
    const Offset blocks = pattern.blocks();
    BlockEntries entries;
    entries.offsets.assign(std::size_t(blocks + pattern.block_rows) + 1, 0);
    // f(item, row slot, column slot, source) in the order of the slots; all of an item is in one
    // block row.
    const auto visit = [&](Offset first_row, Offset last_row, auto&& f) {
        std::vector<Offset> item_of_column(std::size_t(pattern.block_rows), -1);
        for (Index i = Index(first_row); i < Index(last_row); ++i) {
            for (Offset e = pattern.row_offsets[std::size_t(i)];
                 e < pattern.row_offsets[std::size_t(i) + 1]; ++e) {
                const Index b = pattern.row_blocks[std::size_t(e)];
                item_of_column[std::size_t(pattern.columns[std::size_t(b)])] = b;
            }
            item_of_column[std::size_t(i)] = blocks + i;
            for (Index slot = i * k; slot < (i + 1) * k; ++slot) {
                prefetch_rows(matrix, slot, Offset(grid.slots.size()),
                              [&](Offset s) { return grid.slots[std::size_t(s)]; });
                const Index row = grid.slots[std::size_t(slot)];
                if (row < 0) f(blocks + i, slot, slot, Offset(-1));
                if (row < 0) continue;
                for (Offset e = matrix.row_offsets[row]; e < matrix.row_offsets[row + 1]; ++e) {
                    const Index other = grid.slot_of_row[std::size_t(matrix.column_indices[e])];
                    if (other <= slot) f(item_of_column[std::size_t(other / k)], slot, other, e);
                }
            }
        }
    };
    const auto visit_all = [&](auto&& f) {
        parallel_parts(threads, pattern.block_rows, parts_with_marker(threads),
                       [&](Offset, Offset first, Offset last) { visit(first, last, f); });
    };
    visit_all([&](Offset item, Index, Index, Offset) { ++entries.offsets[std::size_t(item) + 1]; });
    to_offsets(entries.offsets);
    const auto count = std::size_t(entries.offsets.back());
    entries.source.resize(count);
    entries.place.resize(count);
    entries.row.resize(count);
    entries.column.resize(count);
    std::vector<Offset> next(entries.offsets.begin(), entries.offsets.end() - 1);
    visit_all([&](Offset item, Index slot, Index other, Offset source) {
        const auto at = std::size_t(next[std::size_t(item)]++);
        entries.source[at] = source;
        entries.place[at] = std::uint16_t(slot % k + other % k * k);
        entries.row[at] = grid.slots[std::size_t(slot)];
        entries.column[at] = grid.slots[std::size_t(other)];
    });
    return entries;
}

template BlockEntries find_entries<float>(const Grid&, const BlockPattern&, const CsrView<float>&,
                                          int);
template BlockEntries find_entries<double>(const Grid&, const BlockPattern&, const CsrView<double>&,
                                           int);

}  // namespace tessera::block_ldlt
