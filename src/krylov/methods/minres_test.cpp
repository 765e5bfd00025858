#include "krylov/test_systems.hpp"

namespace tessera::test {

namespace {

/// Symmetric with eigenvalues of both signs: a shifted Laplacian.
CsrMatrix<double> shifted_laplacian(Index side, double shift) {
    return problems::generate<double>(host(), Spec("helmholtz:" + std::to_string(side) +
                                                   ",kh=" + std::to_string(std::sqrt(shift))))
        .matrix;
}

CsrMatrix<double> saddle_point(const std::string& text) {
    return problems::generate<double>(host(), Spec(text)).matrix;
}

/// The inverse by Gauss-Jordan elimination with partial pivoting in long double, row-major.
std::vector<long double> dense_inverse(const CsrMatrix<double>& matrix) {
    const CsrView<double> a = matrix.view();
    const std::size_t n = std::size_t(a.rows);
    std::vector<std::vector<long double>> rows(n, std::vector<long double>(2 * n, 0.0L));
    for (std::size_t i = 0; i < n; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            rows[i][std::size_t(a.column_indices[k])] = a.values[k];
        }
        rows[i][n + i] = 1;
    }
    for (std::size_t k = 0; k < n; ++k) {
        std::size_t pivot = k;
        for (std::size_t i = k; i < n; ++i) {
            if (std::abs(rows[i][k]) > std::abs(rows[pivot][k])) pivot = i;
        }
        std::swap(rows[k], rows[pivot]);
        const long double scale = 1 / rows[k][k];
        for (long double& element : rows[k]) element *= scale;
        for (std::size_t i = 0; i < n; ++i) {
            const long double factor = rows[i][k];
            if (i == k || factor == 0) continue;
            for (std::size_t j = k; j < 2 * n; ++j) rows[i][j] -= factor * rows[k][j];
        }
    }
    std::vector<long double> inverse;
    for (const auto& row : rows) inverse.insert(inverse.end(), row.begin() + Offset(n), row.end());
    return inverse;
}

/// Distinct positive weights.
std::vector<double> weights(std::size_t n) {
    std::vector<double> d(n);
    for (std::size_t i = 0; i < n; ++i) d[i] = 0.5 + double(i % 7) / 4;
    return d;
}

double distance(const std::vector<double>& x, const std::vector<double>& y) {
    std::vector<double> e(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) e[i] = x[i] - y[i];
    return norm(e);
}

}  // namespace

TEST(minres, residuals_are_those_of_gmres_and_never_grow) {
    const Context where = context();
    auto random = generator();
    const CsrMatrix<double> matrix = shifted_laplacian(9, 1.3);
    const auto b = random_vector<double>(random, 81);
    SolveOptions options;
    options.max_iterations = 30;
    const auto minimal = run(where, "minres", matrix, b, options);
    const auto gmres = run(where, "gmres:40", matrix, b, options);
    ASSERT_EQ(minimal.report.residuals.size(), gmres.report.residuals.size());
    const double condition = norm(dense_inverse(matrix)) * norm(matrix.view().values_span());
    const double rounding = gamma<double>(30 * 81) * condition;
    for (std::size_t k = 0; k < minimal.report.residuals.size(); ++k) {
        // Both minimise over the same space.
        EXPECT_NEAR(minimal.report.residuals[k], gmres.report.residuals[k], rounding) << k;
        if (k > 0) {
            EXPECT_LE(minimal.report.residuals[k], minimal.report.residuals[k - 1]);
        }
    }
    EXPECT_NEAR(minimal.report.true_relative_residual, minimal.report.relative_residual,
                gamma<double>(81 * 64));
}

