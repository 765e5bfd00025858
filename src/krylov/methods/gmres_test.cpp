#include "krylov/test_systems.hpp"

namespace tessera::test {

namespace {

using Vector = std::vector<long double>;

long double inner(const Vector& x, const Vector& y) {
    long double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
    return sum;
}

/// Makes v orthogonal to the vectors of a basis, and appends it normalised.
void extend(std::vector<Vector>& basis, Vector v) {
    for (int pass = 0; pass < 2; ++pass) {
        for (const Vector& q : basis) {
            const long double part = inner(q, v);
            for (std::size_t i = 0; i < v.size(); ++i) v[i] -= part * q[i];
        }
    }
    const long double length = std::sqrt(inner(v, v));
    for (long double& element : v) element /= length;
    basis.push_back(std::move(v));
}

/// min ||b - A x|| over the Krylov spaces of dimension 0 .. max_s, by projection on A K.
std::vector<double> smallest_residuals(const CsrMatrix<double>& matrix,
                                       const std::vector<double>& b, int max_s) {
    const CsrView<double> a = matrix.view();
    const auto times = [&a](const Vector& x) {
        Vector y(x.size(), 0.0L);
        for (Index i = 0; i < a.rows; ++i) {
            for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
                y[std::size_t(i)] += a.values[k] * x[std::size_t(a.column_indices[k])];
            }
        }
        return y;
    };
    Vector r(b.begin(), b.end());
    std::vector<double> norms = {double(std::sqrt(inner(r, r)))};
    std::vector<Vector> krylov;
    std::vector<Vector> image;
    extend(krylov, r);
    for (int k = 0; k < max_s; ++k) {
        const Vector w = times(krylov.back());
        extend(image, w);
        const long double part = inner(image.back(), r);
        for (std::size_t i = 0; i < r.size(); ++i) r[i] -= part * image.back()[i];
        norms.push_back(double(std::sqrt(inner(r, r))));
        extend(krylov, w);
    }
    return norms;
}

}  // namespace

TEST(gmres, residuals_are_the_smallest_there_are) {
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_2d<double>(5, 2);
    const auto b = random_vector<double>(random, 25);
    const int max_s = 14;
    const auto smallest = smallest_residuals(matrix, b, max_s);
    SolveOptions options;
    options.rtol = 1e-14;
    options.max_iterations = max_s;
    const auto solved = run(context(), "gmres:25", matrix, b, options);
    ASSERT_EQ(solved.report.residuals.size(), smallest.size());
    for (std::size_t k = 0; k < smallest.size(); ++k) {
        EXPECT_NEAR(solved.report.residuals[k] * norm(b), smallest[k],
                    gamma<double>(25 * max_s) * norm(b));
        if (k > 0) {
            EXPECT_LE(solved.report.residuals[k], solved.report.residuals[k - 1]);
        }
    }
    EXPECT_NEAR(solved.report.true_relative_residual, solved.report.relative_residual,
                gamma<double>(25 * max_s));
}

TEST(gmres, x_after_k_steps_has_the_residual_it_reports) {
    const Context where = context();
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_2d<double>(8, 2);
    const auto b = random_vector<double>(random, 64);
    // Ends in the middle of a cycle, at its end, and right after it.
    for (const Offset k : {1, 4, 5, 6, 9, 10, 11}) {
        SolveOptions options;
        options.max_iterations = k;
        options.check_interval = 3;
        const auto solved = run(where, "gmres:5", matrix, b, options, {}, inverse_diagonal(matrix));
        EXPECT_EQ(solved.report.iterations, k);
        EXPECT_NEAR(solved.report.true_relative_residual, solved.report.relative_residual,
                    gamma<double>(64 * 11));
        EXPECT_EQ(solved.report.operator_applications, k + k / 5 + 2);
    }
}

TEST(gmres, full_gmres_ends_within_n_steps) {
    auto random = generator();
    for (const Index n : {1, 2, 7, 30}) {
        const CsrMatrix<double> matrix = dominant<double>(random, n);
        const auto b = random_vector<double>(random, std::size_t(n));
        SolveOptions options;
        options.rtol = 1e-13;
        const auto solved = run(context(), "gmres:100", matrix, b, options);
        EXPECT_EQ(solved.report.status, Status::converged);
        EXPECT_LE(solved.report.iterations, n);
    }
}

TEST(gmres, invariant_subspace_is_no_breakdown) {
    // b is in an invariant subspace of dimension 2, exactly.
    const CsrMatrix<double> matrix = matrix_of<double>(10, [](Index i, Index j) {
        if (i < 2 && j < 2) return i == j ? 2.0 : i < j ? 1.0 : -1.0;
        return i == j ? 5.0 : 0.0;
    });
    std::vector<double> b(10);
    b[0] = 1;
    SolveOptions options;
    options.rtol = 0;
    options.atol = 1e-15;
    const auto solved = run(context(), "gmres:10", matrix, b, options);
    EXPECT_EQ(solved.report.status, Status::converged);
    EXPECT_EQ(solved.report.iterations, 2);
}

TEST(gmres, keeps_its_basis_orthogonal_on_graded_matrices) {
    // One pass of Gram-Schmidt loses orthogonality here, and so the accuracy of the residual norm.
    auto random = generator();
    const CsrMatrix<double> matrix = matrix_of<double>(60, [](Index i, Index j) {
        const double row = std::pow(10.0, -i / 8.0);
        return i == j ? row : j == i + 1 ? 0.3 * row : 0.0;
    });
    const auto b = rounded_product(matrix, random_vector<double>(random, 60));
    SolveOptions options;
    options.rtol = 1e-14;
    const auto solved = run(context(), "gmres:60", matrix, b, options);
    EXPECT_EQ(solved.report.status, Status::converged);
    EXPECT_LE(solved.report.iterations, 60);
    EXPECT_EQ(solved.report.restarts, 0);
}

TEST(gmres, stagnates_on_the_cyclic_shift_and_says_so) {
    const Context where = context();
    const Index n = 12;
    const CsrMatrix<double> shift =
        matrix_of<double>(n, [n](Index i, Index j) { return j == (i + 1) % n ? 1.0 : 0.0; });
    std::vector<double> b(std::size_t(n), 0.0);
    b[0] = 1;
    SolveOptions options;
    options.stagnation_window = 25;
    const auto restarted = run(where, "gmres:5", shift, b, options);
    EXPECT_EQ(restarted.report.status, Status::stagnated);
    EXPECT_EQ(restarted.report.iterations, 25);
    options.stagnation_window = 0;
    options.max_iterations = 60;
    EXPECT_EQ(run(where, "gmres:5", shift, b, options).report.status, Status::max_iterations);
    const auto full = run(where, "gmres:12", shift, b, options);
    EXPECT_EQ(full.report.status, Status::converged);
    EXPECT_EQ(full.report.iterations, n);
}

TEST(gmres, singular_projection_is_a_breakdown) {
    // Nilpotent: A b = 0.
    const CsrMatrix<double> matrix =
        matrix_of<double>(4, [](Index i, Index j) { return j == i + 1 ? 1.0 : 0.0; });
    const auto solved = run(context(), "gmres:4", matrix, {1, 0, 0, 0});
    EXPECT_EQ(solved.report.status, Status::breakdown);
    EXPECT_EQ(solved.x, std::vector<double>(4));
}

}  // namespace tessera::test
