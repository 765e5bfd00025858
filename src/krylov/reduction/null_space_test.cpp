#include "krylov/null_space.hpp"

#include "krylov/test_systems.hpp"
#include "tessera/problems.hpp"
#include "tessera/solver.hpp"

namespace tessera::test {

namespace {

/// A Laplacian without boundary values.
CsrMatrix<double> free_laplacian(Index side) {
    CsrMatrix<double> matrix = laplacian_2d<double>(side);
    const CsrView<double> view = matrix.view();
    for (Index i = 0; i < view.rows; ++i) {
        const auto first = view.row_offsets[i], end = view.row_offsets[i + 1];
        for (Offset k = first; k < end; ++k) {
            if (view.column_indices[k] == i) {
                matrix.values().data()[k] = double(end - first - 1);
            }
        }
    }
    return matrix;
}

struct Ended {
    SolveReport report;
    std::vector<double> x;
};

Ended solve_with(Solver<double>& solver, const CsrMatrix<double>& matrix,
                 const std::vector<double>& b) {
    const CsrMatrix<double> a = copy_to(context(), matrix);
    const Buffer<double> right = copy_to_buffer(context(), b);
    Buffer<double> x = copy_to_buffer(context(), std::vector<double>(b.size()));
    solver.setup(a);
    SolveReport report = solver.solve(right, x);
    return {std::move(report), copy_to_host(context(), x)};
}

double mean(const std::vector<double>& v) {
    double sum = 0;
    for (const double element : v) sum += element;
    return sum / double(v.size());
}

TEST(null_space, the_constant_is_found_and_left_out) {
    auto random = generator();
    const CsrMatrix<double> matrix = free_laplacian(20);
    const auto exact = random_vector<double>(random, 400);
    const auto balanced = rounded_product(matrix, exact);
    for (const double imbalance : {0.0, 1e-7, 1e-4, 0.5}) {
        SCOPED_TRACE(imbalance);
        std::vector<double> b = balanced;
        for (double& element : b) element += imbalance;
        Solver<double> solver(context());
        const Ended ended = solve_with(solver, matrix, b);
        EXPECT_EQ(ended.report.status, imbalance > 0.1 ? Status::least_squares : Status::converged);
        const double part = imbalance * 20 / norm(b);
        EXPECT_NEAR(ended.report.null_space_part, part, gamma<double>(4000));
        EXPECT_LE(std::abs(mean(ended.x)), gamma<double>(4000) * norm(ended.x));
        EXPECT_LT(ended.report.iterations, 100);
        // ||x - x*|| <= rtol ||b|| / lambda_2.
        const double second = 2 - 2 * std::cos(3.14159265 / 20), shift = mean(exact);
        for (std::size_t i = 0; i < exact.size(); ++i) {
            EXPECT_NEAR(ended.x[i], exact[i] - shift, 1.01e-8 * norm(b) / second);
        }
    }
}

TEST(null_space, right_hand_sides_whose_squares_leave_the_range) {
    auto random = generator();
    const CsrMatrix<double> matrix = free_laplacian(20);
    const auto b = rounded_product(matrix, random_vector<double>(random, 400));
    Solver<double> solver(context());
    const Ended usual = solve_with(solver, matrix, b);
    for (const int exponent : {-900, -600, 600, 900}) {
        SCOPED_TRACE(exponent);
        std::vector<double> scaled = b;
        for (double& element : scaled) element = std::ldexp(element, exponent);
        const Ended ended = solve_with(solver, matrix, scaled);
        EXPECT_EQ(ended.report.status, Status::converged);
        // Twice ||x - x*|| <= rtol ||b|| / lambda_2.
        const double second = 2 - 2 * std::cos(3.14159265 / 20);
        for (std::size_t i = 0; i < b.size(); ++i) {
            EXPECT_NEAR(std::ldexp(ended.x[i], -exponent), usual.x[i], 2.02e-8 * norm(b) / second);
        }
    }
}

TEST(null_space, a_right_hand_side_of_constants_alone) {
    Solver<double> solver(context());
    const Ended ended = solve_with(solver, free_laplacian(10), std::vector<double>(100, 3.0));
    EXPECT_EQ(ended.report.status, Status::least_squares);
    EXPECT_EQ(ended.x, std::vector<double>(100));
}

TEST(null_space, motions_of_a_free_body) {
    auto random = generator();
    for (const std::string text : {"elasticity2d:5,free", "elasticity3d:4,free"}) {
        SCOPED_TRACE(text);
        const auto problem = problems::generate<double>(host(), Spec(text));
        const CsrMatrix<double> a = copy_to(context(), problem.matrix);
        const MatrixFacts facts = find_facts(context(), a.view(), problem.coordinates);
        EXPECT_TRUE(facts.row_sums_vanish);
        const int dimensions = problem.coordinates.dimensions;
        EXPECT_EQ(NullSpace<double>::found(context(), a.view(), facts, {}).vectors(), dimensions);
        EXPECT_EQ(
            NullSpace<double>::found(context(), a.view(), facts, problem.coordinates).vectors(),
            dimensions == 2 ? 3 : 6);
        // A weight, which nothing holds.
        Solver<double> solver(context());
        solver.use_coordinates(problem.coordinates);
        std::vector<double> b = random_vector<double>(random, std::size_t(a.rows()));
        const Ended ended = solve_with(solver, problem.matrix, b);
        EXPECT_EQ(ended.report.status, Status::least_squares);
        // What is left out is all of the residual.
        const double size = residual(problem.matrix, b, ended.x).norm / norm(b);
        EXPECT_NEAR(size, ended.report.null_space_part, 1e-7);
    }
}

TEST(null_space, vectors_of_a_caller) {
    auto random = generator();
    const CsrMatrix<double> matrix = free_laplacian(12);
    auto b = random_vector<double>(random, 144);
    const double size = norm(b), part = std::abs(mean(b)) * 12 / size;
    Solver<double> named(context(), "cg", "jacobi");
    named.use_null_space(translations(144, 1));
    const Ended ended = solve_with(named, matrix, b);
    EXPECT_EQ(ended.report.status, Status::converged) << ended.report.message;
    EXPECT_NEAR(ended.report.null_space_part, part, gamma<double>(4000));
    EXPECT_NEAR(residual(matrix, b, ended.x).norm / size, part, 1e-8);
    // The constant twice is the constant once.
    named.use_null_space(NearNullSpace{2, std::vector<double>(288, 1.0)});
    EXPECT_NEAR(solve_with(named, matrix, b).report.null_space_part, part, gamma<double>(4000));
    named.use_null_space(translations(144, 1));
    EXPECT_THROW(solve_with(named, laplacian_2d<double>(12), b), InvalidArgument);
    named.use_null_space(translations(143, 1));
    EXPECT_THROW(solve_with(named, matrix, b), InvalidArgument);
}

/// `factor` times a matrix, with a part of two rows after row `before` in place of one: `weight`
/// times (1, -1; -1, 1), or two rows without entries.
CsrMatrix<double> with_part(const CsrMatrix<double>& matrix, Index before, double factor,
                            double weight) {
    const CsrView<double> view = matrix.view();
    std::vector<std::vector<Index>> pattern;
    std::vector<std::vector<double>> values;
    for (Index i = 0; i < view.rows; ++i) {
        std::vector<Index>& row = pattern.emplace_back();
        std::vector<double>& numbers = values.emplace_back();
        for (Offset k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
            const Index j = view.column_indices[k];
            row.push_back(j + (j > before ? 2 : 0));
            numbers.push_back(factor * view.values[k]);
        }
        if (i != before) continue;
        for (const double sign : {1.0, -1.0}) {
            pattern.emplace_back();
            values.emplace_back();
            if (weight == 0) continue;
            pattern.back() = {before + 1, before + 2};
            values.back() = {sign * weight, -sign * weight};
        }
    }
    return make_csr(view.rows + 2, view.columns + 2, pattern, values);
}

/// Zeros of b in rows without nonzeros stay zeros.
TEST(null_space, rows_without_nonzeros) {
    auto random = generator();
    const CsrMatrix<double> matrix = with_part(free_laplacian(12), 50, 1, 0);
    for (const double imbalance : {0.0, 1e-7}) {
        auto b = rounded_product(matrix, random_vector<double>(random, 146));
        for (double& element : b) element += imbalance;
        b[51] = b[52] = 0;
        Solver<double> automatic(context()), named(context(), "cg", "none");
        named.use_null_space(translations(146, 1));
        for (Solver<double>* const solver : {&automatic, &named}) {
            const Ended ended = solve_with(*solver, matrix, b);
            EXPECT_EQ(ended.report.status, Status::converged) << ended.report.message;
            EXPECT_NEAR(ended.report.null_space_part, imbalance * 12 / norm(b), 1e-14);
        }
    }
}

/// A part of the graph whose rows are small beside the rounding errors of the others.
TEST(null_space, parts_of_other_sizes) {
    auto random = generator();
    const CsrMatrix<double> matrix = with_part(free_laplacian(12), 50, 1e4, 1e-8);
    const auto b = rounded_product(matrix, random_vector<double>(random, 146));
    Solver<double> solver(context());
    const Ended ended = solve_with(solver, matrix, b);
    EXPECT_EQ(ended.report.status, Status::converged) << ended.report.message;
}

/// Rows divided by volumes, where the reduction also scales: an indefinite diagonal, rows of
/// other sizes.
TEST(null_space, rows_divided_by_volumes_and_scaled) {
    auto random = generator();
    CsrMatrix<double> matrix = with_part(with_part(free_laplacian(12), 50, 1, 1e-6), 70, 1, 0);
    const CsrView<double> view = matrix.view();
    for (Index i = 0; i < view.rows; ++i) {
        for (Offset k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
            matrix.values().data()[k] /= 1 + i * i;
        }
    }
    const auto b = rounded_product(matrix, random_vector<double>(random, 148));
    Solver<double> solver(context());
    const Ended ended = solve_with(solver, matrix, b);
    EXPECT_EQ(ended.report.status, Status::converged) << ended.report.message;
    EXPECT_LT(ended.report.null_space_part, 1e-13);
}

/// What solvers add of the null space may be huge: the report is of x without it.
TEST(null_space, the_report_is_of_x_without_it) {
    auto random = generator();
    CsrMatrix<double> matrix = free_laplacian(6);
    const CsrView<double> view = matrix.view();
    for (Index i = 0; i < view.rows; ++i) {  // Weights whose sums are rounded.
        double sum = 0;
        Offset diagonal = 0;
        for (Offset k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
            const Index j = view.column_indices[k];
            if (i == j) diagonal = k;
            if (i == j) continue;
            matrix.values().data()[k] = -1.0 / (1 + i * j % 7);
            sum -= view.values[k];
        }
        matrix.values().data()[diagonal] = sum;
    }
    const CsrMatrix<double> a = copy_to(context(), matrix);
    for (const char* const name : {"bicgstab", "gmres:5", "idr:2", "cg"}) {
        for (const double rtol : {0.0, 1e-15, 1e-8}) {
            for (int trial = 0; trial < 10; ++trial) {
                SCOPED_TRACE(std::string(name) + ", rtol " + std::to_string(rtol));
                const auto b = rounded_product(matrix, random_vector<double>(random, 36));
                const double start = trial % 2 == 0 ? 0 : 1e11;
                const Buffer<double> right = copy_to_buffer(context(), b);
                Buffer<double> x = copy_to_buffer(context(), std::vector<double>(36, start));
                Solver<double> solver(context(), name, "block_jacobi:4");
                solver.use_null_space(translations(36, 1));
                solver.setup(a);
                SolveOptions options;
                options.rtol = rtol;
                const SolveReport report = solver.solve(right, x, options);
                const double reached = residual(matrix, b, copy_to_host(context(), x)).norm;
                EXPECT_LE(reached, (1.1 * report.true_relative_residual + 1e-14) * norm(b));
                EXPECT_TRUE(is_solved(report.status) || rtol < 1e-8) << report.message;
            }
        }
    }
}

TEST(null_space, rows_divided_by_volumes) {
    auto random = generator();
    const CsrMatrix<double> symmetric = free_laplacian(20);
    std::vector<double> volumes(400);
    for (std::size_t i = 0; i < volumes.size(); ++i) volumes[i] = std::pow(10.0, double(i % 4));
    CsrMatrix<double> divided = free_laplacian(20);
    for (Index i = 0; i < 400; ++i) {
        for (Offset k = divided.row_offsets().data()[i]; k < divided.row_offsets().data()[i + 1];
             ++k) {
            divided.values().data()[k] /= volumes[std::size_t(i)];
        }
    }
    auto b = rounded_product(symmetric, random_vector<double>(random, 400));
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = b[i] / volumes[i];
    const double size = norm(b);
    for (double& element : b) element += 1e-6 * size;
    Solver<double> solver(context());
    const Ended ended = solve_with(solver, divided, b);
    EXPECT_EQ(ended.report.status, Status::converged) << ended.report.message;
    EXPECT_GT(ended.report.null_space_part, 1e-7);
    EXPECT_NEAR(residual(divided, b, ended.x).norm / norm(b), ended.report.null_space_part,
                1.01e-8);
    EXPECT_LE(std::abs(mean(ended.x)), gamma<double>(4000) * norm(ended.x));
}

TEST(null_space, a_regular_matrix_has_none) {
    const CsrMatrix<double> a = copy_to(context(), laplacian_2d<double>(12));
    const MatrixFacts facts = find_facts(context(), a.view());
    EXPECT_FALSE(facts.row_sums_vanish);
    EXPECT_EQ(NullSpace<double>::found(context(), a.view(), facts, {}).vectors(), 0);
}

}  // namespace

}  // namespace tessera::test
