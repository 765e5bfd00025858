#include "precond/incomplete/ilu/test_ilu.hpp"

namespace tessera::test {

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
