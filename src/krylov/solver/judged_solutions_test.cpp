#include <cmath>

#include "sparse/solution_errors/test_solution_errors.hpp"
#include "tessera/problems.hpp"
#include "tessera/solver.hpp"

// What solvers call solved, by the errors of solutions.

namespace tessera::test {

namespace {

SolveReport solve_by(const char* solver, const char* preconditioner,
                     const CsrMatrix<double>& matrix, const std::vector<double>& b,
                     std::vector<double>& x, const SolveOptions& options = {}) {
    const CsrMatrix<double> a = copy_to(context(), matrix);
    const Buffer<double> b_placed = copy_to_buffer(context(), b);
    Buffer<double> x_placed = copy_to_buffer(context(), x);
    Solver<double> by(context(), solver, preconditioner, "csr");
    by.setup(a);
    const SolveReport report = by.solve(b_placed.view(), x_placed.view(), options);
    x = copy_to_host(context(), x_placed);
    return report;
}

/// Conditions x_i = 1 by a penalty, on every seventh row of a Laplacian.
CsrMatrix<double> penalised(double penalty, std::vector<double>& b) {
    const CsrMatrix<double> plain = laplacian_2d<double>(16);
    const CsrView<double> a = plain.view();
    b.assign(std::size_t(a.rows), 0.01);
    for (Index i = 0; i < a.rows; i += 7) b[std::size_t(i)] += penalty;
    return matrix_of<double>(a.rows, [&](Index i, Index j) {
        for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
            if (a.column_indices[e] != j) continue;
            return a.values[e] + (i == j && i % 7 == 0 ? penalty : 0.0);
        }
        return 0.0;
    });
}

TEST(judged_solutions, penalties_do_not_hide_the_other_rows) {
    for (const double penalty : {1e10, 1e30}) {
        std::vector<double> b;
        const CsrMatrix<double> matrix = penalised(penalty, b);
        for (const char* solver : {"cg", "minres", "gmres:200"}) {
            std::vector<double> x(b.size(), 0.0);
            const SolveReport report = solve_by(solver, "none", matrix, b, x);
            const Found found = find(matrix, b, x);
            EXPECT_NEAR(report.backward_error, found.errors.backward_error,
                        gamma<double>(matrix.rows() + 4));
            EXPECT_EQ(is_solved(report.status), found.errors.backward_error <= 1e-6)
                << solver << " " << penalty << " " << report.message;
        }
        std::vector<double> x(b.size(), 0.0);
        const SolveReport report = solve_by("auto", "auto", matrix, b, x);
        EXPECT_TRUE(is_solved(report.status)) << report.message;
        EXPECT_LE(report.backward_error, 1e-6);
    }
}

/// Where no iterations are left to reduce the other rows, the status says so, and the row.
TEST(judged_solutions, an_unbalanced_solution_is_none) {
    std::vector<double> b;
    const CsrMatrix<double> matrix = penalised(1e10, b);
    SolveOptions few;
    few.max_iterations = 1;
    std::vector<double> x(b.size(), 0.0);
    const SolveReport report = solve_by("cg", "none", matrix, b, x, few);
    EXPECT_EQ(report.status, Status::unbalanced) << report.message;
    EXPECT_LE(report.true_relative_residual, 1e-8);
    EXPECT_GT(report.backward_error, 1e-6);
    EXPECT_NE(report.message.find("row " + std::to_string(report.worst_row)), std::string::npos);
}

/// A slender cantilever: rounding leaves a residual above 1e-8 in any solution, also the exact one.
TEST(judged_solutions, a_solution_at_working_accuracy_is_one) {
    const auto problem = problems::generate<double>(host(), "cantilever2d:4,length=100");
    std::vector<double> x(problem.load.size(), 0.0);
    const SolveReport report = solve_by("auto", "auto", problem.matrix, problem.load, x);
    EXPECT_EQ(report.status, Status::rounding_limit) << report.message;
    EXPECT_GT(report.true_relative_residual, 1e-8);
    EXPECT_LE(find(problem.matrix, problem.load, x).equilibrated,
              10 * std::numeric_limits<double>::epsilon());
}

/// Upwind convection and diffusion without boundary values: the entries of each row sum to zero, or
/// of each column.
CsrMatrix<double> without_boundary_values(Index side, double convection, bool transposed) {
    const auto weight = [=](Index i, Index j) {  // The edge leads from i to j.
        const bool along = j - i == side || (j - i == 1 && j % side != 0);
        const bool against = i - j == side || (i - j == 1 && i % side != 0);
        return along ? 1.0 : against ? 1 + convection : 0.0;
    };
    return matrix_of<double>(side * side, [&](Index i, Index j) {
        if (i != j) return transposed ? -weight(j, i) : -weight(i, j);
        double sum = 0;
        for (const Index k : {i - side, i - 1, i + 1, i + side}) {
            if (k >= 0 && k < side * side) sum += weight(i, k);
        }
        return sum;
    });
}

/// Exact factors of a singular matrix solve a system with huge solutions up to rounding.
TEST(judged_solutions, huge_solutions_of_singular_systems_are_none) {
    auto random = generator();
    bool is_named = false;
    for (const Index side : {20, 30, 40}) {
        for (const bool transposed : {false, true}) {
            const auto matrix = without_boundary_values(side, 10.0 / side, transposed);
            const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
            std::vector<double> x(b.size(), 0.0);
            const SolveReport report = solve_by("auto", "auto", matrix, b, x);
            EXPECT_FALSE(is_solved(report.status)) << side << " " << report.message;
            is_named |= report.message.find("sum to zero") != std::string::npos;
            const auto exact = product(matrix, b);
            const std::vector<double> consistent(exact.begin(), exact.end());
            x.assign(b.size(), 0.0);
            const SolveReport solved = solve_by("auto", "auto", matrix, consistent, x);
            EXPECT_EQ(solved.status, Status::converged) << side << " " << solved.message;
        }
    }
    EXPECT_TRUE(is_named);
}

/// A grid that is held, and one that is not and whose load is nearly in equilibrium: elements of x
/// are huge, but smaller than 1 over the roundoff.
TEST(judged_solutions, a_part_without_equilibrium_is_not_solved) {
    constexpr Index side = 20, held = side * side;
    const auto matrix = matrix_of<double>(2 * held, [](Index i, Index j) {
        if (i / held != j / held) return 0.0;
        const Index p = i % held, q = j % held;
        const auto is_edge = [](Index a, Index b) {
            return b - a == side || (b - a == 1 && b % side != 0);
        };
        if (i != j) return is_edge(p, q) || is_edge(q, p) ? -1.0 : 0.0;
        const int neighbours =
            int(p >= side) + int(p + side < held) + int(p % side != 0) + int((p + 1) % side != 0);
        return i < held ? 4.0 : double(neighbours);
    });
    std::vector<double> b(std::size_t(2 * held), 1.0);
    for (std::size_t i = held; i < b.size(); ++i) b[i] = i % 2 == 0 ? 1 : -1;
    for (const double load : {0.0, 1e-7, 1e-6, 1e-5, 1e-4}) {
        b.back() = -1 + load;
        std::vector<double> x(b.size(), 0.0);
        const SolveReport report = solve_by("auto", "auto", matrix, b, x);
        // The best x leaves 2e-10 of a load of 1e-7: rounding of SSE4 may come near it.
        if (load == 1e-7 && report.true_relative_residual <= 1e-8) continue;
        EXPECT_EQ(is_solved(report.status), load == 0) << load << " " << report.message;
    }
}

/// Near the unit roundoff two ways to compute a residual differ; both may call x converged.
TEST(judged_solutions, a_solution_up_to_rounding_is_converged) {
    auto random = generator();
    SolveOptions options;
    int converged = 0;
    for (int k = 0; k < 300; ++k) {
        options.rtol = k % 3 * 1e-16;
        const CsrMatrix<double> matrix = dominant<double>(random, 4 + k % 9);
        const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
        if (run<double>(context(), "gmres:20", matrix, b, options).report.status !=
            Status::converged) {
            continue;
        }
        ++converged;
        std::vector<double> x(b.size(), 0.0);
        const SolveReport report = solve_by("gmres:20", "none", matrix, b, x, options);
        EXPECT_TRUE(is_solved(report.status)) << report.message;
    }
    EXPECT_GT(converged, 10);
}

/// b - A x where A is the unit matrix; b, too, has elements whose squares leave the range.
template <class T>
void expect_norms_beyond_squares() {
    const auto unit = matrix_of<T>(2, [](Index i, Index j) { return i == j ? T(1) : T(0); });
    const int far = std::numeric_limits<T>::max_exponent * 3 / 4;
    for (const int exponent : {far, -far}) {
        const auto size = T(std::ldexp(1.0, exponent));
        const SolutionErrors large_x = find(unit, {T(3), T(4)}, {3 * size, 4 * size}).errors;
        const double residual = exponent > 0 ? std::ldexp(5.0, exponent) : 5;
        EXPECT_NEAR(large_x.residual / residual, 1, gamma<T>(8));
        EXPECT_NEAR(large_x.right_hand_side, 5, 5 * gamma<T>(8));
        const SolutionErrors large_b = find(unit, {3 * size, 4 * size}, {T(0), T(0)}).errors;
        EXPECT_NEAR(large_b.residual / std::ldexp(5.0, exponent), 1, gamma<T>(8));
        EXPECT_EQ(large_b.residual, large_b.right_hand_side);
    }
    // The sum of the absolute terms of a row leaves the range.
    const auto mixed = matrix_of<T>(2, [](Index, Index j) { return j == 0 ? T(1) : T(0.75); });
    for (const int exponent :
         {std::numeric_limits<T>::max_exponent - 1, std::numeric_limits<T>::min_exponent + 1}) {
        const auto size = T(std::ldexp(1.0, exponent));
        const CsrMatrix<T> a = copy_to(context(), mixed);
        const Buffer<T> b = copy_to_buffer(context(), std::vector<T>(2, size / 4)),
                        x = copy_to_buffer(context(), std::vector<T>{size, -size});
        const auto found = equilibrated_errors<T>(context(), a.view(), b.view(), x.view());
        EXPECT_EQ(found.error, 0);
        EXPECT_GT(found.growth, 1);
        EXPECT_LT(found.growth, 16);
    }
}

TEST(judged_solutions, norms_beyond_the_squares_of_the_type) {
    expect_norms_beyond_squares<float>();
    expect_norms_beyond_squares<double>();
}

/// Where A is singular and b not in its range, x can grow until its backward error vanishes.
TEST(judged_solutions, a_singular_system_is_not_solved) {
    const Index n = 40;
    const CsrMatrix<double> free = matrix_of<double>(n, [](Index i, Index j) {
        if (i != j) return std::abs(i - j) == 1 ? -1.0 : 0.0;
        return i == 0 || i == 39 ? 1.0 : 2.0;
    });
    for (const double load : {1.0, 1e-5}) {
        std::vector<double> b(std::size_t(n), load);
        b.front() += 1;
        b.back() -= 1;
        for (const char* solver : {"auto", "gmres:50", "minres", "sqmr", "bicgstab"}) {
            std::vector<double> x(b.size(), 0.0);
            const SolveReport report = solve_by(solver, "none", free, b, x);
            const std::string what = std::string(solver) + " " + report.message;
            if (solver == std::string("auto") && load < 1e-3) {  // It finds the constant.
                EXPECT_EQ(report.status, Status::converged) << what;
                EXPECT_NEAR(report.null_space_part, load * std::sqrt(n) / norm(b), 1e-12);
                continue;
            }
            EXPECT_FALSE(is_solved(report.status)) << what;
        }
    }
}

}  // namespace

}  // namespace tessera::test
