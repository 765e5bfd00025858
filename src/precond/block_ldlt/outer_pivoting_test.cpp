#include "precond/block_ldlt/outer_pivoting.hpp"

#include "precond/block_ldlt/test_factor.hpp"

namespace tessera::test {

namespace {

using block_ldlt::BlockRows;
using block_ldlt::PushedBlocks;

BlockRows all_blocks(Index block_rows) {
    BlockRows blocks;
    for (Index i = 0; i < block_rows; ++i) {
        for (Index j = 0; j < i; ++j) blocks.columns.push_back(j);
        blocks.offsets.push_back(Offset(blocks.columns.size()));
    }
    return blocks;
}

/// [0 B; B^T C] in blocks of four rows: C = 4 I with couplings to the next block, B diagonal, 1 to
/// 2 within a block and +-0.5 to two others. The blocks of zeros come first.
CsrMatrix<double> zero_blocks_first(std::mt19937_64& random, Index zeros) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    SymmetricEntries entries;
    const Index k = 4, half = zeros * k;
    for (Index b = 0; b < zeros; ++b) {
        for (Index r = 0; r < k; ++r) {
            const Index row = b * k + r;
            entries[{half + row, half + row}] = 4;
            entries[{half + row, row}] = 1.5 + 0.5 * uniform(random);
            if (b > 0) entries[{half + row, half + (b - 1) * k + r}] = uniform(random);
            for (int other = 0; other < 2; ++other) {
                const Index to = half + Index(random() % std::uint64_t(zeros)) * k + r;
                if (to != half + row) entries[{to, row}] = random() % 2 == 0 ? 0.5 : -0.5;
            }
        }
    }
    return symmetric_csr<double>(2 * half, entries);
}

}  // namespace

TEST(outer_pivoting, pushes_as_in_the_paper) {
    PushedBlocks pushed(5);
    const std::vector<Index> marked{2, 3};
    pushed.push(marked);
    EXPECT_EQ(pushed.order, (std::vector<Index>{0, 1, 4, 2, 3}));
    EXPECT_EQ(pushed.position, (std::vector<Index>{0, 1, 3, 4, 2}));
    // Block 4 now stands before 2 and 3, so of all pairs it is (4, 2) and (4, 3) that are used
    // transposed.
    for (Index a = 0; a < 5; ++a) {
        for (Index b = 0; b < a; ++b) {
            const bool turned = pushed.position[std::size_t(a)] < pushed.position[std::size_t(b)];
            EXPECT_EQ(turned, a == 4 && b >= 2) << a << ", " << b;
        }
    }
    // Once more: what was pushed twice comes last, the rest keeps its order.
    const std::vector<Index> again{2, 0};
    pushed.push(again);
    EXPECT_EQ(pushed.order, (std::vector<Index>{1, 4, 0, 3, 2}));
}

TEST(outer_pivoting, keeps_every_pair_of_block_rows) {
    auto random = generator();
    for (const Index m : {0, 1, 5, 40}) {
        BlockRows blocks;
        std::vector<std::pair<Index, Index>> pairs;
        for (Index i = 0; i < m; ++i) {
            for (Index j = 0; j < i; ++j) {
                if (random() % 3 == 0) continue;
                blocks.columns.push_back(j);
                pairs.emplace_back(i, j);
            }
            blocks.offsets.push_back(Offset(blocks.columns.size()));
        }
        PushedBlocks pushed(m);
        std::vector<Index> marked;
        for (Index i = 0; i < m; i += 3) marked.push_back(i);
        pushed.push(marked);
        const BlockRows moved = block_ldlt::reorder_blocks(blocks, pushed, 2);
        std::vector<std::pair<Index, Index>> found;
        for (Index i = 0; i < m; ++i) {
            for (Offset b = moved.offsets[std::size_t(i)]; b < moved.offsets[std::size_t(i) + 1];
                 ++b) {
                const Index j = moved.columns[std::size_t(b)];
                EXPECT_LT(j, i);
                const Index a = pushed.order[std::size_t(i)], c = pushed.order[std::size_t(j)];
                found.emplace_back(std::max(a, c), std::min(a, c));
            }
        }
        std::ranges::sort(found);
        EXPECT_EQ(found, pairs);
    }
}

TEST(outer_pivoting, blocks_are_turned_with_their_pairs) {
    auto random = generator();
    const Context there = context();
    const Index k = 4, rows = 5 * k;
    const auto matrix = symmetric_csr<double>(rows, random_indefinite(random, rows, rows, 0));
    std::vector<Index> slots(static_cast<std::size_t>(rows));
    std::iota(slots.begin(), slots.end(), 0);
    PushedBlocks pushed(5);
    const std::vector<Index> marked{2, 3};
    pushed.push(marked);
    auto grid = block_ldlt::reorder_grid(block_ldlt::make_grid(k, rows, slots), pushed);
    EXPECT_EQ(grid.slots[2 * 4], 4 * k);
    auto pattern =
        block_ldlt::arrange_by_levels(grid, block_ldlt::reorder_blocks(all_blocks(5), pushed, 1));
    block_ldlt::BlockFactor<double> factor(there, grid, pattern, matrix.view(),
                                           batched::Pivoting::full, BlockLdltMethod::level);
    load(there, factor, matrix.view());
    factor.set_threshold(there, 1e-300, EpsilonUnit::max);
    factor.factor_by_levels(there);
    // All blocks are stored, so the product is the matrix in the new order.
    const TakenApart parts = take_apart(there, factor);
    const Dense a = in_grid(factor.grid(), matrix.view());
    const Dense m = parts.matrix(), bound = parts.bound(gamma<double>(1));
    for (std::size_t i = 0; i < a.size(); ++i) {
        for (std::size_t j = 0; j < a.size(); ++j) {
            EXPECT_LE(std::abs(m(i, j) - a(i, j)), bound(i, j));
        }
    }
}

TEST(outer_pivoting, saves_zero_blocks) {
    auto random = generator();
    const Context there = context();
    for (const Index zeros : {60, 100}) {
        const auto matrix = zero_blocks_first(random, zeros);
        const auto placed = copy_to(there, matrix.view());
        const auto x =
            copy_to_buffer(there, random_vector<double>(random, std::size_t(matrix.rows())));
        Buffer<double> b(there, x.size());
        const CsrOperator<double> product(there, placed.view());
        product.apply(there, x.view(), b.view());
        for (const char* method : {",method=level", ",method=jacobi"}) {
            const auto solve = [&](const char* outer) {
                const BlockLdlt<double> ldlt(
                    there, placed.view(),
                    parse_block_ldlt(Spec::parse(
                        std::string("block_ldlt:4,epsilon=1e-6,matching=off,ordering=natural,"
                                    "safeguard=off") +
                        method + outer)));
                Buffer<double> y(there, b.size());
                fill(there, 0.0, y.view());
                SolveOptions options;
                options.rtol = 1e-8;
                options.max_iterations = 100;
                const auto report =
                    gmres<double>(there, product, &ldlt, b.view(), y.view(), 25, options);
                return std::pair(report, ldlt.report());
            };
            const auto [without, none] = solve(",outer=off");
            EXPECT_NE(without.status, Status::converged) << method;
            EXPECT_EQ(none.pushed, 0);
            const auto [with, some] = solve(",outer=on");
            EXPECT_EQ(with.status, Status::converged)
                << method << ' ' << with.true_relative_residual;
            EXPECT_EQ(some.pushed, zeros);
        }
    }
}

}  // namespace tessera::test
