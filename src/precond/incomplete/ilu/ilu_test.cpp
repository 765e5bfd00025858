#include "tessera/ilu.hpp"
#include "precond/incomplete/test_general.hpp"
#include "support/messages.hpp"
#include "tessera/problems.hpp"

namespace tessera::test {

namespace {

/// Convection and diffusion; its rows shifted by `shift`, cyclically.
CsrMatrix<double> convection(Index n, int strength, Index shift = 0) {
    auto matrix = problems::generate<double>(host(), Spec("convection2d:" + std::to_string(n) +
                                                          ",strength=" + std::to_string(strength)))
                      .matrix;
    if (shift == 0) return matrix;
    const Index rows = matrix.rows();
    const auto view = matrix.view();
    std::vector<std::vector<Index>> columns(static_cast<std::size_t>(rows));
    std::vector<std::vector<double>> values(columns.size());
    for (Index i = 0; i < rows; ++i) {
        const auto to = std::size_t((i + shift) % rows);
        for (Offset e = view.row_offsets[i]; e < view.row_offsets[i + 1]; ++e) {
            columns[to].push_back(view.column_indices[e]);
            values[to].push_back(view.values[e]);
        }
    }
    return make_csr(rows, rows, columns, values);
}

std::vector<double> apply(const Context& context, const Ilu<double>& ilu,
                          const std::vector<double>& r, bool transposed = false) {
    const auto device = copy_to_buffer(context, r);
    Buffer<double> z(context, device.size());
    if (transposed) {
        ilu.apply_transposed(context, device.view(), z.view());
    } else {
        ilu.apply(context, device.view(), z.view());
    }
    return copy_to_host(context, z);
}

SolveReport solve_with(const Context& context, const CsrMatrix<double>& matrix,
                       const Operator<double>* preconditioner, const char* solver = "gmres:50") {
    const auto b = copy_to_buffer(context, std::vector<double>(std::size_t(matrix.rows()), 1.0));
    Buffer<double> x(context, b.size());
    fill(context, 0.0, x.view());
    SolveOptions options;
    options.rtol = 1e-8;
    options.max_iterations = 500;
    return solve<double>(context, solver, CsrOperator<double>(context, matrix.view()),
                         preconditioner, b.view(), x.view(), options);
}

IluOptions options_of(const std::string& text) { return parse_ilu(Spec("ilu" + text)); }

double product_of(const std::vector<double>& x, const std::vector<double>& y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

}  // namespace

TEST(ilu, takes_fewer_iterations_than_block_jacobi) {
    const Context device = context();
    const auto matrix = copy_to(device, convection(40, 100).view());
    const auto jacobi = make_preconditioner<double>(device, "block_jacobi:8", matrix.view());
    const auto slow = solve_with(device, matrix, jacobi.get());
    for (const char* text : {"", ":1", ":8", ":16,fill=1", ":8,method=jacobi", ":4,solve_sweeps=8",
                             ":8,ordering=rcm", ":1,fill=2,ordering=amd"}) {
        const Ilu<double> ilu(device, matrix.view(), options_of(text));
        for (const char* solver : {"gmres:50", "bicgstab"}) {
            const auto report = solve_with(device, matrix, &ilu, solver);
            EXPECT_EQ(report.status, Status::converged)
                << text << ' ' << solver << ' ' << ilu.report().outcome;
            EXPECT_LT(2 * report.iterations, slow.iterations) << text << ' ' << solver;
        }
    }
}

TEST(ilu, finds_equations_in_another_order) {
    const Context device = context();
    const auto plain = copy_to(device, convection(30, 10).view());
    const auto shifted = copy_to(device, convection(30, 10, 7).view());
    const Ilu<double> natural(device, plain.view()), matched(device, shifted.view());
    EXPECT_FALSE(*natural.options().matching);
    EXPECT_TRUE(*matched.options().matching);
    EXPECT_EQ(matched.report().structural_rank, plain.rows());
    EXPECT_EQ(solve_with(device, shifted, &matched).status, Status::converged);
    const Ilu<double> unmatched(device, shifted.view(), options_of(":4,matching=off"));
    EXPECT_NE(solve_with(device, shifted, &unmatched).status, Status::converged);
}

/// Blocks end at the ends of the lines of a mesh: those of a diagonal are one level.
TEST(ilu, blocks_do_not_go_on_with_the_next_line) {
    const Context device = context();
    const auto lines_of_ten = copy_to(device, convection(10, 10).view());
    const Ilu<double> ilu(device, lines_of_ten.view(), options_of(":4,matching=off"));
    EXPECT_EQ(ilu.report().block_rows, 30);
    EXPECT_EQ(ilu.report().levels, 10 + 3 - 1);
    // Lines of five would take 60 % more blocks.
    const auto lines_of_five = copy_to(device, convection(5, 10).view());
    const Ilu<double> dense(device, lines_of_five.view(), options_of(":4,matching=off"));
    EXPECT_EQ(dense.report().block_rows, 7);
    EXPECT_EQ(solve_with(device, lines_of_ten, &ilu).status, Status::converged);
    EXPECT_NE(message_of([&] {
                  Ilu<double>(device, lines_of_ten.view(),
                              options_of(":4,matching=off,max_levels=11"));
              }).find("more levels than max_levels=11"),
              std::string::npos);
}

TEST(ilu, complete_fill_is_a_direct_solver) {
    auto random = generator();
    const Context device = context();
    const auto general = random_general<double>(random, 300, 2);
    const auto matrix = copy_to(device, general.matrix.view());
    for (const char* text : {":1", ":4", ":8", ":16"}) {
        const Ilu<double> ilu(device, matrix.view(),
                              options_of(std::string(text) + ",fill=1000,matching=on"));
        const auto report = solve_with(device, matrix, &ilu);
        EXPECT_EQ(report.status, Status::converged) << text;
        EXPECT_LE(report.iterations, 3) << text;
    }
}

TEST(ilu, transposes_are_applied) {
    auto random = generator();
    const Context device = context();
    const auto general = random_general<double>(random, 500, 2);
    const auto matrix = copy_to(device, general.matrix.view());
    for (const char* text : {":1", ":4", ":8,fill=1", ":8,solve_sweeps=5", ":16,method=jacobi"}) {
        const Ilu<double> ilu(device, matrix.view(), options_of(text));
        const auto x = random_vector<double>(random, 500), y = random_vector<double>(random, 500);
        const auto forward = apply(device, ilu, x), backward = apply(device, ilu, y, true);
        const double size = std::sqrt(product_of(forward, forward) * product_of(y, y)) +
                            std::sqrt(product_of(backward, backward) * product_of(x, x));
        EXPECT_NEAR(product_of(forward, y), product_of(x, backward), 1e-12 * size) << text;
    }
}

TEST(ilu, of_a_symmetric_matrix_is_block_ldlt) {
    auto random = generator();
    const Context device = context();
    auto entries = random_indefinite(random, 200, 2);
    for (Index i = 0; i < 200; ++i) entries[{i, i}] = i % 2 == 0 ? 8 : -9;
    const auto matrix = copy_to(device, symmetric_csr<double>(200, entries).view());
    const auto r = random_vector<double>(random, 200);
    const std::string same = ",fill=1,method=level,matching=off,ordering=amd,safeguard=off";
    const Ilu<double> ilu(device, matrix.view(), options_of(":8" + same));
    const BlockLdlt<double> ldlt(device, matrix.view(),
                                 parse_block_ldlt(Spec("block_ldlt:8" + same)));
    const auto z = apply(device, ilu, r);
    Buffer<double> other(device, 200);
    ldlt.apply(device, copy_to_buffer(device, r).view(), other.view());
    const auto w = copy_to_host(device, other);
    // Scalings by the diagonal change only the rounding.
    for (std::size_t i = 0; i < r.size(); ++i) EXPECT_NEAR(z[i], w[i], 1e-12) << i;
}

TEST(ilu, update_takes_new_values_and_rejects_other_patterns) {
    auto random = generator();
    const Context device = context();
    auto general = random_general<double>(random, 300, 2);
    const auto r = random_vector<double>(random, 300);
    Ilu<double> ilu(device, copy_to(device, general.matrix.view()).view(), options_of(":8"));
    const auto before = apply(device, ilu, r);
    for (double& value : general.matrix.values().view()) value *= 4;  // Scalings are halved.
    ilu.update(device, copy_to(device, general.matrix.view()).view());
    const auto after = apply(device, ilu, r);
    for (std::size_t i = 0; i < r.size(); ++i) EXPECT_EQ(after[i], before[i] / 4);
    auto infinite = copy_to(host(), general.matrix.view());
    infinite.values().data()[7] = std::numeric_limits<double>::infinity();
    EXPECT_NE(message_of([&] {
                  ilu.update(device, copy_to(device, infinite.view()).view());
              }).find("not finite"),
              std::string::npos);
    const auto other = random_general<double>(random, 300, 2);
    EXPECT_NE(message_of([&] {
                  ilu.update(device, copy_to(device, other.matrix.view()).view());
              }).find("pattern"),
              std::string::npos);
    EXPECT_EQ(apply(device, ilu, r), after);
}

TEST(ilu, update_with_values_in_other_units_is_a_setup) {
    auto random = generator();
    const Context device = context();
    const auto general = random_general<double>(random, 300, 2);
    const auto r = random_vector<double>(random, 300);
    CsrMatrix<double> zero = copy_to(host(), general.matrix.view());
    std::ranges::fill(zero.values().view(), 0.0);
    const auto zeros = copy_to(device, zero.view());
    for (const bool rows : {true, false}) {
        CsrMatrix<double> scaled = copy_to(host(), general.matrix.view());
        const auto a = general.matrix.view();
        for (Index i = 0; i < 300; ++i) {
            for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
                const Index line = rows ? i : a.column_indices[e];
                scaled.values().data()[e] *= std::ldexp(1.0, 8 * (line % 7) - 24);
            }
        }
        for (const char* text : {":4", ":4,matching=on", ":4,matching=off", ":4,precision=f32"}) {
            const auto matrix = copy_to(device, a);
            const auto other = copy_to(device, scaled.view());
            Ilu<double> ilu(device, matrix.view(), options_of(text));
            const auto before = apply(device, ilu, r);
            const Index rank = ilu.report().structural_rank;
            ilu.update(device, other.view());
            const Ilu<double> anew(device, other.view(), options_of(text));
            EXPECT_EQ(apply(device, ilu, r), apply(device, anew, r)) << text;
            ilu.update(device, matrix.view());
            EXPECT_EQ(apply(device, ilu, r), before) << text;
            ilu.update(device, zeros.view());
            ilu.update(device, matrix.view());
            EXPECT_EQ(apply(device, ilu, r), before) << text;
            EXPECT_EQ(ilu.report().structural_rank, rank) << text;
        }
    }
}

TEST(ilu, never_answers_with_numbers_that_are_not_finite) {
    const Context device = context();
    auto random = generator();
    // A zero row, a structurally singular matrix, equal rows, an isolated zero.
    const std::vector<CsrMatrix<double>> matrices = [] {
        std::vector<CsrMatrix<double>> all;
        all.push_back(make_csr<double>(4, 4, {{0, 1}, {1}, {}, {3}}, {{1, 2}, {3}, {}, {4}}));
        all.push_back(make_csr<double>(3, 3, {{0}, {0}, {0, 1, 2}}, {{1}, {1}, {1, 1, 1}}));
        all.push_back(
            make_csr<double>(3, 3, {{0, 1, 2}, {0, 1, 2}, {2}}, {{1, 1, 1}, {1, 1, 1}, {1}}));
        all.push_back(make_csr<double>(2, 2, {{0, 1}, {0, 1}}, {{0, 0}, {0, 0}}));
        return all;
    }();
    for (const auto& matrix : matrices) {
        const auto placed = copy_to(device, matrix.view());
        for (const char* text : {":1", ":4", ":8", ":4,method=jacobi", ":4,matching=off"}) {
            const Ilu<double> ilu(device, placed.view(), options_of(text));
            const auto r = random_vector<double>(random, std::size_t(matrix.rows()));
            for (const double z : apply(device, ilu, r)) EXPECT_TRUE(std::isfinite(z)) << text;
        }
    }
}

// An unknown in units of 1e10, whose diagonal is 1e-20 times that of the others: squares of its
// elements leave the range of float.
TEST(ilu, units_whose_squares_leave_the_range) {
    const Context device = context();
    const std::vector<std::vector<Index>> pattern{{0, 1}, {0, 1, 2}, {1, 2}};
    const float t = 1e-10F;
    const auto matrix =
        copy_to(device, make_csr<float>(3, 3, pattern, {{4, -t}, {-t, 4 * t * t, -t}, {-t, 4}}));
    for (const char* text : {"", ":1", ",drop=1e-3,max=20"}) {
        const Ilu<float> ilu(device, matrix.view(), options_of(text));
        EXPECT_EQ(ilu.report().stage, BlockLdltStage::level) << text << ' ' << ilu.report().outcome;
        const auto r = copy_to_buffer(device, std::vector<float>{1, 2 * t, 3});
        Buffer<float> z(device, 3);
        ilu.apply(device, r.view(), z.view());
        // 4 -1 0, -1 4 -1, 0 -1 4 for the right-hand side 1, 2, 3.
        const std::vector<float> found = copy_to_host(device, z);
        EXPECT_NEAR(found[0], 26. / 56, 1e-5) << text;
        EXPECT_NEAR(found[1] * t, 48. / 56, 1e-5) << text;
        EXPECT_NEAR(found[2], 54. / 56, 1e-5) << text;
    }
}

TEST(ilu, structural_singularity_is_said) {
    const Context device = context();
    const auto matrix = copy_to(
        device, make_csr<double>(3, 3, {{0}, {0}, {0, 1, 2}}, {{1}, {1}, {1, 1, 1}}).view());
    const Ilu<double> ilu(device, matrix.view());
    EXPECT_EQ(ilu.report().structural_rank, 2);
    const auto warnings = static_cast<const Preconditioner<double>&>(ilu).report().warnings;
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("only 2 of its 3 rows"), std::string::npos) << warnings[0];
}

