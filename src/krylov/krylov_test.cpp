#include "krylov/test_systems.hpp"

// What every solver owes; the tests of one method's own properties are in files of their name.
namespace tessera::test {

namespace {

const std::vector<std::string> symmetric_solvers = {"cg", "fcg"};
const std::vector<std::string> general_solvers = {
    "bicgstab", "idr:1", "idr:4", "idr:4,smoothing", "idr:8,angle=0", "gmres:5", "gmres:30"};

std::vector<std::string> krylov_solvers() {
    std::vector<std::string> all = symmetric_solvers;
    all.insert(all.end(), general_solvers.begin(), general_solvers.end());
    return all;
}

std::vector<std::string> all_solvers() {
    std::vector<std::string> all = krylov_solvers();
    all.emplace_back("richardson");
    return all;
}

/// Scaled so that Richardson converges without a preconditioner: 1 on the diagonal.
template <class T>
CsrMatrix<T> easy(Index n) {
    return matrix_of<T>(n, [](Index i, Index j) {
        return i == j ? 1.0 : std::abs(i - j) == 1 ? -0.25 : 0.0;
    });
}

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
        for (const Side side : {Side::right, Side::left}) {
            options.side = side;
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
    for (const Side side : {Side::right, Side::left}) {
        SolveOptions options;
        options.side = side;
        const auto solved =
            run(context(), "richardson", matrix, b, options, {}, inverse_diagonal(matrix));
        expect_solved(solved, matrix, b, options.rtol);
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
    // M^-1 shrinks some components, so that its residual says little of the true one.
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_2d<double>(15, 1);
    const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
    SolveOptions options;
    options.side = Side::left;
    options.rtol = 1e-6;
    for (const auto& [solver, shrink] :
         {std::pair<std::string, double>("gmres:225", 1e-6), {"idr:8", 1e-2}, {"bicgstab", 1e-2}}) {
        SCOPED_TRACE(solver);
        std::vector<double> m(b.size());
        for (std::size_t i = 0; i < m.size(); ++i) m[i] = i % 3 == 0 ? shrink : 1;
        const auto solved = run(context(), solver, matrix, b, options, {}, m);
        EXPECT_EQ(solved.report.status, Status::converged) << solved.report.message;
        const Residual truth = residual(matrix, b, solved.x);
        EXPECT_LE(truth.norm, options.rtol * norm(b) + truth.rounding);
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

TEST(krylov, does_not_depend_on_the_number_of_threads) {
    if (context().on_gpu()) GTEST_SKIP() << "threads matter on the CPU only";
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_2d<double>(150);
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

TEST(krylov, obeys_max_iterations_exactly) {
    const Context where = context();
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_1d<double>(400);
    const auto b = random_vector<double>(random, 400);
    for (const std::string& solver : krylov_solvers()) {
        for (const Offset most : {0, 1, 5, 7}) {
            SCOPED_TRACE(solver + " " + std::to_string(most));
            SolveOptions options;
            options.max_iterations = most;
            options.check_interval = 4;
            const auto solved = run(where, solver, matrix, b, options);
            EXPECT_EQ(solved.report.status, Status::max_iterations);
            EXPECT_EQ(solved.report.iterations, most);
            EXPECT_EQ(Offset(solved.report.residuals.size()), most + 1);
            EXPECT_FALSE(solved.report.message.empty());
            const Residual truth = residual(matrix, b, solved.x);
            EXPECT_NEAR(solved.report.true_relative_residual * norm(b), truth.norm, truth.rounding);
        }
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

TEST(krylov, ends_at_nan_without_a_loop) {
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

TEST(krylov, singular_blocks_stop_before_the_first_iteration) {
    /// What block Jacobi is when a block could not be inverted.
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
        const SolveReport report =
            solve<double>(where, Spec::parse("idr"), a, &m, b.view(), x.view());
        EXPECT_EQ(report.status, stopped ? Status::singular_block : Status::converged);
        if (!stopped) continue;
        EXPECT_EQ(report.iterations, 0);
        EXPECT_NE(report.message.find("2 singular blocks"), std::string::npos);
        EXPECT_EQ(copy_to_host(where, x), std::vector<double>(10));
    }
}

TEST(krylov, zero_matrix_ends_with_a_status) {
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

TEST(krylov, inconsistent_singular_systems_end) {
    // The 1-D Laplacian of a free rod: constants are its kernel and its left kernel.
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
        // The mean of b, 1.1, is out of reach.
        EXPECT_GE(solved.report.true_relative_residual * norm(b),
                  norm(std::vector<double>(30, 1.1)) * (1 - gamma<double>(64)));
        EXPECT_LE(solved.report.true_relative_residual, 1);
    }
}

TEST(krylov, observer_interrupts) {
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
        EXPECT_NEAR(seen.back().target, options.rtol, options.rtol * gamma<double>(8));
        const Residual truth = residual(matrix, b, solved.x);
        EXPECT_NEAR(solved.report.true_relative_residual * norm(b), truth.norm, truth.rounding);
    }
}

TEST(krylov, max_seconds_ends) {
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_1d<double>(300);
    const auto b = random_vector<double>(random, 300);
    SolveOptions options;
    options.max_seconds = 0;
    const auto solved = run(context(), "cg", matrix, b, options);
    EXPECT_EQ(solved.report.status, Status::max_seconds);
    EXPECT_LE(solved.report.iterations, 16);
}

TEST(krylov, unreachable_tolerance_is_accuracy_lost) {
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
            expect_solved(run(where, solver, matrix, b, options), matrix, b, options.rtol);
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
        Offset peaks[2];
        for (const int run_number : {0, 1}) {
            const Context where = context();
            SolveOptions options;
            options.max_iterations = run_number == 0 ? 10 : 100;
            run(where, solver, matrix, b, options, {}, inverse_diagonal(matrix));
            peaks[run_number] = where.memory().peak;
        }
        EXPECT_EQ(peaks[0], peaks[1]);
    }
}

TEST(krylov, refuses_what_makes_no_sense) {
    const Context where = context();
    const CsrMatrix<double> matrix = easy<double>(5);
    const std::vector<double> b(5, 1.0);
    for (const char* solver : {"idr:17", "idr:0", "gmres:0", "idr:4,angel=0.5", "cg:3", "bicg"}) {
        EXPECT_THROW(run(where, solver, matrix, b), InvalidArgument) << solver;
    }
    SolveOptions options;
    options.side = Side::left;
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
