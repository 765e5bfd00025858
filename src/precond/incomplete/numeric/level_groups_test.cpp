#include "precond/incomplete/test_factor.hpp"

namespace tessera::test {

namespace {

/// Block rows that each depend on the previous one, then `wide` independent block rows that depend
/// on the last of these, then a sequence after the last of those; many also depend on some of the
/// first three.
template <class T>
CsrMatrix<T> sequences_around(std::mt19937_64& random, Index k, Index sequence, Index wide) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    SymmetricEntries entries;
    const auto link = [&](Index i, Index j) {
        for (int e = 0; e < 3; ++e) {
            const Index row = i * k + Index(random() % std::uint64_t(k));
            entries[{row, j * k + Index(random() % std::uint64_t(k))}] = uniform(random);
        }
    };
    const Index block_rows = 2 * sequence + wide;
    for (Index row = 0; row < block_rows * k; ++row) {
        if (uniform(random) < 0.7) entries[{row, row}] = uniform(random) < 0 ? -1.5 : 1.5;
        if (row % k > 0) entries[{row, row - 1 - Index(random() % std::uint64_t(row % k))}] = 1;
    }
    for (Index i = 1; i < block_rows; ++i) {
        if (i < sequence || i > sequence + wide) {
            link(i, i - 1);
        } else {
            link(i, sequence - 1);
        }
        if (i > 3) link(i, Index(random() % 3));
    }
    return symmetric_csr<T>(block_rows * k, entries);
}

incomplete::BlockPattern pattern_of(const Context& context, const CsrMatrix<double>& matrix,
                                    Index k, const std::vector<Index>& slots, int fill) {
    const auto placed = copy_to(context, matrix.view());
    auto pattern = arrange(context, incomplete::make_grid(context, k, matrix.rows(), slots),
                           placed.view(), true, fill)
                       .pattern;
    incomplete::count_updates(context, pattern);
    return pattern;
}

std::vector<Index> natural(Index rows) {
    std::vector<Index> slots(static_cast<std::size_t>(rows));
    std::iota(slots.begin(), slots.end(), 0);
    return slots;
}

}  // namespace

TEST(level_groups, groups_have_all_levels_and_batched_ones_have_little_work) {
    auto random = generator();
    const Context device = context();
    for (const Index k : {1, 4, 8, 16, 32}) {
        const auto matrix = sequences_around<double>(random, k, 20, 200);
        const auto pattern = pattern_of(device, matrix, k, natural(matrix.rows()), 0);
        const auto groups = incomplete::find_level_groups(device, pattern, k, true);
        Index next = 0;
        for (const auto& group : groups) {
            EXPECT_EQ(group.first, next);
            EXPECT_LT(group.first, group.last);
            if (next > 0) {
                EXPECT_NE(group.batched, (&group - 1)->batched);
            }
            next = group.last;
            for (Index l = group.first; l < group.last && group.batched; ++l) {
                EXPECT_LT(pattern.level_starts[std::size_t(l) + 1].row -
                              pattern.level_starts[std::size_t(l)].row,
                          200);
            }
        }
        EXPECT_EQ(next, pattern.levels());
        EXPECT_GE(groups.size(), 3U);
    }
}

TEST(level_groups, a_level_with_a_dense_row_is_in_none) {
    const Index k = 8, others = 2 * Index(incomplete::max_piece);
    const Context device = context();
    SymmetricEntries entries;
    for (Index i = 0; i < (others + 1) * k; ++i) entries[{i, i}] = 1;
    for (Index j = 0; j < others; ++j) entries[{others * k, j * k}] = 0.01;
    const auto matrix = symmetric_csr<double>((others + 1) * k, entries);
    const auto pattern = pattern_of(device, matrix, k, natural(matrix.rows()), 0);
    ASSERT_EQ(pattern.levels(), 2);
    EXPECT_FALSE(incomplete::find_level_groups(device, pattern, k, true).back().batched);
}

TEST(level_groups, as_many_sweeps_as_levels_give_a_factor_of_batched_and_wide_levels) {
    auto random = generator();
    const Context device = context();
    const bool few = fewer_run();
    // Levels that are not batched; batched ones with more blocks, or block rows, than warps.
    const std::vector<Index> wide =
        few || !device.on_gpu() ? std::vector<Index>{20} : std::vector<Index>{200, 20, 10};
    const auto compare = [&]<class T>(T, Index k, batched::Pivoting pivoting, Index width) {
        const auto matrix = sequences_around<T>(random, k, few ? 3 : 12, width);
        const auto make = [&](BlockLdltStage method) {
            return make_factor<T>(device, matrix.view(), k, natural(matrix.rows()), 0, method, 0.01,
                                  pivoting);
        };
        auto level = make(BlockLdltStage::level), jacobi = make(BlockLdltStage::jacobi);
        level.factor_by_levels(device);
        jacobi.start_sweeps();
        for (Index l = 0; l < level.levels(); ++l) jacobi.sweep(device);
        expect_same_bits(device, level.v(), jacobi.v(), "V");
        expect_same_bits(device, level.factors(), jacobi.factors(), "F");
        expect_same_bits(device, level.inverses(), jacobi.inverses(), "X");
        expect_same_bits(device, level.permutations(), jacobi.permutations(), "p");
        const auto one = level.pivots(device), other = jacobi.pivots(device);
        EXPECT_EQ(one.perturbed, other.perturbed);
        EXPECT_EQ(one.smallest, other.smallest);
    };
    using batched::Pivoting;
    for (const Index k : {1, 4, 8, 16, 32}) {
        if (few && k > 8) continue;
        for (const auto pivoting :
             {Pivoting::full, Pivoting::rook, Pivoting::bunch_kaufman, Pivoting::fixed}) {
            for (const Index width : wide) {
                compare(double(), k, pivoting, width);
                compare(float(), k, pivoting, width);
            }
        }
    }
}

}  // namespace tessera::test
