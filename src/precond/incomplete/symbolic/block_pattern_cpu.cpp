#include <algorithm>
#include <atomic>

#include "base/parallel.hpp"
#include "base/zeros.hpp"
#include "precond/incomplete/symbolic/kernels.hpp"

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
    const Index* const row_in_slot = grid.rows_in_slots().data();
    const Index* const slot_of_column = grid.slot_of_column.data();
    const auto group_at = [&](Offset slot) {
        return row_in_slot[slot] < 0 ? -1 : row_in_slot[slot] / pattern.size;
    };
    const Index end = (i + 1) * grid.k;
    for (Index slot = i * grid.k; slot < end;) {
        prefetch_rows(rows, slot, grid.slots.size(), group_at);
        const Index group = group_at(slot);
        slot += group < 0 ? 1 : pattern.size;
        if (group < 0) continue;
        for (Offset e = pattern.offsets[group]; e < pattern.offsets[group + 1]; ++e) {
            f(slot_of_column[pattern.columns[e] * pattern.size] / grid.k);
        }
    }
}

/// The blocks of a row.
std::span<const Index> blocks_of_row(const BlockPattern& pattern, Offset i) {
    const Offset* const offsets = pattern.row_offsets.data();
    return pattern.row_blocks.view().subspan(std::size_t(offsets[i]),
                                             std::size_t(offsets[i + 1] - offsets[i]));
}

/// f(block, left, right) for each pair of blocks (i, k), (j, k) of the block (i, j); each block
/// row i in one thread. One part per thread, as each part has a marker array.
template <class F>
void visit_updates(const BlockPattern& pattern, int threads, F&& f) {
    const auto row = [&](Offset i) { return blocks_of_row(pattern, i); };
    parallel_parts(threads, pattern.block_rows, threads, [&](Offset, Offset first, Offset last) {
        std::vector<Index> block_of_column(std::size_t(pattern.block_rows), -1);
        const Index* const columns = pattern.columns.data();
        for (Offset i = first; i < last; ++i) {
            for (const Index b : row(i)) block_of_column[columns[b]] = b;
            for (const Index b : row(i)) {
                check_time();
                for (const Index right : row(columns[b])) {
                    const Index left = block_of_column[columns[right]];
                    if (left >= 0) f(b, left, right);
                }
            }
            for (const Index b : row(i)) block_of_column[columns[b]] = -1;
        }
    });
}

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

namespace cpu {

BlockRows lower_blocks(const Context& context, const Grid& grid, const GroupPattern& pattern,
                       bool symmetric) {
    const int threads = context.threads();
    const GatheredRows rows =
        gather_rows(threads, grid.block_rows, [&](Offset i, std::vector<Index>& list) {
            Index last = -1;  // Neighbouring entries are in one block.
            visit_block_columns(grid, pattern, Index(i), [&](Index j) {
                if (j != last && j != i && (!symmetric || j < i)) list.push_back(j);
                last = j;
            });
        });
    if (symmetric) return copy_to_buffers(context, rows);
    const GatheredRows above =
        transposed_in_any_order(threads, rows, [](Index i, Index j) { return i < j; });
    return copy_to_buffers(
        context, gather_rows(threads, grid.block_rows, [&](Offset i, std::vector<Index>& list) {
            for (Offset e = rows.offsets[i]; e < rows.offsets[i + 1] && rows.items[e] < i; ++e) {
                list.push_back(rows.items[e]);
            }
            list.insert(list.end(), above.items.begin() + above.offsets[i],
                        above.items.begin() + above.offsets[i + 1]);
        }));
}

LevelOrder order_by_levels(const Context& context, const BlockRows& blocks, Index max_levels) {
    const auto rows = std::size_t(blocks.offsets.size()) - 1;
    const Offset* const offsets = blocks.offsets.data();
    const Index* const columns = blocks.columns.data();
    std::vector<Index> level(rows, 0), order, level_offsets;
    Index levels = 0;
    for (std::size_t i = 0; i < rows; ++i) {
        for (Offset b = offsets[i]; b < offsets[i + 1]; ++b) {
            level[i] = std::max(level[i], level[columns[b]] + 1);
        }
        levels = std::max(levels, level[i] + 1);
    }
    if (max_levels > 0 && levels > max_levels) return {};
    sort_by_key(level, levels, level_offsets, order);
    return {copy_to_buffer(context, order), copy_to_buffer(context, level_offsets)};
}

void list_blocks(const Context& context, const BlockRows& blocks, const Buffer<Index>& order,
                 const Buffer<Index>& number, BlockPattern& pattern) {
    const Index m = Index(order.size());
    GatheredRows by_rows =
        gather_rows(context.threads(), m, [&](Offset i, std::vector<Index>& list) {
            const Offset* const row = blocks.offsets.data() + order.data()[i];
            for (Offset b = row[0]; b < row[1]; ++b) {
                list.push_back(number.data()[blocks.columns.data()[b]]);
            }
        });
    std::vector<Offset> next(std::size_t(m) + 1, 0);
    for (const Index column : by_rows.items) ++next[column + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    pattern.row_offsets = copy_to_buffer(context, by_rows.offsets);
    pattern.column_offsets = copy_to_buffer(context, next);
    for (auto* list : {&pattern.rows, &pattern.columns, &pattern.row_blocks}) {
        *list = Buffer<Index>(context, Offset(by_rows.items.size()));
    }
    for (Index i = 0; i < m; ++i) {
        for (Offset e = by_rows.offsets[i]; e < by_rows.offsets[i + 1]; ++e) {
            const Offset b = next[by_rows.items[e]]++;
            pattern.rows.data()[b] = i;
            pattern.columns.data()[b] = by_rows.items[e];
            pattern.row_blocks.data()[e] = Index(b);
        }
    }
}

void count_updates(const Context& context, BlockPattern& pattern) {
    pattern.update_offsets = zeros<Offset>(context, pattern.blocks() + 1);
    Offset* const offsets = pattern.update_offsets.data();
    visit_updates(pattern, context.threads(), [&](Index b, Index, Index) { ++offsets[b + 1]; });
    std::partial_sum(offsets, offsets + pattern.blocks() + 1, offsets);
}

void list_updates(const Context& context, BlockPattern& pattern) {
    const Offset* const offsets = pattern.update_offsets.data();
    std::vector<Offset> next(offsets, offsets + pattern.blocks());
    visit_updates(pattern, context.threads(), [&](Index b, Index left, Index right) {
        pattern.left.data()[next[b]] = left;
        pattern.right.data()[next[b]++] = right;
    });
}

}  // namespace cpu

}  // namespace tessera::incomplete
