#include "base/context_state.hpp"
#include "krylov/test_systems.hpp"

// Tests that every solver must pass; tests of one method's own properties are in files of its name.
namespace tessera::test {

namespace {

template <class T>
void expect_solved(const Solved<T>& solved, const CsrMatrix<T>& matrix, const std::vector<T>& b,
                   double rtol) {
    const SolveReport& report = solved.report;
    EXPECT_EQ(report.status, Status::converged) << report.message;
    EXPECT_TRUE(report.message.empty());
    EXPECT_LE(report.true_relative_residual, rtol);
    const Residual truth = residual(matrix, b, solved.x);
    EXPECT_LE(truth.norm, rtol * norm(b) + truth.rounding);
    EXPECT_NEAR(report.true_relative_residual * norm(b), truth.norm, truth.rounding);
    ASSERT_EQ(Offset(report.residuals.size()), report.iterations + 1);
    EXPECT_LE(report.relative_residual, rtol * (1 + 1e-6));
    EXPECT_EQ(report.residuals.back(), report.relative_residual);
}

template <class T>
void solves(double rtol) {
    const Context where = context();
    auto random = generator();
    SolveOptions options;
    options.rtol = rtol;
    for (const std::string& solver : krylov_solvers()) {
        SCOPED_TRACE(solver);
        const CsrMatrix<T> symmetric = laplacian_2d<T>(20);
        const auto b = random_vector<T>(random, std::size_t(symmetric.rows()));
        expect_solved(run(where, solver, symmetric, b, options), symmetric, b, rtol);
        expect_solved(run(where, solver, symmetric, b, options, random_vector<T>(random, b.size())),
                      symmetric, b, rtol);
        expect_solved(run(where, solver, symmetric, b, options, {}, inverse_diagonal(symmetric)),
                      symmetric, b, rtol);
    }
    for (const std::string& solver : general_solvers) {
        SCOPED_TRACE(solver);
        for (const bool left : {false, true}) {
            options.left_preconditioning = left;
            const CsrMatrix<T> wind = laplacian_2d<T>(20, 3);
            const auto b = random_vector<T>(random, std::size_t(wind.rows()));
            auto weights = inverse_diagonal(wind);
            for (std::size_t i = 0; i < weights.size(); ++i) weights[i] *= T(1 + i % 7);
            expect_solved(run(where, solver, wind, b, options, {}, weights), wind, b, rtol);
            const CsrMatrix<T> heavy = dominant<T>(random, 40);
            const auto c = random_vector<T>(random, 40);
            expect_solved(run(where, solver, heavy, c, options), heavy, c, rtol);
        }
    }
}

}  // namespace

TEST(krylov, solves_double) { solves<double>(1e-10); }
TEST(krylov, solves_float) { solves<float>(1e-4); }

TEST(krylov, richardson_is_the_stationary_iteration) {
    auto random = generator();
    const CsrMatrix<double> matrix = dominant<double>(random, 30);
    const auto b = random_vector<double>(random, 30);
    for (const bool left : {false, true}) {
        SolveOptions options;
        options.left_preconditioning = left;
        const auto solved =
            run(context(), "richardson", matrix, b, options, {}, inverse_diagonal(matrix));
        expect_solved(solved, matrix, b, default_rtol<double>);
    }
    SolveOptions few;
    few.max_iterations = 3;
    const auto d = inverse_diagonal(matrix);
    std::vector<double> x(30, 0.0);
    for (int step = 0; step < 3; ++step) {
        const auto ax = product(matrix, x);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] += d[i] * (b[i] - double(ax[i]));
    }
    const auto solved = run(context(), "richardson", matrix, b, few, {}, d);
    for (std::size_t i = 0; i < x.size(); ++i) {
        EXPECT_NEAR(solved.x[i], x[i], gamma<double>(3 * 64) * norm(b));
    }
}

TEST(krylov, left_preconditioning_does_not_hide_a_residual) {
    // M^-1 shrinks some components, so that the preconditioned residual is far from the true one.
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_2d<double>(15, 1);
    const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
    SolveOptions options;
    options.left_preconditioning = true;
    options.rtol = 1e-6;
    for (const auto& [solver, shrink] :
         {std::pair<std::string, double>("gmres:225", 1e-6), {"idr:8", 1e-2}, {"bicgstab", 1e-2}}) {
        SCOPED_TRACE(solver);
        std::vector<double> m(b.size());
        for (std::size_t i = 0; i < m.size(); ++i) m[i] = i % 3 == 0 ? shrink : 1;
        const auto solved = run(context(), solver, matrix, b, options, {}, m);
        EXPECT_EQ(solved.report.status, Status::converged) << solved.report.message;
        const Residual truth = residual(matrix, b, solved.x);
        EXPECT_LE(truth.norm, *options.rtol * norm(b) + truth.rounding);
        EXPECT_GT(solved.report.restarts, 0);
    }
}

TEST(krylov, does_not_depend_on_the_check_interval) {
    const Context where = context();
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_2d<double>(15);
    const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
    for (const std::string& solver : krylov_solvers()) {
        for (const bool preconditioned : {false, true}) {
            SCOPED_TRACE(solver + (preconditioned ? ", preconditioned" : ""));
            const auto m = preconditioned ? inverse_diagonal(matrix) : std::vector<double>();
            SolveOptions options;
            options.check_interval = 1;
            const auto first = run(where, solver, matrix, b, options, {}, m);
            for (const int interval : {3, 16, 256}) {
                options.check_interval = interval;
                const auto other = run(where, solver, matrix, b, options, {}, m);
                EXPECT_EQ(other.report.iterations, first.report.iterations);
                EXPECT_EQ(other.report.operator_applications, first.report.operator_applications);
                EXPECT_EQ(other.report.residuals, first.report.residuals);
                EXPECT_TRUE(same_bits(other.x, first.x)) << interval;
            }
        }
    }
}

