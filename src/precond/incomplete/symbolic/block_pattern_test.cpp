#include "precond/incomplete/symbolic/block_pattern.hpp"

#include <set>

#include "precond/incomplete/test_symmetric.hpp"

namespace tessera::test {

namespace {

using incomplete::BlockPattern;
using incomplete::Grid;

constexpr int none = 1 << 20;

/// Fill levels of the lower triangle by right-looking elimination in a dense array: independent of
/// add_fill.
std::vector<std::vector<int>> dense_levels(const Grid& grid, const CsrView<double>& matrix) {
    const auto m = std::size_t(grid.block_rows);
    std::vector<std::vector<int>> level(m, std::vector<int>(m, none));
    for (Index row = 0; row < matrix.rows; ++row) {
        for (Offset e = matrix.row_offsets[row]; e < matrix.row_offsets[row + 1]; ++e) {
            const auto i = std::size_t(grid.slot_of_column[std::size_t(row)] / grid.k);
            const auto j = grid.slot_of_column[std::size_t(matrix.column_indices[e])] / grid.k;
            level[i][std::size_t(j)] = 0;
        }
    }
    for (std::size_t k = 0; k < m; ++k) {
        for (std::size_t i = k + 1; i < m; ++i) {
            for (std::size_t j = k + 1; j < i; ++j) {
                level[i][j] = std::min(level[i][j], level[i][k] + level[j][k] + 1);
            }
        }
    }
    return level;
}

std::set<std::pair<Index, Index>> blocks_of(const BlockPattern& pattern) {
    std::set<std::pair<Index, Index>> found;
    for (std::size_t b = 0; b < pattern.columns.size(); ++b) {
        found.emplace(pattern.rows[b], pattern.columns[b]);
    }
    return found;
}

void expect_lists(const BlockPattern& pattern) {
    const auto m = std::size_t(pattern.block_rows);
    const auto blocks = blocks_of(pattern);
    std::vector<Index> level(m, 0);
    for (const auto& [i, j] : blocks) {
        EXPECT_LT(j, i);
        Index& mine = level[std::size_t(i)];
        mine = std::max(mine, level[std::size_t(j)] + 1);
    }
    std::vector<Index> expected;
    for (Index l = 0; l < pattern.levels(); ++l) {
        const Index rows =
            pattern.level_offsets[std::size_t(l) + 1] - pattern.level_offsets[std::size_t(l)];
        EXPECT_GT(rows, 0);
        expected.insert(expected.end(), std::size_t(rows), l);
    }
    EXPECT_EQ(level, expected);
    Offset by_column = 0, by_row = 0;
    for (Index j = 0; j < pattern.block_rows; ++j) {
        EXPECT_EQ(pattern.column_offsets[std::size_t(j)], by_column);
        EXPECT_EQ(pattern.row_offsets[std::size_t(j)], by_row);
        for (Index i = 0; i < pattern.block_rows; ++i) {
            if (blocks.contains({i, j})) {
                EXPECT_EQ(pattern.rows[std::size_t(by_column)], i);
                EXPECT_EQ(pattern.columns[std::size_t(by_column++)], j);
            }
            if (blocks.contains({j, i})) {
                const auto b = std::size_t(pattern.row_blocks[std::size_t(by_row++)]);
                EXPECT_EQ(std::pair(pattern.rows[b], pattern.columns[b]), std::pair(j, i));
            }
        }
    }
    EXPECT_EQ(pattern.column_offsets.back(), by_column);
    EXPECT_EQ(pattern.row_offsets.back(), by_row);
}

void expect_triples(const BlockPattern& pattern) {
    const auto blocks = blocks_of(pattern);
    Offset at = 0;
    for (std::size_t b = 0; b < pattern.columns.size(); ++b) {
        ASSERT_EQ(pattern.update_offsets[b], at);
        const Index i = pattern.rows[b], j = pattern.columns[b];
        for (Index k = 0; k < j; ++k) {
            if (!blocks.contains({i, k}) || !blocks.contains({j, k})) continue;
            const auto left = std::size_t(pattern.left[std::size_t(at)]);
            const auto right = std::size_t(pattern.right[std::size_t(at)]);
            EXPECT_EQ(std::pair(pattern.rows[left], pattern.columns[left]), std::pair(i, k));
            EXPECT_EQ(std::pair(pattern.rows[right], pattern.columns[right]), std::pair(j, k));
            ++at;
        }
    }
    EXPECT_EQ(pattern.updates(), at);
}

/// The number in `to` of block row i of `numbered`, which is one of the other two grids.
Index number(const Grid& from, const Grid& numbered, const Grid& to, Index i) {
    if (&numbered != &from) return i;
    const Index k = from.k;
    for (Index s = i * k; s < (i + 1) * k; ++s) {
        const Index row = from.slots[std::size_t(s)];
        if (row >= 0) return to.slot_of_column[std::size_t(row)] / k;
    }
    return -1;
}

}  // namespace

TEST(block_pattern, fill_lists_and_triples) {
    auto random = generator();
    for (const Index k : {1, 4, 8}) {
        for (const Index rows : {0, 1, 3, 9 * k, 30 * k + 1}) {
            const auto matrix =
                symmetric_csr<double>(rows, random_indefinite(random, rows, 1.5 / k));
            const Grid grid = incomplete::make_grid(k, rows, random_slots(random, rows, rows / 5));
            for (const int fill : {0, 1, 2, 3, 1000}) {
                Grid by_levels = grid;
                auto pattern = incomplete::arrange_by_levels(
                    by_levels,
                    incomplete::add_fill(incomplete::lower_blocks(grid, matrix.view(), true, 3),
                                         fill, 1 << 20));
                // Numbered by levels, the blocks have the fill levels of the original order.
                for (const Grid* numbered : {&grid, static_cast<const Grid*>(&by_levels)}) {
                    const auto level = dense_levels(*numbered, matrix.view());
                    std::set<std::pair<Index, Index>> expected;
                    for (Index i = 0; i < grid.block_rows; ++i) {
                        for (Index j = 0; j < i; ++j) {
                            if (level[std::size_t(i)][std::size_t(j)] > fill) continue;
                            Index row = number(grid, *numbered, by_levels, i);
                            Index column = number(grid, *numbered, by_levels, j);
                            EXPECT_LT(column, row);
                            expected.emplace(row, column);
                        }
                    }
                    EXPECT_EQ(blocks_of(pattern), expected) << "k=" << k << " fill=" << fill;
                }
                expect_lists(pattern);
                incomplete::count_updates(pattern, 1);
                incomplete::list_updates(pattern, 2);
                expect_triples(pattern);
            }
        }
    }
}

TEST(block_pattern, entries_give_the_matrix_again) {
    auto random = generator();
    for (const Index k : {1, 4, 8, 32}) {
        const Index rows = 70;
        const auto matrix = symmetric_csr<double>(rows, random_indefinite(random, rows, 3));
        Grid grid = incomplete::make_grid(k, rows, random_slots(random, rows, 11));
        const auto pattern = incomplete::arrange_by_levels(
            grid, incomplete::add_fill(incomplete::lower_blocks(grid, matrix.view(), true, 2), 1,
                                       1 << 20));
        const auto entries = incomplete::find_entries(host(2), grid, pattern, matrix.view(), true);
        SymmetricEntries found;
        Index padding = 0;
        for (std::size_t item = 0; item + 1 < entries.offsets.size(); ++item) {
            const bool off = item < pattern.columns.size();
            const Index diagonal = Index(item - pattern.columns.size());
            const Index i = off ? pattern.rows[item] : diagonal;
            const Index j = off ? pattern.columns[item] : diagonal;
            for (Offset e = entries.offsets[item]; e < entries.offsets[item + 1]; ++e) {
                const auto at = std::size_t(e);
                const Index row = grid.slots[std::size_t(i * k + entries.position.data()[at] % k)];
                const Index column =
                    grid.slots[std::size_t(j * k + entries.position.data()[at] / k)];
                EXPECT_EQ(entries.row.data()[at], row);
                EXPECT_EQ(entries.column.data()[at], column);
                if (entries.source.data()[at] < 0) {
                    EXPECT_EQ(row, -1);
                    EXPECT_EQ(entries.position.data()[at] % k, entries.position.data()[at] / k);
                    ++padding;
                    continue;
                }
                EXPECT_EQ(matrix.view().column_indices[entries.source.data()[at]], column);
                found[{std::max(row, column), std::min(row, column)}] =
                    matrix.view().values[entries.source.data()[at]];
            }
        }
        EXPECT_EQ(padding, grid.block_rows * k - rows);
        const auto again = symmetric_csr<double>(rows, found);
        EXPECT_TRUE(std::ranges::equal(again.view().values_span(), matrix.view().values_span()));
    }
}

TEST(block_pattern, rejects) {
    EXPECT_THROW(incomplete::make_grid(4, 3, {0, 1}), InvalidArgument);
    EXPECT_THROW(incomplete::make_grid(4, 3, {0, 1, 1}), InvalidArgument);
    EXPECT_THROW(incomplete::make_grid(4, 3, {0, 1, 3}), InvalidArgument);
    auto random = generator();
    const auto matrix = symmetric_csr<double>(50, random_indefinite(random, 50, 4));
    const Grid grid = incomplete::make_grid(1, 50, random_slots(random, 50, 0));
    EXPECT_THROW(
        incomplete::add_fill(incomplete::lower_blocks(grid, matrix.view(), true, 1), 9, 100),
        OutOfMemory);
}

}  // namespace tessera::test