TEST(ilu, rows_of_natural_blocks_stay_together) {
    const Context device = context();
    const auto matrix =
        copy_to(device, problems::generate<double>(host(), "euler3d:6,cfl=10").matrix.view());
    const Ilu<double> blocks(device, matrix.view(), options_of(":5"));
    EXPECT_EQ(blocks.report().block_rows, 216);
    EXPECT_EQ(blocks.report().levels, 3 * 6 - 2);  // The cells of a diagonal plane are one level.
    EXPECT_EQ(solve_with(device, matrix, &blocks, "bicgstab").status, Status::converged);
    // Rows of two cells in a block make a chain of all.
    EXPECT_GT(Ilu<double>(device, matrix.view(), options_of(":8,fill=1")).report().levels, 50);
}

TEST(ilu, thresholds_drop_entries) {
    const Context device = context();
    const auto matrix = copy_to(device, convection(40, 100).view());
    Offset smallest = 0;
    for (const char* text : {",drop=1e-6,max=1000", ",drop=1e-3", ",drop=0.1"}) {
        const Ilu<double> ilu(device, matrix.view(), options_of(text));
        EXPECT_EQ(solve_with(device, matrix, &ilu, "bicgstab").status, Status::converged) << text;
        if (smallest > 0) {
            EXPECT_LT(ilu.report().stored_blocks, smallest) << text;
        }
        smallest = ilu.report().stored_blocks;
        // An update is a setup.
        Ilu<double> updated(device, matrix.view(), options_of(text));
        updated.update(device, matrix.view());
        const std::vector<double> r(std::size_t(matrix.rows()), 1.0);
        EXPECT_EQ(apply(device, updated, r), apply(device, ilu, r)) << text;
    }
    for (const char* text :
         {":8,drop=0.1", ",fill=1,drop=0.1", ",drop=0.1,method=jacobi", ",drop=0.1,outer=on"}) {
        EXPECT_NE(message_of([&] {
                      Ilu<double>(device, matrix.view(), options_of(text));
                  }).find("with drop blocks have one row"),
                  std::string::npos)
            << text;
    }
}

