#include "precond/incomplete/test_general.hpp"

namespace tessera::test {

namespace {

constexpr double unit = std::numeric_limits<double>::epsilon() / 2;

/// M y = P r for M = (I + L) F (I + U), within its bound, where y is z in slots; scaled by `scale`.
void expect_solved(const HostGrid& grid, const Dense& m, const Dense& bound,
                   const std::vector<double>& scale, const std::vector<double>& r,
                   const std::vector<double>& z, bool transposed) {
    for (std::size_t i = 0; i < m.size(); ++i) {
        const Index row = transposed ? grid.slots[i] : grid.row(i);
        double rest = row < 0 ? 0 : -scale[std::size_t(row)] * r[std::size_t(row)], limit = 0;
        for (std::size_t j = 0; j < m.size(); ++j) {
            const Index column = transposed ? grid.row(j) : grid.slots[j];
            if (column < 0) continue;
            const double y = z[std::size_t(column)] / scale[std::size_t(column)];
            rest += (transposed ? m(j, i) : m(i, j)) * y;
            limit += 2 * (transposed ? bound(j, i) : bound(i, j)) * std::abs(y);
        }
        EXPECT_LE(std::abs(rest), limit) << "row " << i << (transposed ? ", transposed" : "");
    }
}

}  // namespace

TEST(general_factor, meets_the_matrix_on_its_pattern) {
    auto random = generator();
    const Context device = context();
    for (const Index k : {1, 4, 8, 16, 32}) {
        for (const int fill : {0, 1, 1000}) {
            const Index rows = 12 * k - 1;
            const auto general = random_general<double>(random, rows, 1.5 / k);
            auto factor = make_factor(device, general, k, random_slots(random, rows, k), fill,
                                      BlockLdltStage::level, 1e-300);
            factor.factor_by_levels(device);
            ASSERT_EQ(factor.pivots(device).perturbed, 0);
            const TakenApart parts = take_apart(device, factor);
            const Dense a = in_grid(HostGrid(device, factor.grid()), general.matrix.view());
            const Dense m = parts.matrix(), bound = parts.bound(unit);
            for (std::size_t j = 0; j < a.size(); ++j) {
                for (std::size_t i = 0; i < a.size(); ++i) {
                    // With full fill the rest of the product is zero as well, as A is.
                    if (parts.pattern(i, j) == 0 && fill < 1000) continue;
                    EXPECT_LE(std::abs(m(i, j) - a(i, j)), bound(i, j))
                        << "k = " << k << ", fill = " << fill << ", " << i << ", " << j;
                }
            }
        }
    }
}

TEST(general_factor, as_many_sweeps_as_levels_give_the_level_factor) {
    auto random = generator();
    const Context device = context();
    for (const Index k : {1, 4, 8, 32}) {
        for (const auto pivoting :
             {batched::Pivoting::full, batched::Pivoting::partial, batched::Pivoting::fixed}) {
            const Index rows = 12 * k;
            const auto general = random_general<double>(random, rows, 1.5 / k);
            const auto slots = random_slots(random, rows, k);
            auto level =
                make_factor(device, general, k, slots, 1, BlockLdltStage::level, 0.01, pivoting);
            auto jacobi =
                make_factor(device, general, k, slots, 1, BlockLdltStage::jacobi, 0.01, pivoting);
            level.factor_by_levels(device);
            jacobi.start_sweeps();
            for (Index l = 0; l < level.levels(); ++l) jacobi.sweep(device);
            jacobi.scale_upper(device);
            // Equal sums of equal numbers in one order: bitwise equal.
            expect_same_bits(device, level.v(incomplete::lower), jacobi.v(incomplete::lower), "L");
            expect_same_bits(device, level.v(incomplete::upper), jacobi.v(incomplete::upper), "U");
            expect_same_bits(device, level.factors(), jacobi.factors(), "F");
            expect_same_bits(device, level.inverses(), jacobi.inverses(), "X");
            EXPECT_GT(level.levels(), 1);
        }
    }
}

TEST(general_factor, solves_with_its_product_and_the_transpose) {
    auto random = generator();
    const Context device = context();
    for (const Index k : {1, 4, 8, 16, 32}) {
        const Index rows = 12 * k - 1;
        const auto general = random_general<double>(random, rows, 1.5 / k);
        auto factor = make_factor(device, general, k, random_slots(random, rows, k), 0,
                                  BlockLdltStage::level, 0.01);
        factor.factor_by_levels(device);
        const TakenApart parts = take_apart(device, factor);
        const Dense m = parts.matrix(), bound = parts.bound(unit);
        const auto scale = random_vector<double>(random, std::size_t(rows));
        const auto r = random_vector<double>(random, std::size_t(rows));
        for (const bool transposed : {false, true}) {
            SCOPED_TRACE("k = " + std::to_string(k));
            const auto z = solve(device, factor, scale, 0, r, transposed);
            EXPECT_EQ(z, solve(device, factor, scale, factor.levels(), r, transposed));
            expect_solved(HostGrid(device, factor.grid()), m, bound, scale, r, z, transposed);
        }
    }
}

TEST(general_factor, estimates_its_reconstruction_error) {
    auto random = generator();
    const Context device = context();
    for (const Index k : {1, 8}) {
        const Index rows = 20 * k;
        const auto general = random_general<double>(random, rows, 2.0 / k, 3);
        const auto slots = random_slots(random, rows, k);
        const auto error = [&](int fill) {
            auto factor = make_factor(device, general, k, slots, fill, BlockLdltStage::level, 1e-8);
            factor.factor_by_levels(device);
            return reconstruction_error(device, factor, general.matrix.view());
        };
        EXPECT_LT(error(1000), 1e-12);
        EXPECT_GT(error(0), 1e-4);
    }
}

TEST(general_factor, bits_do_not_depend_on_threads) {
    auto random = generator();
    const Index k = 4, rows = 4000;
    const auto general = random_general<double>(random, rows, 1);
    const auto slots = random_slots(random, rows, 9);
    const auto r = random_vector<double>(random, std::size_t(rows));
    const std::vector<double> scale(r.size(), 1);
    std::vector<double> first;
    for (const int threads : {1, 2, 5}) {
        const Context device = host(threads);
        auto factor = make_factor(device, general, k, slots, 0, BlockLdltStage::level, 0.01);
        factor.factor_by_levels(device);
        const auto z = solve(device, factor, scale, 0, r);
        if (threads == 1) first = z;
        EXPECT_EQ(z, first) << threads << " threads";
    }
}

TEST(general_factor, both_backends_agree) {
    auto random = generator();
    const Context device = context();
    for (const Index k : {1, 4, 8, 16, 32}) {
        for (const auto method : {BlockLdltStage::level, BlockLdltStage::jacobi}) {
            const Index rows = 12 * k - 1;
            // No small pivots: rounding errors stay small.
            const auto general = random_general<double>(random, rows, 1.5 / k, 20);
            const auto slots = random_slots(random, rows, k);
            const auto r = random_vector<double>(random, std::size_t(rows));
            const auto solve_on = [&](const Context& context) {
                auto factor = make_factor(context, general, k, slots, 1, method, 1e-300,
                                          batched::Pivoting::fixed);
                if (method == BlockLdltStage::level) {
                    factor.factor_by_levels(context);
                } else {
                    factor.start_sweeps();
                    for (int s = 0; s < 3; ++s) factor.sweep(context);
                    factor.scale_upper(context);
                }
                return solve(context, factor, std::vector<double>(r.size(), 1), 0, r);
            };
            const auto here = solve_on(device), there = solve_on(host(2));
            double largest = 0, difference = 0;
            for (std::size_t i = 0; i < here.size(); ++i) {
                largest = std::max(largest, std::abs(there[i]));
                difference = std::max(difference, std::abs(here[i] - there[i]));
            }
            // Blocks of k rows and sums of a few of them, well conditioned.
            EXPECT_LE(difference, 100 * k * unit * largest) << "k = " << k;
        }
    }
}

TEST(general_factor, dense_rows_and_columns_are_summed_in_pieces) {
    auto random = generator();
    const Context device = context();
    for (const Index k : {1, 8}) {
        // The last rows and columns have an entry in every block, the others few.
        const Index rows = 600 * k;
        std::vector<std::vector<Index>> columns(static_cast<std::size_t>(rows));
        std::vector<std::vector<double>> values(columns.size());
        std::uniform_real_distribution<double> uniform(-1, 1);
        for (Index i = 0; i < rows; ++i) {
            for (Index j = 0; j < rows; ++j) {
                const bool border = (i >= rows - 2 || j >= rows - 2) && (i + j) % k == 0;
                if (i != j && !border) continue;
                columns[std::size_t(i)].push_back(j);
                values[std::size_t(i)].push_back(i == j ? 4 + uniform(random) : uniform(random));
            }
        }
        const General<double> general{make_csr(rows, rows, columns, values), {}};
        std::vector<Index> slots(static_cast<std::size_t>(rows));
        std::iota(slots.begin(), slots.end(), 0);
        auto factor = make_factor(device, general, k, slots, 0, BlockLdltStage::level, 1e-300);
        factor.factor_by_levels(device);
        // Arrow matrices fill in nothing outside the border: the factor is exact but for the last
        // block, which has all of it.
        EXPECT_LT(reconstruction_error(device, factor, general.matrix.view()), 1e-12);
        const auto r = random_vector<double>(random, std::size_t(rows));
        const std::vector<double> scale(r.size(), 1);
        const auto z = solve(device, factor, scale, 0, r);
        double error = 0, size = 0;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            double rest = -r[i];
            for (std::size_t e = 0; e < columns[i].size(); ++e) {
                rest += values[i][e] * z[std::size_t(columns[i][e])];
            }
            error = std::max(error, std::abs(rest));
            size = std::max(size, std::abs(r[i]));
        }
        EXPECT_LT(error, 1e-10 * size) << "k = " << k;
    }
}

}  // namespace tessera::test
