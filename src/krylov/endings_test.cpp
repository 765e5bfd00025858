#include <fstream>

#include "krylov/messages.hpp"
#include "krylov/test_systems.hpp"
#include "support/messages.hpp"

// Every solver ends with a status that gives the cause, and leaves a meaningful x.
namespace tessera::test {

TEST(endings, obeys_max_iterations_exactly) {
    const Context where = context();
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_1d<double>(400);
    const auto b = random_vector<double>(random, 400);
    for (const std::string& solver : krylov_solvers()) {
        for (const Offset max_s : {0, 1, 5, 7}) {
            SCOPED_TRACE(solver + " " + std::to_string(max_s));
            SolveOptions options;
            options.max_iterations = max_s;
            options.check_interval = 4;
            const auto solved = run(where, solver, matrix, b, options);
            EXPECT_EQ(solved.report.status, Status::max_iterations);
            EXPECT_EQ(solved.report.iterations, max_s);
            EXPECT_EQ(Offset(solved.report.residuals.size()), max_s + 1);
            EXPECT_FALSE(solved.report.message.empty());
            const Residual truth = residual(matrix, b, solved.x);
            EXPECT_NEAR(solved.report.true_relative_residual * norm(b), truth.norm, truth.rounding);
        }
    }
}

TEST(endings, ends_at_nan_without_a_loop) {
    const Context where = context();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> ones(20, 1.0);
    for (const std::string& solver : all_solvers()) {
        SCOPED_TRACE(solver);
        CsrMatrix<double> matrix = easy<double>(20);
        std::vector<double> b = ones;
        b[7] = nan;
        EXPECT_EQ(run(where, solver, matrix, b).report.status, Status::non_finite);
        b[7] = std::numeric_limits<double>::infinity();
        EXPECT_EQ(run(where, solver, matrix, b).report.status, Status::non_finite);
        std::vector<double> m = ones;
        m[3] = nan;
        const auto preconditioned = run(where, solver, matrix, ones, {}, {}, m);
        EXPECT_EQ(preconditioned.report.status, Status::non_finite);
        EXPECT_LE(preconditioned.report.iterations, 1);
        EXPECT_EQ(preconditioned.x, std::vector<double>(20));
        matrix.values().data()[10] = nan;
        const auto solved = run(where, solver, matrix, ones);
        EXPECT_EQ(solved.report.status, Status::non_finite);
        EXPECT_LE(solved.report.iterations, 1);
        EXPECT_FALSE(solved.report.message.empty());
    }
}

/// The reason that is told fits the residual.
TEST(endings, a_small_residual_is_not_called_large) {
    SolveReport report;
    report.status = Status::accuracy_lost;
    const auto told = [&](double residual) {
        report.true_relative_residual = residual;
        return status_message(report, {}, 1e-8, 0);
    };
    for (const double residual : {0., 3e-14, 1e-8}) {
        EXPECT_NE(told(residual).find("its residual says nothing"), std::string::npos);
    }
    EXPECT_NE(told(2e-8).find("limits the true residual"), std::string::npos);
    EXPECT_NE(told(0.02).find("the true one did not"), std::string::npos);
}

/// A NaN of a processor has a sign, and so has the zero of "--rtol -0".
TEST(endings, numbers_of_messages_have_no_senseless_sign) {
    SolveReport report;
    report.status = Status::max_iterations;
    report.true_relative_residual = -std::numeric_limits<double>::quiet_NaN();
    const std::string message = status_message(report, {}, -0.0, 0);
    EXPECT_EQ(message.find("-nan"), std::string::npos) << message;
    EXPECT_EQ(message.find("-0"), std::string::npos) << message;
    EXPECT_NE(message.find("is nan, the target 0.00e+00"), std::string::npos) << message;
    const double unknown = std::numeric_limits<double>::quiet_NaN();  // b has NaN.
    EXPECT_EQ(status_message(report, {}, unknown, 0).find("target"), std::string::npos);
}

/// No product and so no residual shows what is in an element whose column is empty.
TEST(endings, an_x_that_is_not_finite_is_not_returned) {
    const CsrMatrix<double> matrix = make_csr<double>(2, 2, {{}, {1}}, {{}, {-2}});
    int refused = 0;
    for (const std::string& solver : all_solvers()) {
        SCOPED_TRACE(solver);
        const auto solved = run<double>(context(), solver, matrix, {-1, 2}, {}, {3, 4});
        EXPECT_TRUE(std::isfinite(solved.x[0]) && std::isfinite(solved.x[1]));
        if (solved.report.status != Status::non_finite) continue;
        EXPECT_EQ(solved.x, (std::vector<double>{3, 4}));
        ++refused;
    }
    EXPECT_GT(refused, 0);
}

TEST(endings, a_solution_beyond_the_range_is_not_converged) {
    const Context where = context();
    const auto expect_refused = [&]<class T>(T large) {
        const CsrMatrix<T> matrix = make_csr<T>(2, 2, {{0}, {1}}, {{T(0.5)}, {1}});
        for (const std::string& solver : all_solvers()) {
            SCOPED_TRACE(solver);
            for (const auto& start : {std::vector<T>{0, 0}, std::vector<T>{3, 4}}) {
                const auto solved = run<T>(where, solver, matrix, {large, 1}, {}, start);
                EXPECT_EQ(solved.report.status, Status::non_finite);
                EXPECT_EQ(solved.x, start);
                EXPECT_EQ(solved.report.true_relative_residual, 1);
            }
        }
    };
    expect_refused(1.7e308);
    expect_refused(3e38f);
}

TEST(endings, denormal_solutions_are_judged_as_they_are) {
    const Context where = context();
    // x = 10^-320 has three digits; the solvers work with a scaled b.
    const CsrMatrix<double> matrix = make_csr<double>(2, 2, {{0}, {1}}, {{1e100}, {1e100}});
    const std::vector<double> b = {1e-220, 1.7e-220};
    for (const std::string& solver : krylov_solvers()) {
        SCOPED_TRACE(solver);
        SolveOptions options;
        options.rtol = 1e-6;
        const auto lost = run(where, solver, matrix, b, options);
        EXPECT_EQ(lost.report.status, Status::accuracy_lost);
        EXPECT_GT(lost.report.true_relative_residual, 1e-6);
        options.rtol = 1e-2;
        const auto solved = run(where, solver, matrix, b, options);
        EXPECT_EQ(solved.report.status, Status::converged);
        EXPECT_EQ(solved.x, (std::vector<double>{1e-320, 1.7e-320}));
        EXPECT_EQ(solved.report.true_relative_residual, lost.report.true_relative_residual);
    }
}

TEST(endings, residuals_whose_squares_underflow_are_not_zero) {
    const CsrMatrix<double> unit = make_csr<double>(2, 2, {{0}, {1}}, {{1}, {1}});
    SolveOptions options;
    options.rtol = 0;
    options.max_iterations = 0;
    const auto solved = run<double>(context(), "cg", unit, {1, 1e-200}, options, {1, 0});
    EXPECT_EQ(solved.report.status, Status::max_iterations);
    EXPECT_NEAR(solved.report.true_relative_residual, 1e-200, 1e-215);
}

TEST(endings, left_preconditioners_that_hide_a_residual_end) {
    const CsrMatrix<double> unit = make_csr<double>(2, 2, {{0}, {1}}, {{1}, {1}});
    SolveOptions options;
    options.left_preconditioning = true;
    for (const std::string& solver : general_solvers) {
        SCOPED_TRACE(solver);
        const auto solved = run<double>(context(), solver, unit, {1, 1}, options, {}, {1, 0});
        EXPECT_EQ(solved.report.status, Status::breakdown);
        EXPECT_NE(solved.report.message.find("maps a residual"), std::string::npos);
        EXPECT_NEAR(solved.report.true_relative_residual, std::sqrt(0.5), gamma<double>(16));
    }
}

/// Restarts cannot reduce the smallest number: 0.9 times it is rounded to itself.
TEST(endings, a_denormal_residual_ends) {
    const CsrMatrix<double> matrix = make_csr<double>(2, 2, {{0}, {1}}, {{4}, {2}});
    const std::vector<double> b{std::numeric_limits<double>::denorm_min(), 2};
    SolveOptions options;
    options.rtol = 0;
    for (const std::string& solver : all_solvers()) {
        SCOPED_TRACE(solver);
        const auto solved = run<double>(context(), solver, matrix, b, options);
        EXPECT_NE(solved.report.status, Status::converged);
        EXPECT_LE(solved.report.restarts, 10);
        EXPECT_LE(solved.report.true_relative_residual,
                  parse_solver(solver)->is_stationary() ? 1 : 1e-15);
    }
}

/// A preconditioner that enlarges residuals until it has recovered four times, and then again.
TEST(endings, x_is_never_worse_than_the_start) {
    class Wrong final : public Preconditioner<double> {
      public:
        Index rows() const override { return 2; }
        Index columns() const override { return 2; }
        void apply(const Context& where, std::span<const double> r,
                   std::span<double> z) const override {
            const std::vector<double> given = copied(where, r);
            copy_from_host<double>(where, {{1e3 * given[0], -given[1]}}, z);
        }
        bool recover(const Context&, Offset) const override { return ++recoveries_ < 4; }
        Offset recoveries() const override { return recoveries_; }
        void update(const Context&, const CsrView<double>&) override {}
        std::string describe() const override { return "wrong"; }

      private:
        static std::vector<double> copied(const Context& where, std::span<const double> from) {
            std::vector<double> values(from.size());
            copy_to_host<double>(where, from, values);
            return values;
        }
        mutable Offset recoveries_ = 0;
    };
    const CsrMatrix<double> matrix = make_csr<double>(2, 2, {{0, 1}, {0, 1}}, {{2, 1}, {1, 2}});
    const Context where = host();
    const CsrOperator<double> a(where, matrix.view());
    for (const char* solver : {"cg", "fcg"}) {
        SCOPED_TRACE(solver);
        const Wrong m;
        std::vector<double> x(2);
        const SolveReport report =
            solve<double>(where, solver, a, &m, std::vector<double>{1, 0.1}, x);
        EXPECT_GE(report.recoveries, 1);
        EXPECT_LE(report.true_relative_residual, 1);
        const Residual truth = residual(matrix, {1, 0.1}, x);
        EXPECT_NEAR(report.true_relative_residual * std::hypot(1, 0.1), truth.norm, truth.rounding);
    }
}

TEST(endings, no_x_with_nan_is_converged) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    // The second column has no entry, so that no product sees the start.
    const CsrMatrix<double> singular = make_csr<double>(2, 2, {{0}, {}}, {{1}, {}});
    EXPECT_EQ(run<double>(context(), "cg", singular, {1, 0}, {}, {0, nan}).report.status,
              Status::non_finite);
    const CsrMatrix<double> broken = make_csr<double>(1, 1, {{0}}, {{nan}});
    EXPECT_EQ(run<double>(context(), "cg", broken, {0}).report.status, Status::non_finite);
}

