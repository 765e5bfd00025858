#include "precond/direct/simplicial/simplicial_factor.hpp"

#include "base/find_csr_entry.hpp"
#include "precond/direct/analysis/any_matching.hpp"
#include "precond/direct/test_direct.hpp"

namespace tessera::test {

/// Small matrices are factored without fronts, whatever their kind.
TEST(simplicial, factors_matrices_of_short_rows) {
    auto random = generator();
    for (const char* const text : {"poisson2d:20", "convection2d:20", "stokes:8"}) {
        const auto matrix = problems::generate<double>(host(), Spec(text)).matrix;
        EXPECT_EQ(Direct<double>(host(), matrix.view()).report().fronts, 0) << text;
        expect_solved(matrix, {}, random);
    }
    const auto large = problems::generate<double>(host(), Spec("poisson3d:12")).matrix;
    EXPECT_GT(Direct<double>(host(), large.view()).report().fronts, 0);
}

/// Zeros on the diagonal make pivots of two rows, of which some have a determinant that cancels.
TEST(simplicial, pivots_of_two_rows) {
    auto random = generator();
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (int trial = 0; trial < 200; ++trial) {
        const Index pairs = 1 + Index(random() % 20), rows = 2 * pairs + 5;
        SymmetricEntries entries(rows);
        for (Index k = 0; k < 2 * rows; ++k) {
            const Index i = Index(random() % std::uint64_t(rows));
            const Index j = Index(random() % std::uint64_t(rows));
            if (i != j) entries.add(i, j, 0.3 * uniform(random));
        }
        for (Index k = 0; k < pairs; ++k) {
            entries.add(2 * k, 2 * k + 1, 2 + uniform(random));
            if (trial % 3 == 0) entries.add(2 * k, 2 * k, 1e-4 * uniform(random));
        }
        for (Index i = 2 * pairs; i < rows; ++i) entries.add(i, i, 3);
        const auto matrix = entries.matrix();
        expect_solved(matrix, {}, random);
        const Direct<double> by_rows(host(), matrix.view());
        const Direct<double> by_fronts(host(), matrix.view(), {.threshold = 0.01});
        EXPECT_TRUE(by_rows.report().symmetric);
        EXPECT_EQ(by_rows.report().positive, by_fronts.report().positive);
        EXPECT_EQ(by_rows.report().negative, by_fronts.report().negative);
        if (HasFailure()) break;
    }
}

/// New values whose pivots are too small are factored by fronts.
TEST(simplicial, leaves_small_pivots_to_fronts) {
    auto random = generator();
    const Index rows = 60;
    for (const bool symmetric : {true, false}) {
        const auto values_with = [&](double diagonal) {
            Entries entries(rows);
            for (Index i = 0; i < rows; ++i) {
                entries.add(i, i, i % 2 == 0 ? diagonal : 2);
                if (i + 1 == rows) continue;
                entries.add(i, i + 1, 1).add(i + 1, i, symmetric ? 1 : 0.9);
            }
            return entries.matrix<double>();
        };
        const auto first = values_with(5), second = values_with(symmetric ? 1e-9 : 0);
        Direct<double> factors(host(), first.view());
        EXPECT_EQ(factors.report().fronts, 0);
        expect_solved_by(factors, first, random);
        factors.update(host(), second.view());
        EXPECT_EQ(factors.report().fronts > 0, symmetric);
        expect_solved_by(factors, second, random);
        factors.update(host(), first.view());
        expect_solved_by(factors, first, random);
    }
}

/// The matching covers all rows where the structural rank is full, and none where it is not.
TEST(simplicial, matches_by_the_pattern) {
    auto random = generator();
    for (int trial = 0; trial < 300; ++trial) {
        const Index rows = 1 + Index(random() % 30);
        Entries entries(rows);
        for (Index k = 0; k < 2 * rows; ++k) {
            entries.add(Index(random() % std::uint64_t(rows)),
                        Index(random() % std::uint64_t(rows)), 1 + double(random() % 5));
        }
        const auto matrix = entries.matrix<double>();
        const auto matching = direct::match_any(matrix.view());
        const Index rank = match_columns(host(), matrix.view()).structural_rank;
        EXPECT_EQ(matching.row_of_column.empty(), rank < rows);
        std::vector<bool> has_column(std::size_t(rows), false);
        for (std::size_t j = 0; j < matching.row_of_column.size(); ++j) {
            const Index i = matching.row_of_column[j];
            EXPECT_FALSE(has_column[std::size_t(i)]);
            has_column[std::size_t(i)] = true;
            EXPECT_GE(find_csr_entry(matrix.view(), i, Index(j)), 0);
        }
    }
}

}  // namespace tessera::test
