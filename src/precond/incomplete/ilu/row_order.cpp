#include "precond/incomplete/ilu/row_order.hpp"

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
    const Index groups_of_block = std::max<Index>(1, order.block / together);
    const Index block_rows = (pattern.groups + groups_of_block - 1) / groups_of_block;
    std::vector<Index> slots(std::size_t(block_rows) * std::size_t(size), -1);
    parallel_ranges(threads, pattern.groups, [&](Offset first, Offset last) {
        for (Offset g = first; g < last; ++g) {
            Index* const to =
                slots.data() + g / groups_of_block * size + g % groups_of_block * together;
            std::iota(to, to + together, sequence[g] * together);
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