TEST(endings, singular_blocks_stop_before_the_first_iteration) {
    /// Behaves as block Jacobi with a block that could not be inverted.
    class Broken final : public Preconditioner<double> {
      public:
        Broken(const Context& where, const std::vector<double>& d) : diagonal_(where, d) {}
        Index rows() const override { return diagonal_.rows(); }
        Index columns() const override { return diagonal_.rows(); }
        void apply(const Context& where, std::span<const double> r,
                   std::span<double> z) const override {
            diagonal_.apply(where, r, z);
        }
        void update(const Context&, const CsrView<double>&) override {}
        std::string describe() const override { return "broken"; }
        Index singular_blocks() const override { return 2; }

      private:
        Diagonal<double> diagonal_;
    };
    const Context where = context();
    const CsrMatrix<double> matrix = copy_to(where, easy<double>(10).view());
    const CsrOperator<double> a(where, matrix.view());
    std::vector<double> d(10, 1.0);
    const Buffer<double> b = copy_to_buffer(where, d);
    for (const bool stopped : {false, true}) {
        if (stopped) d[4] = std::numeric_limits<double>::quiet_NaN();
        const Broken m(where, d);
        Buffer<double> x = copy_to_buffer(where, std::vector<double>(10));
        const SolveReport report = solve<double>(where, "idr", a, &m, b.view(), x.view());
        EXPECT_EQ(report.status, stopped ? Status::singular_block : Status::converged);
        if (!stopped) continue;
        EXPECT_EQ(report.iterations, 0);
        EXPECT_NE(report.message.find("2 singular blocks"), std::string::npos);
        EXPECT_EQ(copy_to_host(where, x), std::vector<double>(10));
    }
}

