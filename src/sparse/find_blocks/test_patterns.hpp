#pragma once

#include "sparse/find_blocks/find_blocks_reference.hpp"
#include "sparse/find_blocks/kernels.hpp"
#include "support/test.hpp"

namespace tessera::test {

/// The columns of each row.
using Pattern = std::vector<std::vector<Index>>;

inline CsrMatrix<double> matrix_of(const Pattern& pattern) {
    std::vector<std::vector<double>> values;
    for (const auto& row : pattern) values.emplace_back(row.size(), 1.0);
    const Index rows = Index(pattern.size());
    return make_csr(rows, rows, pattern, values);
}

/// find_blocks against the reference, with its counts.
inline void expect_reference(const Context& context, const Pattern& pattern, Index bound,
                             Blocking blocking) {
    const CsrMatrix<double> matrix = matrix_of(pattern);
    const CsrMatrix<double> there = copy_to(context, matrix.view());
    const BlockPartition blocks = find_blocks(context, there.view(), bound, blocking);
    const reference::Pattern host{matrix.rows(), matrix.view().row_offsets,
                                  matrix.view().column_indices};
    const auto expected =
        blocking == Blocking::similar
            ? reference::similar_blocks(host, bound, similar_stretch, similar_horizon)
            : reference::find_blocks(host.rows, host.row_offsets, host.column_indices, bound,
                                     blocking == Blocking::supervariable);
    ASSERT_EQ(copy_to_host(context, blocks.block_offsets), expected)
        << pattern.size() << " rows, bound " << bound << ", " << to_string(blocking);
    Index largest = 0;
    std::vector<Offset> entry_offsets{0};
    for (std::size_t b = 0; b + 1 < expected.size(); ++b) {
        const Index size = expected[b + 1] - expected[b];
        largest = std::max(largest, size);
        entry_offsets.push_back(entry_offsets.back() + Offset(size) * size);
    }
    EXPECT_EQ(blocks.rows, matrix.rows());
    EXPECT_EQ(blocks.count, Index(expected.size() - 1));
    EXPECT_EQ(blocks.largest, largest);
    EXPECT_EQ(blocks.entries, entry_offsets.back());
}

}  // namespace tessera::test
