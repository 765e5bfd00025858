#include "krylov/soft_modes.hpp"

#include "krylov/test_systems.hpp"
#include "tessera/problems.hpp"
#include "tessera/solver.hpp"

namespace tessera::test {

namespace {

/// A Laplacian in a cube of side^3 nodes, whose row sums are 0 but for the first: `held`.
CsrMatrix<double> held_laplacian(Index side, double held) {
    const Index plane = side * side, rows = plane * side;
    std::vector<std::vector<Index>> pattern;
    std::vector<std::vector<double>> values;
    for (Index i = 0; i < rows; ++i) {
        std::vector<Index> columns;
        const Index x = i % side, y = i / side % side, z = i / plane;
        if (z > 0) columns.push_back(i - plane);
        if (y > 0) columns.push_back(i - side);
        if (x > 0) columns.push_back(i - 1);
        const std::size_t own = columns.size();
        columns.push_back(i);
        if (x + 1 < side) columns.push_back(i + 1);
        if (y + 1 < side) columns.push_back(i + side);
        if (z + 1 < side) columns.push_back(i + plane);
        values.emplace_back(columns.size(), -1.0)[own] =
            double(columns.size() - 1) + (i == 0 ? held : 0);
        pattern.push_back(std::move(columns));
    }
    return make_csr<double>(rows, rows, pattern, values);
}

/// A + s I.
CsrMatrix<double> on_springs(CsrMatrix<double> a, double s) {
    const CsrView<double> view = a.view();
    for (Index i = 0; i < view.rows; ++i) {
        for (Offset k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
            if (view.column_indices[k] == i) a.values().data()[k] += s;
        }
    }
    return a;
}

double largest_difference(const std::vector<double>& x, const std::vector<double>& y) {
    double largest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::abs(x[i] - y[i]));
    return largest;
}

TEST(soft_modes, the_constant_is_corrected) {
    auto random = generator();
    const CsrMatrix<double> host_matrix = held_laplacian(8, 1e-5);
    const CsrMatrix<double> a = copy_to(context(), host_matrix);
    const MatrixFacts facts = find_facts(context(), a.view());
    const auto modes = SoftModes<double>::found(context(), a.view(), facts, {});
    ASSERT_FALSE(modes.is_empty());
    const auto exact = random_vector<double>(random, 512);
    const auto b = rounded_product(host_matrix, exact);
    std::vector<double> x = exact;
    for (double& element : x) element += 0.9;
    const Buffer<double> right = copy_to_buffer(context(), b);
    Buffer<double> corrected = copy_to_buffer(context(), x);
    modes.correct(context(), a.view(), right.view(), corrected.view());
    // Rounding errors of 1^T (b - A x), with |x| <= 2, over 1^T A 1 = 1e-5.
    const double bound = gamma<double>(600) * 512 * 12 * 2 / 1e-5;
    EXPECT_LT(bound, 0.01);
    EXPECT_LE(largest_difference(copy_to_host(context(), corrected), exact), bound);
}

TEST(soft_modes, a_solution_with_a_small_residual_is_right) {
    auto random = generator();
    const CsrMatrix<double> host_matrix = held_laplacian(16, 1e-8);
    const CsrMatrix<double> a = copy_to(context(), host_matrix);
    auto exact = random_vector<double>(random, 4096);
    for (double& element : exact) element += 3;
    const auto b = rounded_product(host_matrix, exact);
    const Buffer<double> right = copy_to_buffer(context(), b);
    Buffer<double> x(context(), 4096);
    fill(context(), 0.0, x.view());
    Solver<double> solver(context());
    solver.setup(a);
    const SolveReport report = solver.solve(right, x);
    EXPECT_EQ(report.status, Status::converged) << report.message;
    // Without the constant ||A^-1|| is 1 / (2 - 2 cos(pi / 16)); b is rounded, and A^-1 1 = 1e8.
    const double rounding = 1e8 * gamma<double>(8) * 12 * 4 * 4096;
    const double bound = 2e-8 * norm(b) / 0.0384 + rounding;
    EXPECT_LT(bound, 0.1);
    EXPECT_LE(largest_difference(copy_to_host(context(), x), exact), bound);
}

TEST(soft_modes, motions_of_a_body_on_springs) {
    for (const std::string text : {"elasticity2d:5,free", "elasticity3d:4,free"}) {
        SCOPED_TRACE(text);
        const auto problem = problems::generate<double>(host(), Spec(text));
        auto random = generator();
        const CsrMatrix<double> host_matrix = on_springs(copy_to(host(), problem.matrix), 1e-7);
        const CsrMatrix<double> a = copy_to(context(), host_matrix);
        const MatrixFacts facts = find_facts(context(), a.view(), problem.coordinates);
        const auto modes =
            SoftModes<double>::found(context(), a.view(), facts, problem.coordinates);
        ASSERT_FALSE(modes.is_empty());
        // A turn about the first node, far larger than x.
        const NearNullSpace motions = rigid_body_modes(problem.coordinates);
        const auto exact = random_vector<double>(random, std::size_t(a.rows()));
        const auto b = rounded_product(host_matrix, exact);
        std::vector<double> x = exact;
        for (std::size_t i = 0; i < x.size(); ++i) {
            x[i] += 10 * motions.values[(i + 1) * std::size_t(motions.columns) - 1];
        }
        const double before = largest_difference(x, exact);
        const Buffer<double> right = copy_to_buffer(context(), b);
        Buffer<double> corrected = copy_to_buffer(context(), x);
        modes.correct(context(), a.view(), right.view(), corrected.view());
        EXPECT_LE(largest_difference(copy_to_host(context(), corrected), exact), 1e-4 * before);
    }
}

TEST(soft_modes, ordinary_matrices_have_none) {
    for (const std::string text : {"poisson3d:8", "elasticity2d:5", "poisson2d:40"}) {
        SCOPED_TRACE(text);
        const auto problem = problems::generate<double>(host(), Spec(text));
        const CsrMatrix<double> a = copy_to(context(), problem.matrix);
        const MatrixFacts facts = find_facts(context(), a.view());
        EXPECT_TRUE(SoftModes<double>::found(context(), a.view(), facts, {}).is_empty());
    }
    // What is left of row sums that are 0 is rounding error.
    const CsrMatrix<double> a = copy_to(context(), held_laplacian(6, 1e-15));
    MatrixFacts facts = find_facts(context(), a.view());
    facts.row_sums_vanish = false;
    EXPECT_TRUE(SoftModes<double>::found(context(), a.view(), facts, {}).is_empty());
}

}  // namespace

}  // namespace tessera::test