TEST(endings, zero_matrix_ends_with_a_status) {
    const Context where = context();
    CsrMatrix<double> zero = matrix_of<double>(9, [](Index i, Index j) { return i == j; });
    for (double& value : zero.values().view()) value = 0;
    const std::vector<double> ones(9, 1.0);
    SolveOptions options;
    options.stagnation_window = 20;
    for (const std::string& solver : krylov_solvers()) {
        SCOPED_TRACE(solver);
        const auto solved = run(where, solver, zero, ones, options);
        EXPECT_EQ(solved.report.status, Status::breakdown);
        EXPECT_LE(solved.report.iterations, 1);
        EXPECT_FALSE(solved.report.message.empty());
    }
    EXPECT_EQ(run(where, "richardson", zero, ones, options).report.status, Status::stagnated);
}

TEST(endings, a_residual_that_grows_to_infinity_says_so) {
    const CsrMatrix<double> thrice =
        matrix_of<double>(9, [](Index i, Index j) { return i == j ? 3.0 : 0.0; });
    const std::vector<double> ones(9, 1.0);
    const SolveReport report = run(context(), "richardson", thrice, ones).report;
    EXPECT_EQ(report.status, Status::non_finite);
    expect_contains(report.message, "The residual grew beyond all bounds");
}

TEST(endings, inconsistent_singular_systems_end) {
    // The 1-D Laplacian of a free rod: constants span its kernel and its left kernel.
    const Context where = context();
    const CsrMatrix<double> rod = matrix_of<double>(30, [](Index i, Index j) {
        if (i == j) return i == 0 || i == 29 ? 1.0 : 2.0;
        return std::abs(i - j) == 1 ? -1.0 : 0.0;
    });
    std::vector<double> b(30, 1.0);
    b[3] = 4;
    SolveOptions options;
    options.max_iterations = 300;
    options.stagnation_window = 100;
    for (const std::string& solver : all_solvers()) {
        SCOPED_TRACE(solver);
        const auto solved = run(where, solver, rod, b, options);
        EXPECT_NE(solved.report.status, Status::converged);
        // The mean of b, 1.1, is outside the range of A.
        EXPECT_GE(solved.report.true_relative_residual * norm(b),
                  norm(std::vector<double>(30, 1.1)) * (1 - gamma<double>(64)));
        EXPECT_LE(solved.report.true_relative_residual, 1);
    }
}

