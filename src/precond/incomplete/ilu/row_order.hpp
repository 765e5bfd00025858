#pragma once

#include <vector>

#include "precond/incomplete/symbolic/block_pattern.hpp"
#include "tessera/detail/ordering.hpp"

namespace tessera::incomplete {

/// The number of rows of the natural blocks of a matrix (consecutive rows of equal pattern), if all
/// have the same, at most 8; else 1. Waits.
template <class T>
Index rows_of_natural_blocks(const Context& context, const CsrView<T>& matrix);

/// Whether the entries of a matrix are far from the diagonal: a tenth of the rows on average, as
/// where rows are numbered at random. Waits.
template <class T>
bool is_scattered(const Context& context, const CsrView<T>& matrix);

/// The size of the blocks that kernels know in which `rows` rows fit: 1, 4, 8, 16 or 32.
Index size_of_blocks(Index rows);

/// How rows become blocks.
struct RowOrder {
    Index together =
        1;            ///< Consecutive rows that stay together, 1 for a matrix with permuted rows.
    Index block = 8;  ///< Rows of a block, the rest of size_of_blocks is padding.
    OrderingMethod method = OrderingMethod::natural;
    std::vector<Index> row_of_column;  ///< As in Grid.
};

/// The grid of a matrix with a pattern of groups of `together` rows: orders the graph of the groups
/// of A and its transpose (on the host, but for the natural order), and fills blocks in this order.
/// Waits.
Grid order_rows(const Context& context, const GroupPattern& pattern, const RowOrder& order);

}  // namespace tessera::incomplete