// Enough rows for the vector operations to run in more than one part.
TEST(krylov, does_not_depend_on_the_number_of_threads) {
    if (context().on_gpu()) GTEST_SKIP() << "threads matter on the CPU only";
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_2d<double>(300);
    const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
    SolveOptions options;
    options.max_iterations = 12;
    for (const std::string& solver : all_solvers()) {
        SCOPED_TRACE(solver);
        const auto one = run(host(1), solver, matrix, b, options, {}, inverse_diagonal(matrix));
        const auto three = run(host(3), solver, matrix, b, options, {}, inverse_diagonal(matrix));
        EXPECT_TRUE(same_bits(one.x, three.x));
        EXPECT_EQ(one.report.residuals, three.report.residuals);
    }
}

TEST(krylov, trivial_systems) {
    const Context where = context();
    auto random = generator();
    for (const std::string& solver : all_solvers()) {
        SCOPED_TRACE(solver);
        const auto none = run<double>(where, solver, matrix_of<double>(0, {}), {});
        EXPECT_EQ(none.report.status, Status::converged);
        EXPECT_EQ(none.report.iterations, 0);

        const CsrMatrix<double> single = matrix_of<double>(1, [](Index, Index) { return 0.5; });
        const auto one = run<double>(where, solver, single, {3});
        EXPECT_EQ(one.report.status, Status::converged);
        EXPECT_NEAR(one.x[0], 6, 6e-8);

        const CsrMatrix<double> matrix = easy<double>(50);
        const std::vector<double> zero(50);
        const auto nothing =
            run(where, solver, matrix, zero, {}, random_vector<double>(random, 50));
        EXPECT_EQ(nothing.report.status, Status::converged);
        EXPECT_EQ(nothing.report.iterations, 0);
        EXPECT_EQ(nothing.x, zero);
        EXPECT_EQ(nothing.report.true_relative_residual, 0);

        const auto x = random_vector<double>(random, 50);
        const auto exact = run(where, solver, matrix, rounded_product(matrix, x), {}, x);
        EXPECT_EQ(exact.report.status, Status::converged);
        EXPECT_EQ(exact.report.iterations, 0);
        EXPECT_EQ(exact.x, x);
        EXPECT_EQ(exact.report.operator_applications, 1);
    }
}

TEST(krylov, right_hand_sides_beyond_the_range_of_their_squares) {
    const Context where = context();
    auto random = generator();
    const CsrMatrix<float> matrix = laplacian_2d<float>(8);
    const auto unit = random_vector<float>(random, std::size_t(matrix.rows()));
    SolveOptions options;
    options.rtol = 1e-4;
    for (const float scale : {0x1p-100f, 0x1p-80f, 0x1p70f, 0x1p100f}) {
        SCOPED_TRACE(scale);
        std::vector<float> b = unit;
        for (float& element : b) element *= scale;
        for (const std::string& solver : krylov_solvers()) {
            SCOPED_TRACE(solver);
            expect_solved(run(where, solver, matrix, b, options), matrix, b, *options.rtol);
        }
    }
}

TEST(krylov, absolute_tolerance) {
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_2d<double>(10);
    const auto b = random_vector<double>(random, 100);
    SolveOptions options;
    options.rtol = 0;
    options.atol = 1e-3;
    const auto solved = run(context(), "idr:2", matrix, b, options);
    EXPECT_EQ(solved.report.status, Status::converged);
    EXPECT_LE(solved.report.true_relative_residual * norm(b), options.atol * (1 + 1e-12));
    EXPECT_GE(solved.report.true_relative_residual * norm(b), options.atol * 1e-4);
}

TEST(krylov, allocates_nothing_inside_iterations) {
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_1d<double>(2000);
    const auto b = random_vector<double>(random, 2000);
    for (const std::string& solver : all_solvers()) {
        SCOPED_TRACE(solver);
        Offset allocations[2];
        for (const int run_number : {0, 1}) {
            // A new Context, as reductions keep their scratch memory.
            const Context where = context().on_gpu() ? Context::cuda() : Context::cpu(2);
            SolveOptions options;
            options.max_iterations = run_number == 0 ? 10 : 100;
            run(where, solver, matrix, b, options, {}, inverse_diagonal(matrix));
            allocations[run_number] = where.state().allocations;
        }
        EXPECT_EQ(allocations[0], allocations[1]);
    }
}

TEST(krylov, rejects_what_makes_no_sense) {
    const Context where = context();
    const CsrMatrix<double> matrix = easy<double>(5);
    const std::vector<double> b(5, 1.0);
    for (const char* solver : {"idr:17", "idr:0", "gmres:0", "idr:4,angel=0.5", "cg:3", "bicg"}) {
        EXPECT_THROW(run(where, solver, matrix, b), InvalidArgument) << solver;
    }
    SolveOptions options;
    options.left_preconditioning = true;
    EXPECT_THROW(run(where, "cg", matrix, b, options), InvalidArgument);
    EXPECT_THROW(run(where, "fcg", matrix, b, options), InvalidArgument);
    options = {};
    options.rtol = -1;
    EXPECT_THROW(run(where, "cg", matrix, b, options), InvalidArgument);
    options = {};
    options.check_interval = 257;
    EXPECT_THROW(run(where, "cg", matrix, b, options), InvalidArgument);
    EXPECT_THROW(run(where, "cg", matrix, std::vector<double>(4, 1.0)), InvalidArgument);
    for (const std::string& name : solver_names()) {
        EXPECT_EQ(run(where, name, matrix, b).report.status, Status::converged) << name;
    }
}

}  // namespace tessera::test
