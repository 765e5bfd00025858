#include "precond/incomplete/test_factor.hpp"

namespace tessera::test {

namespace {

using incomplete::NumericFactor;
using Factor = NumericFactor<double>;

constexpr double unit = std::numeric_limits<double>::epsilon() / 2;

/// Runs a level factor and `sweeps` sweeps with the same threshold on one matrix and grid.
struct Pair {
    Factor level, jacobi;
    Pair(const Context& context, std::mt19937_64& random, Index k, int fill,
         batched::Pivoting pivoting)
        : Pair{context,
               symmetric_csr<double>(12 * k, random_indefinite(random, 12 * k, 1.5 / k)),
               random_slots(random, 12 * k, k),
               k,
               fill,
               pivoting} {}  // Drawn in this order.
    Pair(const Context& context, const CsrMatrix<double>& matrix, const std::vector<Index>& slots,
         Index k, int fill, batched::Pivoting pivoting)
        : level(make_factor(context, matrix.view(), k, slots, fill, BlockLdltStage::level, 0.01,
                            pivoting)),
          jacobi(make_factor(context, matrix.view(), k, slots, fill, BlockLdltStage::jacobi, 0.01,
                             pivoting)) {}
};

}  // namespace

TEST(numeric_factor, meets_the_matrix_on_its_pattern) {
    auto random = generator();
    const Context device = context();
    for (const Index k : {1, 4, 8, 16, 32}) {
        for (const int fill : {0, 1, 1000}) {
            const Index rows = 12 * k - 1;
            const auto matrix =
                symmetric_csr<double>(rows, random_indefinite(random, rows, 1.5 / k, 0));
            auto factor = make_factor(device, matrix.view(), k, random_slots(random, rows, k), fill,
                                      BlockLdltStage::level, 1e-300);
            factor.factor_by_levels(device);
            ASSERT_EQ(factor.pivots(device).perturbed, 0);
            const TakenApart parts = take_apart(device, factor);
            const Dense a = in_grid(HostGrid(device, factor.grid()), matrix.view());
            const Dense m = parts.matrix(), bound = parts.bound(unit);
            for (std::size_t j = 0; j < a.size(); ++j) {
                for (std::size_t i = j; i < a.size(); ++i) {
                    // With full fill the rest of the product is zero as well, as A is.
                    if (parts.pattern(i, j) == 0 && fill < 1000) continue;
                    EXPECT_LE(std::abs(m(i, j) - a(i, j)), bound(i, j))
                        << "k = " << k << ", fill = " << fill << ", " << i << ", " << j;
                }
            }
        }
    }
}

TEST(numeric_factor, as_many_sweeps_as_levels_give_the_level_factor) {
    auto random = generator();
    const Context device = context();
    for (const Index k : {1, 4, 8, 32}) {
        for (const int fill : {0, 1}) {
            for (const auto pivoting : {batched::Pivoting::full, batched::Pivoting::fixed}) {
                Pair pair(device, random, k, fill, pivoting);
                pair.level.factor_by_levels(device);
                pair.jacobi.start_sweeps();
                for (Index l = 0; l < pair.level.levels(); ++l) pair.jacobi.sweep(device);
                // Equal sums of equal numbers in one order: bitwise equal.
                expect_same_bits(device, pair.level.v(), pair.jacobi.v(), "V");
                expect_same_bits(device, pair.level.factors(), pair.jacobi.factors(), "F");
                expect_same_bits(device, pair.level.inverses(), pair.jacobi.inverses(), "X");
                EXPECT_GT(pair.level.levels(), 1);
            }
        }
    }
}

TEST(numeric_factor, solves_with_its_product) {
    auto random = generator();
    const Context device = context();
    for (const Index k : {1, 4, 8, 16, 32}) {
        const Index rows = 12 * k - 1;
        const auto matrix = symmetric_csr<double>(rows, random_indefinite(random, rows, 1.5 / k));
        auto factor = make_factor(device, matrix.view(), k, random_slots(random, rows, k), 0,
                                  BlockLdltStage::level, 0.01);
        factor.factor_by_levels(device);
        const TakenApart parts = take_apart(device, factor);
        const auto scale = random_vector<double>(random, std::size_t(rows));
        const auto r = random_vector<double>(random, std::size_t(rows));
        const auto z = solve(device, factor, scale, 0, r);
        EXPECT_EQ(z, solve(device, factor, scale, factor.levels(), r));

        // (I + V) F (I + V)^T y = P S r for z = S P^T y.
        const std::size_t n = parts.lower.size();
        const HostGrid grid(device, factor.grid());
        const Dense m = parts.matrix(), bound = parts.bound(unit);
        for (std::size_t i = 0; i < n; ++i) {
            const Index row = grid.slots[i];
            double rest = row < 0 ? 0 : -scale[std::size_t(row)] * r[std::size_t(row)], limit = 0;
            for (std::size_t j = 0; j < n; ++j) {
                const Index column = grid.slots[j];
                if (column < 0) continue;
                const double y = z[std::size_t(column)] / scale[std::size_t(column)];
                rest += m(i, j) * y;
                limit += 2 * bound(i, j) * std::abs(y);
            }
            EXPECT_LE(std::abs(rest), limit) << "k = " << k << ", row " << i;
        }
    }
}

TEST(numeric_factor, bits_do_not_depend_on_threads) {
    auto random = generator();
    const Index k = 4, rows = 4000;
    const auto matrix = symmetric_csr<double>(rows, random_indefinite(random, rows, 1));
    const auto slots = random_slots(random, rows, 9);
    const auto r = random_vector<double>(random, std::size_t(rows));
    const std::vector<double> scale(r.size(), 1);
    std::vector<double> first;
    for (const int threads : {1, 2, 5}) {
        const Context device = host(threads);
        Pair pair(device, matrix, slots, k, 0, batched::Pivoting::rook);
        pair.jacobi.start_sweeps();
        for (int s = 0; s < 3; ++s) pair.jacobi.sweep(device);
        const auto z = solve(device, pair.jacobi, scale, 0, r);
        if (threads == 1) first = z;
        EXPECT_EQ(z, first) << threads << " threads";
    }
}

TEST(numeric_factor, both_backends_agree) {
    auto random = generator();
    const Context device = context();
    for (const Index k : {1, 4, 8, 16, 32}) {
        for (const auto method : {BlockLdltStage::level, BlockLdltStage::jacobi}) {
            const Index rows = 12 * k - 1;
            // Static pivots, and no small ones: both backends choose equal pivots.
            auto entries = random_indefinite(random, rows, 1.5 / k);
            for (Index i = 0; i < rows; ++i) entries[{i, i}] = i % 2 == 0 ? 20 : -30;
            const auto matrix = symmetric_csr<double>(rows, entries);
            const auto slots = random_slots(random, rows, k);
            const auto factor_on = [&](const Context& context) {
                auto factor = make_factor(context, matrix.view(), k, slots, 1, method, 1e-300,
                                          batched::Pivoting::fixed);
                if (method == BlockLdltStage::level) {
                    factor.factor_by_levels(context);
                } else {
                    factor.start_sweeps();
                    for (int s = 0; s < 3; ++s) factor.sweep(context);
                }
                return factor;
            };
            auto one = factor_on(host()), other = factor_on(device);
            const TakenApart a = take_apart(host(), one), b = take_apart(device, other);
            // Twice the error bound of either; a sweep propagates the errors of the previous ones.
            const double sweeps = method == BlockLdltStage::level ? 2 : 6;
            const double bound = sweeps * largest(a.bound(unit));
            EXPECT_LE(largest(sum(1, a.matrix(), -1, b.matrix())), bound) << "k = " << k;
            EXPECT_LT(bound, 1e-6 * largest(a.matrix()));
            const double error = reconstruction_error(host(), one, matrix.view());
            EXPECT_LE(std::abs(reconstruction_error(device, other, matrix.view()) - error),
                      1e-6 * error + rows * 100 * unit);
        }
    }
}

TEST(numeric_factor, estimates_its_reconstruction_error) {
    auto random = generator();
    const Context device = context();
    const Index k = 4, rows = 100;
    const auto matrix = symmetric_csr<double>(rows, random_indefinite(random, rows, 1));
    auto factor = make_factor(device, matrix.view(), k, random_slots(random, rows, 3), 0,
                              BlockLdltStage::level, 0.1);
    factor.factor_by_levels(device);
    const Dense a = in_grid(HostGrid(device, factor.grid()), matrix.view());
    const Dense error = sum(1, take_apart(device, factor).matrix(), -1, a);
    double frobenius = 0, size = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        for (std::size_t j = 0; j < a.size(); ++j) {
            frobenius += error(i, j) * error(i, j);
            size += a(i, j) * a(i, j);
        }
    }
    // Two normal vectors: ||E w||^2 has the mean ||E||_F^2, and is within a factor of ten of it
    // with a probability above 0.999 for every E; the seeds are fixed.
    const double ratio =
        reconstruction_error(device, factor, matrix.view()) / std::sqrt(frobenius / size);
    EXPECT_GT(ratio, 0.1);
    EXPECT_LT(ratio, 10);
}

