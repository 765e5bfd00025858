#include "precond/incomplete/symbolic/block_pattern.hpp"

#include <set>

#include "precond/incomplete/test_general.hpp"

namespace tessera::test {

namespace {

/// A pattern in host memory.
struct HostPattern {
    Index block_rows, levels;
    std::vector<Offset> column_offsets, row_offsets, update_offsets;
    std::vector<Index> rows, columns, row_blocks, left, right;
    std::vector<Index> level_offsets;
    Offset updates;

    HostPattern(const Context& context, const incomplete::BlockPattern& pattern)
        : block_rows(pattern.block_rows),
          levels(pattern.levels()),
          column_offsets(copy_to_host(context, pattern.column_offsets)),
          row_offsets(copy_to_host(context, pattern.row_offsets)),
          update_offsets(copy_to_host(context, pattern.update_offsets)),
          rows(copy_to_host(context, pattern.rows)),
          columns(copy_to_host(context, pattern.columns)),
          row_blocks(copy_to_host(context, pattern.row_blocks)),
          left(copy_to_host(context, pattern.left)),
          right(copy_to_host(context, pattern.right)),
          updates(pattern.updates) {
        const auto starts = copy_to_host(context, pattern.level_starts_in_context);
        for (std::size_t l = 0; l < starts.size(); ++l) {
            EXPECT_EQ(starts[l].row, pattern.level_starts[l].row);
            EXPECT_EQ(starts[l].block, column_offsets[std::size_t(starts[l].row)]);
            level_offsets.push_back(Index(starts[l].row));
        }
    }
};

constexpr int none = 1 << 20;

/// Fill levels of the lower triangle by right-looking elimination in a dense array: independent of
/// add_fill.
std::vector<std::vector<int>> dense_levels(const HostGrid& grid, const CsrView<double>& matrix) {
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

std::set<std::pair<Index, Index>> blocks_of(const HostPattern& pattern) {
    std::set<std::pair<Index, Index>> found;
    for (std::size_t b = 0; b < pattern.columns.size(); ++b) {
        found.emplace(pattern.rows[b], pattern.columns[b]);
    }
    return found;
}

void expect_lists(const HostPattern& pattern) {
    const auto m = std::size_t(pattern.block_rows);
    const auto blocks = blocks_of(pattern);
    std::vector<Index> level(m, 0);
    for (const auto& [i, j] : blocks) {
        EXPECT_LT(j, i);
        Index& mine = level[std::size_t(i)];
        mine = std::max(mine, level[std::size_t(j)] + 1);
    }
    std::vector<Index> expected;
    for (Index l = 0; l < pattern.levels; ++l) {
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

void expect_triples(const HostPattern& pattern) {
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
    EXPECT_EQ(pattern.updates, at);
}

/// The number in `to` of block row i of `numbered`, which is one of the other two grids.
Index number(const HostGrid& from, const HostGrid& numbered, const HostGrid& to, Index i) {
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
    const Context device = context();
    for (const Index k : {1, 4, 8}) {
        for (const Index rows : {0, 1, 3, 9 * k, 30 * k + 1}) {
            const auto matrix =
                symmetric_csr<double>(rows, random_indefinite(random, rows, 1.5 / k));
            const auto placed = copy_to(device, matrix.view());
            const auto made =
                incomplete::make_grid(device, k, rows, random_slots(random, rows, rows / 5));
            const HostGrid grid(device, made);
            for (const int fill : {0, 1, 2, 3, 1000}) {
                auto arranged = arrange(device, made, placed.view(), true, fill);
                incomplete::count_updates(device, arranged.pattern);
                incomplete::list_updates(device, arranged.pattern);
                const HostPattern pattern(device, arranged.pattern);
                // Numbered by levels, the blocks have the fill levels of the original order.
                const HostGrid final_grid(device, arranged.grid);
                for (const HostGrid* numbered : {&grid, &final_grid}) {
                    const auto level = dense_levels(*numbered, matrix.view());
                    std::set<std::pair<Index, Index>> expected;
                    for (Index i = 0; i < grid.block_rows; ++i) {
                        for (Index j = 0; j < i; ++j) {
                            if (level[std::size_t(i)][std::size_t(j)] > fill) continue;
                            Index row = number(grid, *numbered, final_grid, i);
                            Index column = number(grid, *numbered, final_grid, j);
                            EXPECT_LT(column, row);
                            expected.emplace(row, column);
                        }
                    }
                    EXPECT_EQ(blocks_of(pattern), expected) << "k=" << k << " fill=" << fill;
                }
                expect_lists(pattern);
                expect_triples(pattern);
            }
        }
    }
}

// The transposed lists are built by several threads in any order.
TEST(block_pattern, blocks_of_the_matrix_or_its_transpose) {
    auto random = generator();
    const Context device = context();
    const Index rows = fewer_run() ? 3000 : 40000;
    const auto general = random_general<double>(random, rows, 3);
    const auto made = incomplete::make_grid(device, 4, rows, random_slots(random, rows, rows / 5),
                                            general.row_of_column);
    const HostGrid grid(device, made);
    const auto matrix = general.matrix.view();
    std::vector<std::set<Index>> expected(std::size_t(grid.block_rows));
    for (std::size_t s = 0; s < grid.slots.size(); ++s) {
        const Index row = grid.row(s);
        if (row < 0) continue;
        for (Offset e = matrix.row_offsets[row]; e < matrix.row_offsets[row + 1]; ++e) {
            const Index i = Index(s) / 4;
            const Index j = grid.slot_of_column[std::size_t(matrix.column_indices[e])] / 4;
            if (i != j) expected[std::size_t(std::max(i, j))].insert(std::min(i, j));
        }
    }
    const auto placed = copy_to(device, matrix);
    const auto lower = copy_to_host(
        device, incomplete::lower_blocks(
                    device, made, incomplete::group_pattern(device, placed.view(), 1), false));
    for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_TRUE(
            std::ranges::equal(std::span(lower.items)
                                   .subspan(std::size_t(lower.offsets[i]),
                                            std::size_t(lower.offsets[i + 1] - lower.offsets[i])),
                               expected[i]));
    }
}

namespace {

/// Flows along lines of a mesh of `size` x `size` points in natural order, where `dense` rows and
/// columns are full: many rows, long sequences of levels, long lists of updates.
CsrMatrix<double> lines_of_a_mesh(Index size, Index dense) {
    std::vector<std::vector<Index>> columns;
    std::vector<std::vector<double>> values;
    const Index rows = size * size;
    for (Index i = 0; i < rows; ++i) {
        std::set<Index> row{i};
        if (i % size > 0) row.insert(i - 1);
        if (i >= size) row.insert(i - size);
        if (i % 7 == 0 && i + size < rows) row.insert(i + size);
        for (Index d = 0; d < dense; ++d) row.insert(rows - 1 - d * 3);
        for (Index j = 0; i >= rows - 3 * dense && (rows - 1 - i) % 3 == 0 && j < rows; ++j) {
            row.insert(j);
        }
        columns.emplace_back(row.begin(), row.end());
        values.emplace_back(row.size(), 1.0);
    }
    return make_csr(rows, rows, columns, values);
}

}  // namespace

// Lists that are too long for the references above; both backends.
TEST(block_pattern, levels_and_lists_of_many_rows) {
    const Context device = context();
    for (const Index dense : {0, 2}) {
        const Index size = fewer_run() ? 40 : 200, rows = size * size;
        const auto matrix = lines_of_a_mesh(size, dense);
        const auto placed = copy_to(device, matrix.view());
        std::vector<Index> slots(static_cast<std::size_t>(rows));
        std::iota(slots.begin(), slots.end(), 0);
        const auto grid = incomplete::make_grid(device, 1, rows, slots);
        auto arranged = arrange(device, grid, placed.view(), false, 0);
        incomplete::count_updates(device, arranged.pattern);
        incomplete::list_updates(device, arranged.pattern);
        const HostPattern pattern(device, arranged.pattern);
        const HostGrid by_levels(device, arranged.grid);
        // The level of point (x, y) is x + y; rows of a level are ascending. Dense rows follow.
        const Index others = rows - 3 * dense;
        Index last_level = -1, last_row = -1, l = 0;
        for (Index i = 0; i < pattern.block_rows; ++i) {
            while (i >= pattern.level_offsets[std::size_t(l) + 1]) ++l;
            const Index row = by_levels.slots[std::size_t(i)];
            ASSERT_EQ(by_levels.slot_of_column[std::size_t(row)], i);
            if (row < others) {
                ASSERT_EQ(l, row / size + row % size);
            }
            if (l == last_level) {
                ASSERT_GT(row, last_row);
            }
            last_level = l;
            last_row = row;
        }
        // All pairs of blocks in a column whose rows have a block, by rows.
        std::vector<std::vector<Index>> in_row(static_cast<std::size_t>(rows));
        for (Index i = 0; i < rows; ++i) {
            for (Offset e = pattern.row_offsets[i]; e < pattern.row_offsets[i + 1]; ++e) {
                const auto b = std::size_t(pattern.row_blocks[std::size_t(e)]);
                ASSERT_EQ(pattern.rows[b], i);
                if (!in_row[std::size_t(i)].empty()) {
                    ASSERT_GT(pattern.columns[b], in_row[std::size_t(i)].back());
                }
                in_row[std::size_t(i)].push_back(pattern.columns[b]);
            }
        }
        for (std::size_t b = 0; b < pattern.rows.size(); ++b) {
            const Index i = pattern.rows[b], j = pattern.columns[b];
            if (b > 0) {
                ASSERT_LT(std::pair(pattern.columns[b - 1], pattern.rows[b - 1]), std::pair(j, i));
            }
            std::vector<Index> common;
            std::ranges::set_intersection(in_row[std::size_t(i)], in_row[std::size_t(j)],
                                          std::back_inserter(common));
            ASSERT_EQ(pattern.update_offsets[b + 1] - pattern.update_offsets[b],
                      Offset(common.size()));
            for (std::size_t u = 0; u < common.size(); ++u) {
                const auto at = std::size_t(pattern.update_offsets[b]) + u;
                const auto left = std::size_t(pattern.left[at]);
                const auto right = std::size_t(pattern.right[at]);
                ASSERT_EQ(std::pair(pattern.rows[left], pattern.columns[left]),
                          std::pair(i, common[u]));
                ASSERT_EQ(std::pair(pattern.rows[right], pattern.columns[right]),
                          std::pair(j, common[u]));
            }
        }
        const auto lower = incomplete::lower_blocks(
            device, grid, incomplete::group_pattern(device, placed.view(), 1), false);
        const Index levels = pattern.levels;
        EXPECT_EQ(incomplete::arrange_by_levels(device, grid, lower, levels).pattern.levels(),
                  levels);
        for (const Index fewer : {1, levels / 2, levels - 1}) {
            EXPECT_THROW(incomplete::arrange_by_levels(device, grid, lower, fewer),
                         InvalidArgument);
        }
    }
}

TEST(block_pattern, groups_of_rows) {
    auto random = generator();
    const Context device = context();
    for (const Index size : {1, 2, 3, 5, 8}) {
        for (const Index groups : {0, 1, 40}) {
            const auto general = random_general<double>(random, groups * size, 3);
            const auto matrix = general.matrix.view();
            std::vector<std::set<Index>> expected(static_cast<std::size_t>(groups));
            for (Index i = 0; i < matrix.rows; ++i) {
                for (Offset e = matrix.row_offsets[i]; e < matrix.row_offsets[i + 1]; ++e) {
                    expected[std::size_t(i / size)].insert(matrix.column_indices[e] / size);
                }
            }
            const auto placed = copy_to(device, matrix);
            const auto pattern = incomplete::group_pattern(device, placed.view(), size);
            EXPECT_EQ(pattern.size, size);
            ASSERT_EQ(pattern.groups, groups);
            std::vector<Offset> offsets(std::size_t(groups) + 1);
            std::vector<Index> all(std::size_t(pattern.entries));
            copy_to_host(device, std::span(pattern.offsets, offsets.size()), std::span(offsets));
            copy_to_host(device, std::span(pattern.columns, all.size()), std::span(all));
            for (std::size_t i = 0; i < expected.size(); ++i) {
                const std::span<const Index> columns(all.data() + offsets[i],
                                                     all.data() + offsets[i + 1]);
                EXPECT_TRUE(std::ranges::equal(columns, expected[i]));
            }
        }
    }
}

// Entries of a general matrix in all blocks, their transposes above the diagonal; of a symmetric
// one those up to the diagonal.
TEST(block_pattern, loaded_blocks_have_the_entries) {
    auto random = generator();
    const Context device = context();
    for (const Index k : {1, 4, 8, 32}) {
        for (const bool symmetric : {false, true}) {
            const Index rows = 70;
            General<double> general = random_general<double>(random, rows, 3);
            if (symmetric) {
                general = {symmetric_csr<double>(rows, random_indefinite(random, rows, 3)), {}};
            }
            const auto matrix = general.matrix.view();
            const auto made = incomplete::make_grid(device, k, rows, random_slots(random, rows, 11),
                                                    general.row_of_column);
            const auto placed = copy_to(device, matrix);
            const incomplete::SymbolicFactor symbolic(
                device, arrange(device, made, placed.view(), symmetric, 1), placed.view(),
                symmetric, incomplete::FactorArrays::of_factor(symmetric, 1, 1));
            const HostPattern pattern(device, symbolic.pattern);
            const HostGrid grid(device, symbolic.grid);
            const auto scale = random_vector<double>(random, std::size_t(2 * rows));
            const auto scales = copy_to_buffer(device, scale);
            const Offset square = Offset(k) * k, off = Offset(pattern.rows.size()) * square;
            Buffer<double> below(device, off), above(device, off);
            Buffer<double> diagonal(device, pattern.block_rows * square);
            for (auto* blocks : {&below, &above, &diagonal}) fill(device, 7.0, blocks->view());
            incomplete::load_blocks<double>(
                device, symbolic, {scales.data(), scales.data() + rows}, placed.view(),
                {below.data(), symmetric ? nullptr : above.data(), diagonal.data()});
            Dense expected(grid.slots.size()), found(expected.size());
            for (std::size_t s = 0; s < expected.size(); ++s) {
                const Index i = grid.row(s);
                if (i < 0) expected(s, s) = 1;
                if (i < 0) continue;
                for (Offset e = matrix.row_offsets[i]; e < matrix.row_offsets[i + 1]; ++e) {
                    const Index j = matrix.column_indices[e];
                    const auto other = std::size_t(grid.slot_of_column[std::size_t(j)]);
                    if (symmetric && other > s) continue;
                    expected(s, other) =
                        scale[std::size_t(i)] * matrix.values[e] * scale[std::size_t(rows + j)];
                }
            }
            const auto lower_values = copy_to_host(device, below);
            const auto upper_values = copy_to_host(device, above);
            const auto on_diagonal = copy_to_host(device, diagonal);
            for (Offset e = 0; e < off; ++e) {
                const auto block = std::size_t(e / square);
                const auto i = std::size_t(pattern.rows[block] * k + Index(e % square) % k);
                const auto j = std::size_t(pattern.columns[block] * k + Index(e % square) / k);
                found(i, j) = lower_values[std::size_t(e)];
                if (!symmetric) found(j, i) = upper_values[std::size_t(e)];
            }
            for (Offset e = 0; e < Offset(on_diagonal.size()); ++e) {
                const Index first = Index(e / square) * k, inside = Index(e % square);
                found(std::size_t(first + inside % k), std::size_t(first + inside / k)) =
                    on_diagonal[std::size_t(e)];
            }
            EXPECT_EQ(largest(sum(1, found, -1, expected)), 0) << "k=" << k;
            EXPECT_TRUE(symbolic.has_pattern_of(device, placed.view()));
        }
    }
}

TEST(block_pattern, rejects) {
    const Context device = context();
    EXPECT_THROW(incomplete::make_grid(device, 4, 3, {0, 1}), InvalidArgument);
    EXPECT_THROW(incomplete::make_grid(device, 4, 3, {0, 1, 1}), InvalidArgument);
    EXPECT_THROW(incomplete::make_grid(device, 4, 3, {0, 1, 3}), InvalidArgument);
    auto random = generator();
    const auto matrix = symmetric_csr<double>(50, random_indefinite(random, 50, 4));
    const auto placed = copy_to(device, matrix.view());
    const auto grid = incomplete::make_grid(device, 1, 50, random_slots(random, 50, 0));
    auto lower = incomplete::lower_blocks(
        device, grid, incomplete::group_pattern(device, placed.view(), 1), true);
    EXPECT_THROW(incomplete::add_fill(device, std::move(lower), 9, 100), OutOfMemory);
}

}  // namespace tessera::test