TEST(endings, observer_interrupts) {
    const Context where = context();
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_1d<double>(300);
    const auto b = random_vector<double>(random, 300);
    for (const std::string& solver : krylov_solvers()) {
        SCOPED_TRACE(solver);
        SolveOptions options;
        options.check_interval = 2;
        std::vector<Progress> seen;
        options.observer = [&seen](const Progress& progress) {
            seen.push_back(progress);
            return progress.iterations < 6;
        };
        const auto solved = run(where, solver, matrix, b, options);
        EXPECT_EQ(solved.report.status, Status::interrupted);
        ASSERT_FALSE(seen.empty());
        EXPECT_GE(solved.report.iterations, 6);
        EXPECT_LE(solved.report.iterations, 7);
        EXPECT_EQ(seen.back().iterations, solved.report.iterations);
        EXPECT_EQ(seen.back().relative_residual, solved.report.relative_residual);
        EXPECT_NEAR(seen.back().target, default_rtol<double>,
                    default_rtol<double> * gamma<double>(8));
        const Residual truth = residual(matrix, b, solved.x);
        EXPECT_NEAR(solved.report.true_relative_residual * norm(b), truth.norm, truth.rounding);
    }
}

TEST(endings, max_seconds_ends) {
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_1d<double>(300);
    const auto b = random_vector<double>(random, 300);
    SolveOptions options;
    options.max_seconds = 0;
    const auto solved = run(context(), "cg", matrix, b, options);
    EXPECT_EQ(solved.report.status, Status::max_seconds);
    EXPECT_LE(solved.report.iterations, 16);
}