TEST(numeric_factor, keeps_the_best_sweep) {
    auto random = generator();
    const Context device = context();
    Pair pair(device, random, 4, 1000, batched::Pivoting::full);  // As many levels as block rows.
    pair.jacobi.start_sweeps();
    pair.jacobi.sweep(device);
    pair.jacobi.sweep(device);
    pair.jacobi.mark_best();
    const auto v = copy_to_host(device, pair.jacobi.v());
    for (int s = 0; s < 5; ++s) pair.jacobi.sweep(device);
    EXPECT_NE(copy_to_host(device, pair.jacobi.v()), v);
    pair.jacobi.restore_best();
    EXPECT_EQ(copy_to_host(device, pair.jacobi.v()), v);
}

TEST(numeric_factor, absolute_pivots_make_it_positive_definite) {
    auto random = generator();
    const Context device = context();
    const Index k = 8, rows = 90;
    const auto matrix = symmetric_csr<double>(rows, random_indefinite(random, rows, 0.5));
    auto factor = make_factor(device, matrix.view(), k, random_slots(random, rows, 3), 0,
                              BlockLdltStage::level, 0.01);
    factor.factor_by_levels(device);
    const std::vector<double> scale(std::size_t(rows), 1);
    const auto smallest_form = [&] {
        double smallest = std::numeric_limits<double>::infinity();
        for (int vector = 0; vector < rows; ++vector) {
            std::vector<double> r(scale.size(), 0);
            r[std::size_t(vector)] = 1;
            smallest = std::min(smallest, solve(device, factor, scale, 0, r)[std::size_t(vector)]);
        }
        return smallest;
    };
    EXPECT_LT(smallest_form(), 0);
    factor.make_positive_definite(device);
    EXPECT_GT(smallest_form(), 0);
}