TEST(minres, solves_indefinite_systems) {
    const Context where = context();
    auto random = generator();
    SolveOptions options;
    options.rtol = 1e-11;
    options.max_iterations = 2000;
    for (const std::string text : {"kkt:60,spread=0.5", "qpband:60", "stokes:6", "darcy:6",
                                   "helmholtz:11", "shell:9,shift=0.8", "bordered:80,spread=1"}) {
        const CsrMatrix<double> matrix = saddle_point(text);
        const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
        const std::vector<long double> inverse = dense_inverse(matrix);
        std::vector<double> exact(b.size());
        for (std::size_t i = 0; i < b.size(); ++i) {
            long double sum = 0;
            for (std::size_t j = 0; j < b.size(); ++j) sum += inverse[i * b.size() + j] * b[j];
            exact[i] = double(sum);
        }
        for (const std::string solver : {"minres", "sqmr"}) {
            for (const bool preconditioned : {false, true}) {
                SCOPED_TRACE(solver + " " + text + (preconditioned ? ", preconditioned" : ""));
                const auto solved = run(where, solver, matrix, b, options, {},
                                        preconditioned ? weights(b.size()) : std::vector<double>());
                EXPECT_EQ(solved.report.status, Status::converged) << solved.report.message;
                const Residual truth = residual(matrix, b, solved.x);
                EXPECT_LE(truth.norm, *options.rtol * norm(b) + truth.rounding);
                EXPECT_LE(distance(solved.x, exact),
                          norm(inverse) * truth.norm + gamma<double>(8) * norm(exact));
            }
        }
    }
}

TEST(minres, the_residual_in_the_norm_of_the_preconditioner_never_grows) {
    const Context where = context();
    auto random = generator();
    const CsrMatrix<double> matrix = saddle_point("kkt:60,spread=0.5");
    const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
    const auto m = weights(b.size());
    double before = HUGE_VAL;
    for (Offset k = 0; k <= 25; ++k) {
        SolveOptions options;
        options.max_iterations = k;
        const auto solved = run(where, "minres", matrix, b, options, {}, m);
        const auto ax = product(matrix, solved.x);
        std::vector<double> r(b.size());
        for (std::size_t i = 0; i < r.size(); ++i) {
            r[i] = (b[i] - double(ax[i])) * std::sqrt(m[i]);
        }
        EXPECT_LE(norm(r), before + gamma<double>(4096) * norm(b)) << k;
        before = norm(r);
        EXPECT_NEAR(solved.report.true_relative_residual, solved.report.relative_residual,
                    gamma<double>(4096));
    }
}

TEST(minres, ends_after_as_many_iterations_as_there_are_eigenvalues) {
    auto random = generator();
    const CsrMatrix<double> matrix = matrix_of<double>(
        60, [](Index i, Index j) { return i == j ? (i % 4 < 2 ? -1.0 : 1.0) * (1 + i % 4) : 0.0; });
    const auto b = random_vector<double>(random, 60);
    for (const std::string solver : {"minres", "sqmr"}) {
        const auto solved = run(context(), solver, matrix, b);
        EXPECT_EQ(solved.report.status, Status::converged);
        EXPECT_EQ(solved.report.iterations, 4) << solver;
    }
}

TEST(minres, takes_consistent_singular_systems) {
    const CsrMatrix<double> rod = matrix_of<double>(30, [](Index i, Index j) {
        if (i == j) return i == 0 || i == 29 ? 1.0 : 2.0;
        return std::abs(i - j) == 1 ? -1.0 : 0.0;
    });
    auto random = generator();
    const auto b = rounded_product(rod, random_vector<double>(random, 30));
    const auto solved = run(context(), "minres", rod, b);
    EXPECT_EQ(solved.report.status, Status::converged) << solved.report.message;
}

