#include "krylov/test_systems.hpp"

namespace tessera::test {

namespace {

/// (x - y)^T A (x - y)
double energy(const CsrMatrix<double>& matrix, const std::vector<double>& x,
              const std::vector<double>& y) {
    std::vector<double> e(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) e[i] = x[i] - y[i];
    const auto ae = product(matrix, e);
    long double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += ae[i] * static_cast<long double>(e[i]);
    return double(sum);
}

}  // namespace

TEST(cg, error_falls_in_the_energy_norm) {
    const Context where = context();
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_2d<double>(6);
    const auto exact = random_vector<double>(random, std::size_t(matrix.rows()));
    const auto b = rounded_product(matrix, exact);
    for (const std::string solver : {"cg", "fcg"}) {
        double before = energy(matrix, std::vector<double>(exact.size()), exact);
        const double rounding = gamma<double>(1000) * before;
        for (Offset k = 1; k <= 12; ++k) {
            SolveOptions options;
            options.max_iterations = k;
            options.rtol = 1e-14;
            const auto solved =
                run(where, solver, matrix, b, options, {}, inverse_diagonal(matrix));
            const double now = energy(matrix, solved.x, exact);
            EXPECT_LE(now, before + rounding) << solver << " " << k;
            before = now;
        }
    }
}

TEST(cg, ends_after_as_many_iterations_as_there_are_eigenvalues) {
    auto random = generator();
    const CsrMatrix<double> matrix =
        matrix_of<double>(60, [](Index i, Index j) { return i == j ? 1.0 + i % 4 : 0.0; });
    const auto b = random_vector<double>(random, 60);
    for (const std::string solver : {"cg", "fcg"}) {
        const auto solved = run(context(), solver, matrix, b);
        EXPECT_EQ(solved.report.status, Status::converged);
        EXPECT_EQ(solved.report.iterations, 4);
    }
    const auto scaled = run(context(), "cg", matrix, b, {}, {}, inverse_diagonal(matrix));
    EXPECT_EQ(scaled.report.iterations, 1);
}

TEST(cg, flexible_and_plain_agree_for_a_fixed_preconditioner) {
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_2d<double>(16);
    const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
    std::vector<double> m = inverse_diagonal(matrix);
    for (std::size_t i = 0; i < m.size(); ++i) m[i] *= 1 + double(i % 5);
    SolveOptions options;
    options.max_iterations = 20;
    const auto plain = run(context(), "cg", matrix, b, options, {}, m);
    const auto flexible = run(context(), "fcg", matrix, b, options, {}, m);
    ASSERT_EQ(plain.report.residuals.size(), flexible.report.residuals.size());
    for (std::size_t k = 0; k < plain.report.residuals.size(); ++k) {
        EXPECT_NEAR(flexible.report.residuals[k], plain.report.residuals[k],
                    gamma<double>(4096 * 20) * plain.report.residuals[0]);
    }
}

TEST(cg, says_when_something_is_not_positive_definite) {
    const Context where = context();
    auto random = generator();
    const auto b = random_vector<double>(random, 40);
    const CsrMatrix<double> indefinite = matrix_of<double>(40, [](Index i, Index j) {
        return i != j ? 0.0 : i < 20 ? 1.0 + i : -3.0;
    });
    for (const std::string solver : {"cg", "fcg"}) {
        SCOPED_TRACE(solver);
        const auto solved = run(where, solver, indefinite, b);
        EXPECT_EQ(solved.report.status, Status::breakdown);
        EXPECT_NE(solved.report.message.find("not positive definite"), std::string::npos);
        EXPECT_LE(solved.report.iterations, 40);
        for (const double element : solved.x) EXPECT_TRUE(std::isfinite(element));
        const auto wrong =
            run(where, solver, laplacian_1d<double>(40), b, {}, {}, std::vector<double>(40, -1.0));
        EXPECT_EQ(wrong.report.status, Status::breakdown);
        EXPECT_NE(wrong.report.message.find("preconditioner"), std::string::npos);
        EXPECT_EQ(wrong.x, std::vector<double>(40));
    }
}

TEST(cg, flexible_survives_a_preconditioner_that_changes) {
    /// Scales its result by a factor that differs from one application to the next.
    class Restless final : public Operator<double> {
      public:
        explicit Restless(Index n) : n_(n) {}
        Index rows() const override { return n_; }
        Index columns() const override { return n_; }
        void apply(const Context& where, std::span<const double> x,
                   std::span<double> y) const override {
            calls_ = (calls_ + 1) % 3;
            axpby<double>(where, 1.0 + 0.5 * calls_, x, 0.0, y);
        }

      private:
        Index n_;
        mutable int calls_ = 0;
    };
    if (context().on_gpu()) GTEST_SKIP() << "a graph repeats what it recorded";
    auto random = generator();
    const Context where = host();
    const CsrMatrix<double> matrix = laplacian_2d<double>(20);
    const CsrOperator<double> a(where, matrix.view());
    const Restless m(matrix.rows());
    const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
    std::vector<double> x(b.size());
    const SolveReport plain = run(where, "cg", matrix, b).report;
    const SolveReport flexible = solve(where, "fcg", a, &m, b, x);
    EXPECT_EQ(flexible.status, Status::converged);
    EXPECT_LE(flexible.iterations, 2 * plain.iterations);
}

}  // namespace tessera::test