TEST(numeric_factor, zeros_become_the_threshold) {
    const Context device = context();
    const auto matrix = symmetric_csr<double>(5, {{{0, 0}, 0.0}, {{4, 1}, 0.0}});
    auto factor =
        make_factor(device, matrix.view(), 4, {0, 1, 2, 3, 4}, 0, BlockLdltStage::level, 0.25);
    factor.factor_by_levels(device);
    // The unit is the largest entry, the 1 of the padding.
    EXPECT_EQ(factor.pivots(device).perturbed, 5);
    EXPECT_EQ(factor.pivots(device).smallest, 0);
    const std::vector<double> scale(5, 1), r{1, 2, 3, 4, 5};
    EXPECT_EQ(solve(device, factor, scale, 0, r), (std::vector<double>{4, 8, 12, 16, 20}));
}

TEST(numeric_factor, thresholds_are_relative_to_the_largest_entry) {
    const Context device = context();
    const auto matrix = symmetric_csr<double>(6, {{{0, 0}, 0.0},
                                                  {{1, 1}, 2.0},
                                                  {{2, 2}, 0.5},
                                                  {{4, 4}, -3.0},
                                                  {{5, 4}, -4.0},
                                                  {{5, 5}, 1.0}});
    auto factor =
        make_factor(device, matrix.view(), 4, {0, 1, 2, 3, 4, 5}, 0, BlockLdltStage::level, 0.25);
    const std::vector<double> scale(6, 1), r{1, 0, 0, 0, 0, 0};
    factor.set_threshold(device, 0.25);
    factor.factor_by_levels(device);
    const double z = solve(device, factor, scale, 0, r)[0];
    EXPECT_LE(std::abs(z - 1), gamma<double>(8));  // The pivot 0 became 0.25 * 4.
}

}  // namespace tessera::test