/// The least-squares solution of a rod without supports, whose load is not in equilibrium.
template <class T>
void expect_least_squares() {
    const Index n = 30;
    const CsrMatrix<T> rod = matrix_of<T>(n, [](Index i, Index j) {
        if (i == j) return i == 0 || i == 29 ? 1.0 : 2.0;
        return std::abs(i - j) == 1 ? -1.0 : 0.0;
    });
    auto random = generator();
    const auto x = random_vector<T>(random, std::size_t(n));
    auto b = rounded_product(rod, x);
    for (T& element : b) element += T(0.1);
    for (const bool preconditioned : {false, true}) {
        SCOPED_TRACE(preconditioned);
        const std::vector<T> d =
            preconditioned ? std::vector<T>(std::size_t(n), T(0.5)) : std::vector<T>();
        const auto solved = run(context(), "minres", rod, b, {}, {}, d);
        EXPECT_EQ(solved.report.status, Status::least_squares);
        EXPECT_LE(solved.report.iterations, 100);
        // What remains of b is the constant. x - x* = (A^+)^2 A r, and the method ends where
        // ||A r|| is below 30 sqrt(epsilon) ||A|| ||r||, ||A|| <= 4.
        EXPECT_NEAR(solved.report.true_relative_residual, 0.1 * std::sqrt(double(n)) / norm(b),
                    1e-3);
        double mean = 0, error = 0;
        for (std::size_t i = 0; i < x.size(); ++i) mean += double(solved.x[i] - x[i]) / n;
        for (std::size_t i = 0; i < x.size(); ++i) {
            error = std::max(error, std::abs(double(solved.x[i] - x[i]) - mean));
        }
        const double inverse = 1 / (2 - 2 * std::cos(3.14159265 / n));
        const double root = std::sqrt(double(std::numeric_limits<T>::epsilon()));
        EXPECT_LE(error, inverse * inverse * 4 * 30 * root * norm(b));
    }
}

TEST(minres, ends_at_the_least_squares_solution) {
    expect_least_squares<float>();
    expect_least_squares<double>();
    // Eigenvalues 1, 2, 3 and 0.
    const CsrMatrix<double> diagonal =
        matrix_of<double>(4, [](Index i, Index j) { return i == j && i < 3 ? i + 1.0 : 0.0; });
    const auto solved = run(context(), "minres", diagonal, std::vector<double>(4, 1.0));
    EXPECT_EQ(solved.report.status, Status::least_squares);
    EXPECT_EQ(solved.report.iterations, 4);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_NEAR(solved.x[i], 1 / (i + 1.0), gamma<double>(1000));
    }
}

/// Where the start is far away, its residual hides the rest of b from ||A r|| / (||A|| ||r||).
TEST(minres, no_residual_above_b_is_called_the_smallest) {
    const CsrMatrix<double> diagonal = matrix_of<double>(2, [](Index i, Index j) {
        return i != j ? 0.0 : i == 0 ? std::ldexp(1.0, 50) : 1.0;
    });
    const std::vector<double> b(2, 1.0), start{1, 1000};
    const auto solved = run(context(), "minres", diagonal, b, {}, start);
    EXPECT_LE(solved.report.true_relative_residual, 1.01);
}

TEST(minres, says_when_the_preconditioner_is_not_positive_definite) {
    const Context where = context();
    auto random = generator();
    const CsrMatrix<double> matrix = shifted_laplacian(7, 1.3);
    const auto b = random_vector<double>(random, 49);
    const auto wrong = run(where, "minres", matrix, b, {}, {}, std::vector<double>(49, -1.0));
    EXPECT_EQ(wrong.report.status, Status::breakdown);
    EXPECT_NE(wrong.report.message.find("preconditioner is not positive"), std::string::npos);
    EXPECT_EQ(wrong.x, std::vector<double>(49));
    auto mixed = weights(49);
    for (std::size_t i = 0; i < 49; i += 3) mixed[i] *= -1;
    const auto later = run(where, "minres", matrix, b, {}, {}, mixed);
    EXPECT_EQ(later.report.status, Status::breakdown) << later.report.iterations;
    for (const double element : later.x) EXPECT_TRUE(std::isfinite(element));
    // sqmr needs symmetry only.
    const auto taken = run(where, "sqmr", matrix, b, {}, {}, mixed);
    EXPECT_EQ(taken.report.status, Status::converged) << taken.report.message;
}

