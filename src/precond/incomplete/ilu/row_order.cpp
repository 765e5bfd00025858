#include "precond/incomplete/ilu/row_order.hpp"

#include <algorithm>
#include <numeric>

#include "base/for_each.hpp"
#include "base/zeros.hpp"
#include "precond/incomplete/symbolic/arrangement.hpp"
#include "precond/incomplete/symbolic/entries.hpp"
#include "tessera/blocks.hpp"

namespace tessera::incomplete {

namespace {

/// The first group of each line of a mesh, and the number of the line and of the block of each
/// group, as PlaceGroups has them; empty where blocks do not end at the ends of lines.
struct Lines {
    Buffer<Offset> lines, blocks;
    Buffer<Index> first;
    Offset block_rows = 0;
};

/// Blocks of up to `size` consecutive groups that end where a group is not coupled to the next one,
/// as at the end of a line of a mesh, unless that takes a quarter more blocks: one that goes on
/// with the next line waits for this line and is waited for by the next, so that all lines are
/// factored one after another.
///   recirculation:300, blocks of 8 rows  5,886 levels  by lines   337
///   convection3d:60                          335                    126
Lines blocks_by_lines(const Context& context, const GroupPattern& pattern, Index size) {
    const Index groups = pattern.groups;
    Buffer<Index> starts(context, groups);
    Lines result{Buffer<Offset>(context, Offset(groups) + 1),
                 Buffer<Offset>(context, Offset(groups) + 1), Buffer<Index>(context, groups), 0};
    for_each_index(context, groups, StartLine{pattern.offsets, pattern.columns, starts.data()});
    exclusive_scan(context, groups, CountAt{starts.data()}, result.lines.data());
    for_each_index(context, groups,
                   PlaceLines{starts.data(), result.lines.data(), result.first.data()});
    for_each_index(context, groups,
                   StartBlock{size, result.lines.data(), result.first.data(), starts.data()});
    exclusive_scan(context, groups, CountAt{starts.data()}, result.blocks.data());
    result.block_rows = read_value(context, result.blocks.data() + groups);
    if (4 * result.block_rows * size > 5 * Offset(groups) + 4 * size) return {};
    return result;
}

/// Groups in a sequence, those of the pattern or, if it is empty, ascending, up to `per_block` in a
/// block of k rows.
Grid place_groups(const Context& context, const GroupPattern& pattern, Index k, Index per_block,
                  const Buffer<Index>& sequence, const Lines& lines) {
    const Index rows = pattern.groups * pattern.size;
    const Offset block_rows =
        lines.block_rows > 0 ? lines.block_rows : (pattern.groups + per_block - 1) / per_block;
    Grid grid{k,
              rows,
              Index(block_rows),
              Buffer<Index>(context, block_rows * k),
              {},
              Buffer<Index>(context, rows)};
    context.state().fill_bytes(grid.slots.data(), 0xff, grid.slots.size() * Offset(sizeof(Index)));
    const bool by_lines = lines.block_rows > 0;
    for_each_index(context, pattern.groups,
                   PlaceGroups{pattern.size, per_block, k, by_lines ? lines.lines.data() : nullptr,
                               lines.first.data(), lines.blocks.data(),
                               sequence.empty() ? nullptr : sequence.data(), grid.slots.data(),
                               grid.slot_of_column.data()});
    return grid;
}

/// Gives columns the rows that belong to them, unless these are those of their numbers.
void set_rows(const Context& context, const Buffer<Index>& row_of_column, Grid& grid) {
    if (row_of_column.empty()) return;
    grid.row_slots = Buffer<Index>(context, grid.slots.size());
    for_each_index(context, grid.slots.size(),
                   NumbersOfSlots{grid.slots.data(), row_of_column.data(), grid.row_slots.data()});
}

/// The groups ordered by the graph of A and its transpose.
Buffer<Index> ordered_groups(const Context& context, const GroupPattern& pattern,
                             const RowOrder& order, const Buffer<Index>& row_of_column) {
    Grid groups = place_groups(context, pattern, pattern.size, 1, {}, {});
    set_rows(context, row_of_column, groups);
    const GatheredRows lower = copy_to_host(context, lower_blocks(context, groups, pattern, false));
    const Context host = context.on_gpu() ? Context::cpu(context.threads()) : context;
    const GatheredRows graph = union_with_transpose(host.threads(), lower, lower);
    // Ordering reads no values.
    const std::vector<float> no_values(1);
    const CsrView<float> edges{pattern.groups,       pattern.groups,     graph.offsets.back(),
                               graph.offsets.data(), graph.items.data(), no_values.data()};
    return copy_to_buffer(context, order_blocks<float>(host, edges, {}, 1, order.method));
}

}  // namespace

template <class T>
Index rows_of_natural_blocks(const Context& context, const CsrView<T>& matrix) {
    const BlockPartition blocks = find_blocks(context, matrix, max_group, Blocking::natural);
    const bool all_equal = Offset(blocks.count) * blocks.largest == matrix.rows;
    return all_equal && blocks.largest > 0 ? blocks.largest : 1;
}

template <class T>
bool is_scattered(const Context& context, const CsrView<T>& matrix) {
    const RowsOfThread rows(context.on_gpu(), matrix.rows);
    Buffer<std::uint64_t> sums = zeros<std::uint64_t>(context, RowsOfThread::results);
    for_each_index(context, rows.threads, SumDistances<T>{rows, matrix, sums.data()});
    const auto found = copy_to_host(context, sums);
    return double(std::accumulate(found.begin(), found.end(), std::uint64_t(0))) >
           0.1 * double(matrix.rows) * double(matrix.nonzeros);
}

Index size_of_blocks(Index rows) {
    for (const Index size : {1, 4, 8, 16}) {
        if (rows <= size) return size;
    }
    return 32;
}

Grid order_rows(const Context& context, const GroupPattern& pattern, const RowOrder& order) {
    const Index per_block = std::max<Index>(1, order.block / order.together);
    const Buffer<Index> row_of_column = copy_to_buffer(context, order.row_of_column);
    Buffer<Index> sequence;
    Lines lines;
    if (order.method != OrderingMethod::natural) {
        sequence = ordered_groups(context, pattern, order, row_of_column);
    } else if (order.row_of_column.empty() && per_block > 1) {
        lines = blocks_by_lines(context, pattern, per_block);
    }
    Grid grid =
        place_groups(context, pattern, size_of_blocks(order.block), per_block, sequence, lines);
    set_rows(context, row_of_column, grid);
    return grid;
}

#define TESSERA_INSTANTIATE(T)                                              \
    template decltype(rows_of_natural_blocks<T>) rows_of_natural_blocks<T>; \
    template decltype(is_scattered<T>) is_scattered<T>;
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::incomplete
