#include "precond/incomplete/ilu/row_order.hpp"

#include <cmath>
#include <numeric>

#include "base/check_time.hpp"
#include "base/dispatch.hpp"
#include "tessera/blocks.hpp"

namespace tessera::incomplete {

namespace {

constexpr Index max_natural_block = 8;

/// Groups of `size` rows in their order.
Grid groups_of_rows(Index rows, Index size, const std::vector<Index>& row_of_column) {
    std::vector<Index> slots(static_cast<std::size_t>(rows));
    std::iota(slots.begin(), slots.end(), 0);
    return make_grid(size, rows, std::move(slots), row_of_column);
}

}  // namespace

template <class T>
Index rows_of_natural_blocks(const Context& host, const CsrView<T>& matrix) {
    const BlockPartition blocks = find_blocks(host, matrix, max_natural_block, Blocking::natural);
    const bool all_equal = Offset(blocks.count) * blocks.largest == matrix.rows;
    return all_equal && blocks.largest > 0 ? blocks.largest : 1;
}

template <class T>
bool is_scattered(const CsrView<T>& matrix) {
    double sum = 0;
    for (Index i = 0; i < matrix.rows; ++i) {
        if (i % 1024 == 0) check_time();
        for (Offset e = matrix.row_offsets[i]; e < matrix.row_offsets[i + 1]; ++e) {
            sum += std::abs(double(matrix.column_indices[e]) - i);
        }
    }
    return sum > 0.1 * double(matrix.rows) * double(matrix.nonzeros);
}

Index size_of_blocks(Index rows) {
    for (const Index size : {1, 4, 8, 16}) {
        if (rows <= size) return size;
    }
    return 32;
}

template <class T>
Grid order_rows(const Context& host, const CsrView<T>& matrix, const RowOrder& order) {
    const Grid groups = groups_of_rows(matrix.rows, order.together, order.row_of_column);
    std::vector<Index> sequence(static_cast<std::size_t>(groups.block_rows));
    std::iota(sequence.begin(), sequence.end(), 0);
    if (order.method != OrderingMethod::natural) {
        const GatheredRows lower = lower_blocks(groups, matrix, false, host.threads());
        const GatheredRows graph = union_with_transpose(host.threads(), lower, lower);
        // Ordering reads no values.
        const CsrView<T> pattern{groups.block_rows,    groups.block_rows,  graph.offsets.back(),
                                 graph.offsets.data(), graph.items.data(), matrix.values};
        sequence = order_blocks<T>(host, pattern, {}, 1, order.method);
    }
    const Index size = size_of_blocks(order.block);
    const Index groups_of_block = std::max<Index>(1, order.block / order.together);
    std::vector<Index> slots;
    Index filled = 0;
    for (const Index group : sequence) {
        const auto first = groups.slots.begin() + Offset(group) * order.together;
        slots.insert(slots.end(), first, first + order.together);
        if (++filled < groups_of_block) continue;
        filled = 0;
        while (Index(slots.size() % std::size_t(size)) != 0) slots.push_back(-1);
    }
    return make_grid(size, matrix.rows, std::move(slots), order.row_of_column);
}

#define TESSERA_INSTANTIATE(T)                                              \
    template decltype(rows_of_natural_blocks<T>) rows_of_natural_blocks<T>; \
    template decltype(is_scattered<T>) is_scattered<T>;                     \
    template decltype(order_rows<T>) order_rows<T>;
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::incomplete
