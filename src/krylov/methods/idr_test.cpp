#include "krylov/test_systems.hpp"

namespace tessera::test {

TEST(idr, ends_within_n_plus_n_over_s_products) {
    // Exact arithmetic is assumed; a well-conditioned matrix with few rows is close enough.
    const Context where = context();
    auto random = generator();
    for (const Index n : {1, 2, 3, 12, 24}) {
        const CsrMatrix<double> matrix = matrix_of<double>(n, [n](Index i, Index j) {
            return i == j ? 3.0 + double(i) / n : std::abs(i - j) == 1 ? (i < j ? 1.0 : -0.5) : 0.0;
        });
        const auto b = random_vector<double>(random, std::size_t(n));
        for (const int s : {1, 2, 3, 4, 6}) {
            const int cycles = (n + s - 1) / s;
            SolveOptions options;
            options.rtol = 1e-9;
            options.max_iterations = cycles + 1;
            const auto solved = run(where, "idr:" + std::to_string(s), matrix, b, options);
            EXPECT_EQ(solved.report.status, Status::converged) << n << " " << s;
            EXPECT_LE(solved.report.iterations, cycles) << n << " " << s;
        }
    }
}

TEST(idr, counts_cycles_of_s_plus_1_products) {
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_2d<double>(20, 1);
    const auto b = random_vector<double>(random, 400);
    for (const int s : {1, 2, 4, 8, 16}) {
        const auto solved = run(context(), "idr:" + std::to_string(s), matrix, b);
        EXPECT_EQ(solved.report.status, Status::converged);
        EXPECT_EQ(solved.report.restarts, 0);
        EXPECT_EQ(solved.report.operator_applications, 2 + (s + 1) * solved.report.iterations);
    }
}

TEST(idr, with_s_1_is_about_bicgstab) {
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_2d<double>(30, 2);
    const auto b = random_vector<double>(random, 900);
    const auto one = run(context(), "idr:1,angle=0", matrix, b);
    const auto stab = run(context(), "bicgstab", matrix, b);
    EXPECT_EQ(one.report.status, Status::converged);
    EXPECT_EQ(stab.report.status, Status::converged);
    EXPECT_LE(one.report.iterations, 2 * stab.report.iterations);
    EXPECT_LE(stab.report.iterations, 2 * one.report.iterations);
}

TEST(idr, larger_shadow_spaces_need_fewer_products) {
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_2d<double>(40, 1);
    const auto b = random_vector<double>(random, 1600);
    const auto products = [&](const std::string& solver) {
        return run(context(), solver, matrix, b).report.operator_applications;
    };
    EXPECT_LT(products("idr:8"), products("idr:1"));
    // Full GMRES needs the fewest of all.
    EXPECT_LE(products("gmres:1600"), products("idr:8"));
}

TEST(idr, smoothed_residuals_never_rise) {
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_2d<double>(25, 4);
    const auto b = random_vector<double>(random, 625);
    for (const int s : {1, 4}) {
        const auto solved = run(context(), "idr:" + std::to_string(s) + ",smoothing", matrix, b);
        EXPECT_EQ(solved.report.status, Status::converged);
        const auto& residuals = solved.report.residuals;
        for (std::size_t k = 1; k < residuals.size(); ++k) {
            EXPECT_LE(residuals[k], residuals[k - 1] * (1 + gamma<double>(4096)));
        }
    }
}

TEST(idr, seed_alone_decides_the_shadow_space) {
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_2d<double>(12, 1);
    const auto b = random_vector<double>(random, 144);
    const auto once = run(context(), "idr:4,seed=7", matrix, b);
    const auto again = run(context(), "idr:4,seed=7", matrix, b);
    const auto other = run(context(), "idr:4,seed=8", matrix, b);
    EXPECT_EQ(once.report.residuals, again.report.residuals);
    EXPECT_TRUE(same_bits(once.x, again.x));
    EXPECT_NE(once.report.residuals, other.report.residuals);
}

TEST(idr, angle_keeps_skew_matrices_going) {
    // I + a large skew-symmetric part: t^T r is small against ||t|| ||r||.
    auto random = generator();
    const CsrMatrix<double> matrix = matrix_of<double>(80, [](Index i, Index j) {
        return i == j ? 0.05 : j == i + 1 ? 1.0 + 0.01 * i : j == i - 1 ? -1.0 - 0.01 * j : 0.0;
    });
    const auto b = random_vector<double>(random, 80);
    for (const int s : {2, 4, 8}) {
        const std::string solver = "idr:" + std::to_string(s);
        const auto with = run(context(), solver, matrix, b);
        const auto without = run(context(), solver + ",angle=0", matrix, b);
        EXPECT_EQ(with.report.status, Status::converged);
        EXPECT_TRUE(without.report.status != Status::converged ||
                    without.report.iterations > with.report.iterations);
    }
}

TEST(idr, rotation_is_solved_or_ends) {
    const CsrMatrix<double> rotation = matrix_of<double>(2, [](Index i, Index j) {
        return i == j ? 0.0 : i < j ? 1.0 : -1.0;
    });
    EXPECT_EQ(run(context(), "idr:2", rotation, {1.0, 2.0}).report.status, Status::converged);
    const auto off = run(context(), "idr:1,angle=0", rotation, {1.0, 2.0});
    EXPECT_LE(off.report.iterations, 4);
}

namespace {

/// A diagonal over five decades and neighbours nearly as large on one side: the residual rises far
/// above the initial one.
CsrMatrix<double> spiky(Index n) {
    return matrix_of<double>(n, [n](Index i, Index j) {
        const double steep = std::pow(10.0, 5.0 * double(i) / n);
        return i == j ? steep : j == i + 1 ? 0.9 * steep : j == i - 1 ? -0.8 : 0.0;
    });
}

}  // namespace

TEST(idr, replaces_the_residual_after_a_spike) {
    const Context where = context();
    auto random = generator();
    const CsrMatrix<double> matrix = spiky(100);
    const auto b = random_vector<double>(random, 100);
    SolveOptions options;
    options.rtol = 1e-12;
    for (const bool smoothing : {false, true}) {
        const auto solved = run(where, smoothing ? "idr:4,smoothing" : "idr:4", matrix, b, options);
        const SolveReport& report = solved.report;
        EXPECT_EQ(report.status, Status::converged);
        const Residual truth = residual(matrix, b, solved.x);
        EXPECT_LE(truth.norm, *options.rtol * norm(b) + truth.rounding);
        // One product at the start, one after each run of the recursion, five per cycle; the others
        // belong to replacements: one each, or two with smoothing.
        const Offset replacing =
            report.operator_applications - 5 * report.iterations - 2 - report.restarts;
        EXPECT_GT(replacing, 0);
        if (smoothing) {
            EXPECT_EQ(replacing % 2, 0);
        }
    }
}

TEST(idr, replacements_do_not_depend_on_the_check_interval) {
    const Context where = context();
    auto random = generator();
    const CsrMatrix<double> matrix = spiky(100);
    const auto b = random_vector<double>(random, 100);
    for (const std::string solver : {"idr:4", "idr:4,smoothing"}) {
        for (const bool left : {false, true}) {
            for (const bool preconditioned : {false, true}) {
                SCOPED_TRACE(solver);
                const auto m = preconditioned ? inverse_diagonal(matrix) : std::vector<double>();
                SolveOptions options;
                options.rtol = 1e-12;
                options.left_preconditioning = left;
                options.check_interval = 1;
                const auto first = run(where, solver, matrix, b, options, {}, m);
                for (const int interval : {3, 16, 256}) {
                    options.check_interval = interval;
                    const auto other = run(where, solver, matrix, b, options, {}, m);
                    EXPECT_EQ(other.report.operator_applications,
                              first.report.operator_applications);
                    EXPECT_EQ(other.report.residuals, first.report.residuals);
                    EXPECT_TRUE(same_bits(other.x, first.x)) << interval;
                }
            }
        }
    }
}

}  // namespace tessera::test