// Rows that begin with a zero need pivoting within blocks, or they are shifted.
TEST(ilu, pivots_within_blocks) {
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
TEST(ilu, delays_bad_block_rows) {
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

TEST(ilu, its_factor_is_that_of_the_scaled_matrix) {
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

TEST(ilu, applies_inside_a_graph) {
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

TEST(ilu, a_factor_in_single_precision_serves_double) {
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

TEST(ilu, single_precision) {
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

TEST(ilu, is_described_as_it_was_given) {
    const Context device = context();
    const auto matrix = copy_to(device, convection(10, 10).view());
    for (const char* text :
         {"ilu:8,fill=0,method=jacobi,sweeps=8,delta=0.95,matching=on,ordering=rcm",
          "ilu:4,fill=2,method=level,epsilon=1e-06,matching=off,ordering=natural,safeguard=off",
          "ilu:1,fill=1,method=level,matching=off,ordering=amd,solve_sweeps=4",
          "ilu:4,fill=0,method=level,pivoting=partial,matching=off,ordering=rcm,outer=on,"
          "outer_threshold=0.05",
          "ilu:4,fill=0,method=level,pivoting=static,matching=on,ordering=rcm,max_levels=99"}) {
        EXPECT_EQ(make_preconditioner<double>(device, Spec(text), matrix.view())->describe(), text);
    }
    for (const char* text :
         {":33", ":-1", ":8,fill=-1", ":8,sweeps=0", ":8,method=multi", ":8,delta=1.5",
          ":8,matching=maybe", ":8,ordering=best", ":8,swep=3", ":8,pivoting=rook",
          ":8,max_levels=-1", ":8,outer=maybe", ":8,outer_threshold=2"}) {
        EXPECT_THROW(Ilu<double>(device, matrix.view(), options_of(text)), InvalidArgument) << text;
    }
    EXPECT_THROW(
        Ilu<double>(device, copy_to(device, make_csr<double>(1, 2, {{0}}, {{1}}).view()).view()),
        InvalidArgument);
}

}  // namespace tessera::test
