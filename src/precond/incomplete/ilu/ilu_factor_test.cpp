#include "precond/incomplete/ilu/test_ilu.hpp"

// Pivots, delayed block rows and precisions of the factor.

namespace tessera::test {

// Rows that begin with a zero need pivoting within blocks, or they are shifted.
TEST(ilu_factor, pivots_within_blocks) {
    auto random = generator();
    const Context device = context();
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<std::vector<Index>> columns(200);
    std::vector<std::vector<double>> values(200);
    for (Index i = 0; i < 200; ++i) {  // [0 a; b 0] on the diagonal, and a block before it.
        for (Index j = i < 4 ? i / 4 * 4 : i / 4 * 4 - 4; j < i / 4 * 4 + 4; ++j) {
            columns[std::size_t(i)].push_back(j);
            const bool large = j / 2 == i / 2 && j != i;
            values[std::size_t(i)].push_back(large           ? 5 + uniform(random)
                                             : j / 4 < i / 4 ? uniform(random)
                                                             : 0);
        }
    }
    const auto matrix = copy_to(device, make_csr<double>(200, 200, columns, values).view());
    const auto with = [&](const char* pivoting) {
        const Ilu<double> ilu(
            device, matrix.view(),
            options_of(std::string(":4,matching=off,ordering=natural,epsilon=0.01,pivoting=") +
                       pivoting));
        return std::pair(ilu.report().perturbed, solve_with(device, matrix, &ilu).iterations);
    };
    for (const char* pivoting : {"complete", "partial"}) {
        EXPECT_EQ(with(pivoting).first, 0) << pivoting;
        EXPECT_LE(with(pivoting).second, 3) << pivoting;  // The factor is complete.
    }
    EXPECT_GT(with("static").first, 0);
    EXPECT_GT(with("static").second, with("complete").second);
}

/// [0 B; C D] in blocks of four rows: diagonal blocks that are zero come first, and are regular
/// after the others are eliminated.
TEST(ilu_factor, delays_bad_block_rows) {
    auto random = generator();
    const Context device = context();
    std::uniform_real_distribution<double> uniform(-1, 1);
    const Index zeros = 60, half = 4 * zeros;
    std::vector<std::map<Index, double>> rows(std::size_t(2 * half));
    for (Index i = 0; i < half; ++i) {
        const Index other = half + Index(random() % std::uint64_t(half));
        rows[std::size_t(i)][half + i] = 1.5 + 0.5 * uniform(random);
        rows[std::size_t(half + i)][i] = -1.5 + 0.5 * uniform(random);
        rows[std::size_t(half + i)][half + i] = 4;
        if (other != half + i) rows[std::size_t(i)][other] = 0.3 * uniform(random);
    }
    std::vector<std::vector<Index>> columns(rows.size());
    std::vector<std::vector<double>> values(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        for (const auto& [j, value] : rows[i]) {
            columns[i].push_back(j);
            values[i].push_back(value);
        }
    }
    const auto matrix =
        copy_to(device, make_csr<double>(2 * half, 2 * half, columns, values).view());
    for (const char* method : {",method=level", ",method=jacobi"}) {
        const std::string text = std::string(":4,matching=off,ordering=natural,epsilon=1e-6,") +
                                 "safeguard=off" + method;
        const Ilu<double> without(device, matrix.view(), options_of(text));
        EXPECT_EQ(without.report().delayed, 0) << method;
        const Ilu<double> with(device, matrix.view(), options_of(text + ",outer=on"));
        EXPECT_EQ(with.report().delayed, zeros) << method;
        const auto fast = solve_with(device, matrix, &with);
        EXPECT_EQ(fast.status, Status::converged) << method;
        EXPECT_LT(2 * fast.iterations, solve_with(device, matrix, &without).iterations) << method;
    }
}

TEST(ilu_factor, its_factor_is_that_of_the_scaled_matrix) {
    auto random = generator();
    const Context device = context();
    for (const std::size_t k : {1, 4, 8}) {
        const Index rows = Index(12 * k - 1);
        const auto general = random_general<double>(random, rows, 1.5 / double(k), 4);
        const auto matrix = copy_to(device, general.matrix.view());
        const Ilu<double> ilu(
            device, matrix.view(),
            options_of(":" + std::to_string(k) + ",fill=1000,epsilon=1e-300,matching=on"));
        ASSERT_EQ(ilu.report().perturbed, 0);
        const auto factor = ilu.factor(device);
        const std::size_t n = factor.row_of_slot.size();
        Dense lower = identity(n), upper = identity(n), diagonal(n), a(n);
        for (std::size_t e = 0; e < factor.l.size(); ++e) {
            const std::size_t b = e / (k * k);
            const auto i = std::size_t(factor.rows[b]) * k + e % k;
            const auto j = std::size_t(factor.columns[b]) * k + e / k % k;
            lower(i, j) = factor.l[e];
            upper(j, i) = factor.u_transposed[e];
        }
        for (std::size_t e = 0; e < factor.f.size(); ++e) {
            const std::size_t first = e / (k * k) * k;
            diagonal(first + e % k, first + e / k % k) = factor.f[e];
        }
        const auto view = general.matrix.view();
        for (std::size_t s = 0; s < n; ++s) {
            const Index row = factor.row_of_slot[s];
            if (row < 0) a(s, s) = 1;
            for (std::size_t t = 0; row >= 0 && t < n; ++t) {
                const Index column = factor.column_of_slot[t];
                for (Offset e = view.row_offsets[row]; e < view.row_offsets[row + 1]; ++e) {
                    if (view.column_indices[e] != column) continue;
                    a(s, t) = factor.row_scaling[std::size_t(row)] * view.values[e] *
                              factor.column_scaling[std::size_t(column)];
                }
            }
        }
        const Dense error = sum(1, product(product(lower, diagonal), upper), -1, a);
        const Dense size = product(product(absolute(lower), absolute(diagonal)), absolute(upper));
        EXPECT_LE(largest(error), 100 * gamma<double>(rows) * largest(sum(1, size, 1, absolute(a))))
            << k;
    }
}

TEST(ilu_factor, applies_inside_a_graph) {
    auto random = generator();
    const Context device = context();
    const auto matrix = copy_to(device, convection(40, 100).view());
    for (const char* text : {":1", ":8", ":4,solve_sweeps=3"}) {
        const Ilu<double> ilu(device, matrix.view(), options_of(text));
        const auto values = random_vector<double>(random, std::size_t(matrix.rows()));
        const auto r = copy_to_buffer(device, values);
        Buffer<double> z(device, r.size());
        const auto expected = apply(device, ilu, values);
        const auto graph = device.capture([&] { ilu.apply(device, r.view(), z.view()); });
        for (int run = 0; run < 2; ++run) {
            graph();
            EXPECT_EQ(copy_to_host(device, z), expected) << text;
        }
    }
}

TEST(ilu_factor, a_factor_in_single_precision_serves_double) {
    auto random = generator();
    const Context device = context();
    const auto matrix = copy_to(device, convection(40, 100).view());
    const auto r = random_vector<double>(random, std::size_t(matrix.rows()));
    for (const char* text : {":8", ":4,fill=1", ":1,drop=1e-3"}) {
        const Ilu<double> working(device, matrix.view(), options_of(text));
        Ilu<double> single(device, matrix.view(), options_of(std::string(text) + ",precision=f32"));
        EXPECT_EQ(solve_with(device, matrix, &single, "bicgstab").status, Status::converged);
        for (const bool transposed : {false, true}) {
            const auto z = apply(device, working, r, transposed);
            const auto rough = apply(device, single, r, transposed);
            double difference = 0;
            for (std::size_t i = 0; i < r.size(); ++i) {
                difference += (z[i] - rough[i]) * (z[i] - rough[i]);
            }
            EXPECT_LT(difference, 1e-8 * product_of(z, z)) << text;
            EXPECT_NE(z, rough) << text;
        }
        const auto before = apply(device, single, r);
        single.update(device, matrix.view());
        EXPECT_EQ(apply(device, single, r), before) << text;
        EXPECT_EQ(single.factor(device).f.size(), working.factor(device).f.size());
    }
    // Numbers beyond the range of FP32.
    auto large = convection(40, 100);
    for (double& value : large.values().view()) value *= 1e60;
    const auto placed = copy_to(device, large.view());
    const Ilu<double> wide(device, placed.view(), options_of(":8,precision=f32"));
    EXPECT_EQ(solve_with(device, placed, &wide, "bicgstab").status, Status::converged);
    EXPECT_EQ(wide.describe().find("f32"), std::string::npos) << wide.describe();
    Ilu<double> widened(device, matrix.view(), options_of(":8,precision=f32"));
    widened.update(device, placed.view());
    EXPECT_EQ(apply(device, widened, r), apply(device, wide, r));
}

TEST(ilu_factor, single_precision) {
    const Context device = context();
    auto random = generator();
    const auto general = random_general<float>(random, 400, 2, 4);
    const auto matrix = copy_to(device, general.matrix.view());
    const Ilu<float> ilu(device, matrix.view());
    const auto b = copy_to_buffer(device, random_vector<float>(random, 400));
    Buffer<float> x(device, 400);
    fill(device, 0.0f, x.view());
    SolveOptions options;
    options.rtol = 1e-5;
    options.max_iterations = 50;
    const auto report = solve<float>(device, "gmres:50", CsrOperator<float>(device, matrix.view()),
                                     &ilu, b.view(), x.view(), options);
    EXPECT_EQ(report.status, Status::converged) << ilu.report().outcome;
}

}  // namespace tessera::test