/// A start whose residual is so small that its square underflows, without a preconditioner.
template <class T>
void expect_no_crash_where_squares_underflow(T small) {
    const Context where = context();
    const auto matrix = matrix_of<T>(2, [](Index i, Index j) { return i == j ? T(1) : T(0); });
    SolveOptions options;
    options.rtol = 0;
    options.max_iterations = 5;
    const CsrMatrix<T> placed = copy_to(where, matrix.view());
    const CsrOperator<T> a(where, placed.view());
    const auto b = copy_to_buffer(where, std::vector<T>{T(1), small});
    for (const std::string& solver : all_solvers()) {
        SCOPED_TRACE(solver);
        auto x = copy_to_buffer(where, std::vector<T>{T(1), T(0)});
        const auto report = solve<T>(where, solver, a, nullptr, b.view(), x.view(), options);
        const std::vector<T> solved = copy_to_host(where, x);
        EXPECT_EQ(report.status == Status::converged, solved == (std::vector<T>{T(1), small}));
        if (report.status == Status::breakdown) {
            EXPECT_EQ(report.message.find("preconditioner is not"), std::string::npos);
        }
    }
}

TEST(endings, residuals_whose_squares_underflow) {
    expect_no_crash_where_squares_underflow<float>(1e-25f);
    expect_no_crash_where_squares_underflow<double>(1e-170);
}

TEST(endings, unreachable_tolerance_is_accuracy_lost) {
    const Context where = context();
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_2d<double>(12);
    const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
    SolveOptions options;
    options.rtol = 1e-30;
    options.stagnation_window = 300;
    for (const std::string& solver : krylov_solvers()) {
        SCOPED_TRACE(solver);
        const auto solved = run(where, solver, matrix, b, options);
        EXPECT_EQ(solved.report.status, Status::accuracy_lost) << to_string(solved.report.status);
        const Residual truth = residual(matrix, b, solved.x);
        EXPECT_LE(truth.norm, 100 * truth.rounding);
        EXPECT_FALSE(solved.report.message.empty());
    }
}

// Factors with tiny pivots give x = M^-1 u in which digits cancel: the residual grows, until
// further runs have corrected x.
TEST(endings, residuals_that_grow_by_cancellation_are_corrected) {
    if (matrix_folder().empty()) GTEST_SKIP() << "TESSERA_TEST_MATRICES is not set";
    const Context where = context();
    int found = 0;
    for (const char* name : {"nnc261", "nnc666", "lnsp3937"}) {
        const std::string path = matrix_folder() + "/" + name + ".mtx.gz";
        if (!std::ifstream(path)) continue;
        ++found;
        SCOPED_TRACE(name);
        const auto matrix = io::read_matrix<double>(host(), path);
        const auto placed = copy_to(where, matrix.view());
        const std::vector<double> b(std::size_t(matrix.rows()), 1);
        Buffer<double> x(where, matrix.rows());
        fill(where, 0.0, x.view());
        Solver<double> solver(where, "gmres:50", "ilu:8,fill=1");
        solver.setup(placed.view());
        SolveOptions options;
        options.rtol = 1e-8;
        options.max_iterations = 1000;
        const auto report = solver.solve(copy_to_buffer(where, b).view(), x.view(), options);
        EXPECT_LT(report.true_relative_residual, 0.1) << to_string(report.status);
        // As small as rounding of the products allows, componentwise.
        const auto solved = copy_to_host(where, x);
        const auto view = matrix.view();
        for (Index i = 0; i < view.rows; ++i) {
            double sum = 1, size = 1;
            for (Offset e = view.row_offsets[i]; e < view.row_offsets[i + 1]; ++e) {
                const double term = view.values[e] * solved[std::size_t(view.column_indices[e])];
                sum -= term;
                size += std::abs(term);
            }
            ASSERT_LE(std::abs(sum), 1e-10 * size) << "row " << i;
        }
    }
    if (found == 0) GTEST_SKIP() << "the folder of matrices has none of these";
}

}  // namespace tessera::test
