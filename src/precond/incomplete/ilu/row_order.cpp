#include "precond/incomplete/ilu/row_order.hpp"

#include <algorithm>
#include <numeric>

#include "base/parallel.hpp"
#include "base/zeros.hpp"
#include "precond/incomplete/symbolic/entries.hpp"
#include "tessera/blocks.hpp"

namespace tessera::incomplete {

namespace {

/// Groups of `size` rows in their order.
Grid groups_of_rows(Index rows, Index size, const std::vector<Index>& row_of_column, int threads) {
    std::vector<Index> slots(static_cast<std::size_t>(rows));
    std::iota(slots.begin(), slots.end(), 0);
    return make_grid(size, rows, std::move(slots), row_of_column, threads);
}

/// The first group of each block of up to `size` consecutive groups, and the number of groups. With
/// `lines` a block ends where a group is not coupled to the next one, as at the end of a line of a
/// mesh, unless that takes a quarter more blocks: one that goes on with the next line waits for
/// this line and is waited for by the next, so that all lines are factored one after another.
///   recirculation:300, blocks of 8 rows  5,886 levels  by lines   337
///   convection3d:60                          335                    126
std::vector<Index> share_out(const GroupPattern& pattern, Index size, bool lines, int threads) {
    const Index groups = pattern.groups;
    std::vector<Index> first;
    if (lines && size > 1) {
        std::vector<char> goes_on(static_cast<std::size_t>(groups));
        parallel_ranges(threads, groups, [&](Offset begin, Offset end) {
            const auto has = [&](Offset i, Offset j) {
                return std::binary_search(pattern.columns + pattern.offsets[i],
                                          pattern.columns + pattern.offsets[i + 1], Index(j));
            };
            for (Offset g = begin; g < end; ++g)
                goes_on[g] = g > 0 && (has(g, g - 1) || has(g - 1, g));
        });
        for (Index g = 0; g < groups; ++g) {
            if (!goes_on[g] || g - first.back() == size) first.push_back(g);
        }
    }
    if (first.empty() || 4 * Offset(first.size()) * size > 5 * Offset(groups) + 4 * size) {
        first.clear();
        for (Offset g = 0; g < groups; g += size) first.push_back(Index(g));
    }
    first.push_back(groups);
    return first;
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

Grid order_rows(const Context& host, const GroupPattern& pattern, const RowOrder& order) {
    const Index rows = pattern.groups * pattern.size, threads = host.threads();
    std::vector<Index> sequence(static_cast<std::size_t>(pattern.groups));
    std::iota(sequence.begin(), sequence.end(), 0);
    if (order.method != OrderingMethod::natural) {
        const Grid groups = groups_of_rows(rows, order.together, order.row_of_column, threads);
        const GatheredRows lower = lower_blocks(groups, pattern, false, threads);
        const GatheredRows graph = union_with_transpose(threads, lower, lower);
        // Ordering reads no values.
        const std::vector<float> no_values(1);
        const CsrView<float> edges{pattern.groups,       pattern.groups,     graph.offsets.back(),
                                   graph.offsets.data(), graph.items.data(), no_values.data()};
        sequence = order_blocks<float>(host, edges, {}, 1, order.method);
    }
    const Index size = size_of_blocks(order.block), together = order.together;
    const std::vector<Index> first_group =
        share_out(pattern, std::max<Index>(1, order.block / together),
                  order.method == OrderingMethod::natural && order.row_of_column.empty(), threads);
    const Offset block_rows = Offset(first_group.size()) - 1;
    std::vector<Index> slots(std::size_t(block_rows) * std::size_t(size), -1);
    parallel_ranges(threads, block_rows, [&](Offset first, Offset last) {
        for (Offset b = first; b < last; ++b) {
            Index* to = slots.data() + b * size;
            for (Index g = first_group[b]; g < first_group[b + 1]; ++g, to += together) {
                std::iota(to, to + together, sequence[g] * together);
            }
        }
    });
    return make_grid(size, rows, std::move(slots), order.row_of_column, threads);
}

#define TESSERA_INSTANTIATE(T)                                              \
    template decltype(rows_of_natural_blocks<T>) rows_of_natural_blocks<T>; \
    template decltype(is_scattered<T>) is_scattered<T>;
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::incomplete
