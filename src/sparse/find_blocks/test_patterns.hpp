#pragma once

#include "sparse/find_blocks/kernels.hpp"
#include "support/test.hpp"
#include "tessera/detail/blocks.hpp"

namespace tessera::reference {

/// Supervariable blocking by its definition: adjacent rows with equal patterns form a
/// supervariable; each is cut every `bound` rows; the pieces are merged greedily while their rows
/// stay within `bound`. Returns the block offsets.
inline std::vector<Index> find_blocks(Index rows, const Offset* row_offsets,
                                      const Index* column_indices, Index bound, bool agglomerate) {
    const auto equal_patterns = [&](Index i, Index j) {
        return std::equal(column_indices + row_offsets[i], column_indices + row_offsets[i + 1],
                          column_indices + row_offsets[j], column_indices + row_offsets[j + 1]);
    };
    std::vector<Index> pieces;  // Sizes of the cut supervariables.
    for (Index first = 0, last = 0; first < rows; first = last) {
        while (last < rows && equal_patterns(first, last)) ++last;
        for (Index left = last - first; left > 0; left -= bound) {
            pieces.push_back(std::min(left, bound));
        }
    }
    std::vector<Index> offsets{0};
    Index size = 0;  // Number of rows of the open block.
    for (const Index piece : pieces) {
        if (size > 0 && (!agglomerate || size + piece > bound)) {
            offsets.push_back(offsets.back() + size);
            size = 0;
        }
        size += piece;
    }
    if (size > 0) offsets.push_back(offsets.back() + size);
    return offsets;
}

/// Groups of consecutive blocks of at most `rows` rows together, merged greedily; a larger block is
/// a group of its own. Returns the first block of each group, and the number of blocks.
inline std::vector<Index> group_blocks(const std::vector<Index>& block_offsets, Index rows) {
    const Index count = Index(block_offsets.size()) - 1;
    std::vector<Index> groups{0};
    for (Index b = 0; b < count; ++b) {
        const Index begin = block_offsets[std::size_t(groups.back())];
        if (b > groups.back() && block_offsets[std::size_t(b) + 1] - begin > rows) {
            groups.push_back(b);
        }
    }
    if (count > 0) groups.push_back(count);
    return groups;
}

}  // namespace tessera::reference

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
    const CsrMatrix<double> device_matrix = copy_to(context, matrix.view());
    const BlockPartition blocks = find_blocks(context, device_matrix.view(), bound, blocking);
    const auto expected = reference::find_blocks(matrix.rows(), matrix.view().row_offsets,
                                                 matrix.view().column_indices, bound,
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