TEST(minres, sqmr_says_when_it_breaks_down) {
    // A swaps the two halves: p^T A p = 0 for the first p.
    const CsrMatrix<double> swap =
        matrix_of<double>(8, [](Index i, Index j) { return std::abs(i - j) == 4 ? 1.0 : 0.0; });
    std::vector<double> b(8, 0.0);
    b[1] = 1;
    const auto solved = run(context(), "sqmr", swap, b);
    EXPECT_EQ(solved.report.status, Status::breakdown);
    EXPECT_NE(solved.report.message.find("use gmres, or minres"), std::string::npos);
    EXPECT_EQ(run(context(), "minres", swap, b).report.status, Status::converged);
}

/// The squares of M^-1 r are beyond the range.
template <class T>
void expect_sqmr_of_small_matrices(int exponent) {
    const T size = std::ldexp(T(1), exponent);
    CsrMatrix<T> matrix = easy<T>(20);
    auto random = generator();
    const std::vector<T> b = random_vector<T>(random, 20);
    const auto expected = run(context(), "sqmr", matrix, b, {}, {}, std::vector<T>(20, T(0.25)));
    EXPECT_EQ(expected.report.status, Status::converged);
    for (T& value : matrix.values().view()) value *= size;
    const auto solved =
        run(context(), "sqmr", matrix, b, {}, {}, std::vector<T>(20, T(0.25) / size));
    EXPECT_EQ(solved.report.status, Status::converged) << solved.report.message;
    EXPECT_EQ(solved.report.iterations, expected.report.iterations);
    for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(solved.x[i] * size, expected.x[i]);
}

TEST(minres, sqmr_of_small_matrices) {
    expect_sqmr_of_small_matrices<float>(-80);
    expect_sqmr_of_small_matrices<double>(-600);
}

TEST(minres, sqmr_reports_the_residual_of_its_iterate) {
    const Context where = context();
    auto random = generator();
    const CsrMatrix<double> matrix = shifted_laplacian(8, 1.3);
    const auto b = random_vector<double>(random, 64);
    for (const Offset k : {1, 2, 5, 17}) {
        SolveOptions options;
        options.max_iterations = k;
        const auto solved = run(where, "sqmr", matrix, b, options, {}, weights(64));
        EXPECT_NEAR(solved.report.true_relative_residual, solved.report.relative_residual,
                    gamma<double>(64 * 4096));
        EXPECT_EQ(solved.report.operator_applications, k + 2);
    }
}

TEST(minres, iterations_are_close_to_those_of_full_gmres) {
    const Context where = context();
    auto random = generator();
    for (const std::string text : {"helmholtz:11", "kkt:80,spread=0.3", "shell:9,shift=0.8"}) {
        SCOPED_TRACE(text);
        const CsrMatrix<double> matrix = saddle_point(text);
        const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
        const Offset best = run(where, "gmres:400", matrix, b).report.iterations;
        const Offset minimal = run(where, "minres", matrix, b).report.iterations;
        const Offset quasi = run(where, "sqmr", matrix, b).report.iterations;
        EXPECT_GE(minimal, best - 1);
        EXPECT_LE(minimal, 3 * best);
        EXPECT_GE(quasi, best - 1);
        EXPECT_LE(quasi, 3 * best);
    }
}

TEST(minres, rejects_left_preconditioning) {
    SolveOptions options;
    options.left_preconditioning = true;
    const std::vector<double> b(5, 1.0);
    EXPECT_THROW(run(context(), "minres", easy<double>(5), b, options), InvalidArgument);
    EXPECT_THROW(run(context(), "sqmr", easy<double>(5), b, options), InvalidArgument);
}

}  // namespace tessera::test
