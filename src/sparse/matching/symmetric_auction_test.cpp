#include "sparse/matching/symmetric_auction.hpp"

#include <cmath>

#include "sparse/test_symmetric_matrices.hpp"
#include "tessera/detail/ordering.hpp"

namespace tessera {
namespace {

using matching::infinite;
using matching::SymmetricAuction;

/// A matrix and the costs of its entries.
struct Problem {
    CsrMatrix<double> matrix;
    std::vector<double> costs;

    explicit Problem(const test::SymmetricEntries& entries) : matrix(entries.matrix()) {
        for (const double value : matrix.view().values_span()) {
            costs.push_back(value == 0 ? infinite : -std::log2(std::abs(value)));
        }
    }
    matching::Costs view() const {
        const CsrView<double> a = matrix.view();
        return {a.rows, a.row_offsets, a.column_indices, costs.data()};
    }
};

/// Checks duals and partners; returns the number of rows that have one.
///
/// A dual that a bid changes is a difference of a cost and another dual, with one rounding error.
/// It is compared with another such difference, and the comparison has two roundings more.
Index expect_feasible(const Problem& problem, int threads = 1) {
    const matching::Costs costs = problem.view();
    const SymmetricAuction pairs(costs, threads);
    const auto& vertices = pairs.vertices();
    Index matched = 0;
    for (Index i = 0; i < costs.rows; ++i) {
        const double dual = vertices[i].dual;
        const Index partner = vertices[i].partner;
        bool met = partner < 0;
        EXPECT_TRUE(std::isfinite(dual)) << "row " << i;
        for (Offset k = costs.row_offsets[i]; k < costs.row_offsets[i + 1]; ++k) {
            const Index j = costs.columns[k];
            if (costs.costs[k] == infinite) continue;
            const double other = vertices[j].dual;
            const double left = costs.costs[k] - dual - other;
            const double bound = test::gamma<double>(4) *
                                 (std::abs(costs.costs[k]) + std::abs(dual) + std::abs(other));
            EXPECT_GE(left, -bound) << "row " << i << ", column " << j;
            if (j != partner) continue;
            EXPECT_LE(left, bound) << "row " << i << ", column " << j;
            met = true;
        }
        EXPECT_TRUE(met) << "row " << i << " has a partner where it has no entry";
        if (partner < 0) continue;
        EXPECT_EQ(vertices[partner].partner, i);
        ++matched;
    }
    return matched;
}

TEST(symmetric_auction, few_rows) {
    expect_feasible(Problem(test::SymmetricEntries(0)));
    EXPECT_EQ(expect_feasible(Problem(test::SymmetricEntries(3))), 0);
    EXPECT_EQ(expect_feasible(Problem(test::SymmetricEntries(2).add(0, 0, 0).add(1, 1, 8))), 1);
    EXPECT_EQ(expect_feasible(Problem(test::SymmetricEntries(2).add(0, 1, 2).add(1, 1, 3))), 2);
    // A triangle, the only perfect matchings of which are cycles of three.
    EXPECT_EQ(
        expect_feasible(Problem(test::SymmetricEntries(3).add(0, 1, 1).add(1, 2, 2).add(0, 2, 4))),
        2);
}

TEST(symmetric_auction, duals_are_feasible_and_pairs_tight) {
    auto random = test::generator();
    for (int round = 0; round < 40; ++round) {
        SCOPED_TRACE(round);
        const Index rows = 1 + Index(random() % 200);
        expect_feasible(Problem(test::random_symmetric(random, rows, 0.5 + round % 5, 10)));
    }
    for (const double range : {0., 1., 30.}) {
        SCOPED_TRACE(range);
        expect_feasible(Problem(test::random_kkt(random, 300, 150, range)));
        expect_feasible(Problem(test::random_symmetric(random, 150, 60, range)));
    }
}

TEST(symmetric_auction, few_rows_of_saddle_points_are_left) {
    auto random = test::generator();
    const Problem problem(test::random_kkt(random, 4000, 2000, 10));
    EXPECT_GE(expect_feasible(problem), 5970);
}

TEST(symmetric_auction, equal_entries_end) {
    // Everything is a tie: cliques of odd size without a diagonal, joined in a cycle.
    test::SymmetricEntries entries(7 * 40);
    for (Index c = 0; c < 40; ++c) {
        for (Index i = 0; i < 7; ++i) {
            for (Index j = 0; j < i; ++j) entries.add(7 * c + i, 7 * c + j, 1);
        }
        entries.add(7 * c, (7 * c + 7) % 280, 1);
    }
    EXPECT_GE(expect_feasible(Problem(entries)), 6 * 40);
}

/// Odd cycles exhaust the budget of bids, so the rows after them keep their initial duals.
TEST(symmetric_auction, rows_without_bids_have_feasible_duals) {
    constexpr Index cycles = 300, after = 3 * cycles;
    test::SymmetricEntries entries(after + 12);
    for (Index i = 0; i < after; i += 3) {
        entries.add(i, i + 1, 1).add(i + 1, i + 2, 1.25).add(i, i + 2, 1.5);
    }
    // Two diagonals that are too small for the entry between them, each beside a row without one.
    for (Index i = after; i < after + 12; i += 4) {
        entries.add(i, i, 1).add(i + 1, i + 1, 1).add(i, i + 1, 32);
        entries.add(i, i + 2, 0.5).add(i + 1, i + 3, 0.5);
    }
    expect_feasible(Problem(entries));
    const auto matrix = entries.matrix();
    EXPECT_EQ(match_symmetric(test::host(), matrix.view()).structural_rank, matrix.rows());
}

TEST(symmetric_auction, threads_do_not_matter) {
    auto random = test::generator();
    for (const auto& entries : {test::random_kkt(random, 40000, 20000, 6),
                                test::random_symmetric(random, 50000, 4, 10)}) {
        const Problem problem(entries);
        const SymmetricAuction one(problem.view(), 1), three(problem.view(), 3);
        for (std::size_t i = 0; i < one.vertices().size(); ++i) {
            ASSERT_EQ(one.vertices()[i].dual, three.vertices()[i].dual) << i;
            ASSERT_EQ(one.vertices()[i].partner, three.vertices()[i].partner) << i;
        }
    }
}

/// Mirror images that differ by as much as is_symmetric accepts.
TEST(symmetric_auction, symmetry_up_to_rounding_is_enough) {
    auto random = test::generator();
    std::uniform_real_distribution<double> change(-1, 1);
    auto matrix = test::random_kkt(random, 300, 150, 4).matrix();
    const CsrView<double> a = std::as_const(matrix).view();
    constexpr double most = 400 * std::numeric_limits<double>::epsilon();
    for (double& value : matrix.values().view()) value *= 1 + most * change(random);
    const SymmetricMatching found = match_symmetric(test::host(), a);
    for (Index i = 0; i < a.rows; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            // s_i s_j is the mean of two scalings, one of a_ij and one of a_ji.
            const double size =
                std::abs(a.values[k]) * found.scaling[i] * found.scaling[a.column_indices[k]];
            EXPECT_LE(size, 1 + 1e-12 + most) << i << ", " << a.column_indices[k];
        }
    }
}

}  // namespace
}  // namespace tessera
