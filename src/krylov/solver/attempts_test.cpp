#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "krylov/attempts.hpp"
#include "krylov/choice/test_choice.hpp"
#include "krylov/test_systems.hpp"
#include "support/messages.hpp"
#include "tessera/precond.hpp"
#include "tessera/solver.hpp"

namespace tessera::test {

namespace {

struct Solved {
    SolveReport report;
    std::vector<double> x;
    std::vector<Attempt> attempts;
    int attempt = 0;
};

Solved solve_auto(const CsrMatrix<double>& matrix, const std::vector<double>& right,
                  const SolveOptions& options = {}) {
    const CsrMatrix<double> placed = copy_to(context(), matrix);
    const Buffer<double> b = copy_to_buffer(context(), right);
    Buffer<double> x = copy_to_buffer(context(), std::vector<double>(right.size()));
    Solver<double> solver(context(), "auto", "auto", "auto");
    solver.setup(placed);
    Solved solved;
    solved.report = solver.solve(b.view(), x.view(), options);
    solved.x = copy_to_host(context(), x);
    solved.attempts = solver.attempts();
    solved.attempt = solver.attempt();
    return solved;
}

Solved solve_auto(const CsrMatrix<double>& matrix, const SolveOptions& options = {}) {
    return solve_auto(matrix, std::vector<double>(std::size_t(matrix.rows()), 1.0), options);
}

TEST(attempts, solves_systems_of_each_kind) {
    for (const char* text : {"poisson2d:20", "elasticity3d:6", "convection3d:8", "stokes:8",
                             "kkt:300", "random_blocks:50,sizes=1-9", "circuit:10", "arrow:70"}) {
        const Solved solved = solve_auto(problem(text));
        EXPECT_EQ(solved.report.status, Status::converged) << text << solved.report.message;
        EXPECT_LE(solved.report.true_relative_residual, 1e-8) << text;
    }
}

/// The residual of cg grows to 30 times b at once: the first iteration tells, and one of exact
/// factors follows. Where it grows to 4 times b in the first 10, and no further, cg goes on for
/// longer.
TEST(attempts, a_trial_of_cg_ends_where_the_residual_grows) {
    if (context().on_gpu()) GTEST_SKIP() << "for a CPU alone";
    const Solved chain = solve_auto(problem("tridiagonal:2000"));
    EXPECT_EQ(chain.attempts.at(0).solver, "cg");
    EXPECT_EQ(chain.attempt, 1);
    EXPECT_EQ(chain.report.iterations, 2);
    const Solved shell = solve_auto(problem("shell:60"));
    EXPECT_EQ(shell.attempts.at(0).trial, 40);
    EXPECT_GE(shell.report.iterations, 40);
}

TEST(attempts, goes_on_from_the_better_x_where_the_first_attempt_ends) {
    const CsrMatrix<double> matrix = problem("kkt:3000,spread=5");
    const Solved solved = solve_auto(matrix);
    ASSERT_TRUE(solved.attempts.at(0).preconditioner.starts_with("direct"));  // Refuses.
    ASSERT_EQ(solved.attempts.at(1).solver, "minres");
    ASSERT_GE(solved.attempt, 2) << "minres should need more than its limit";
    EXPECT_EQ(solved.report.status, Status::converged) << solved.report.message;
    const Offset limit = solved.attempts[1].max_iterations;
    EXPECT_GT(solved.report.iterations, limit);
    EXPECT_EQ(Offset(solved.report.residuals.size()), solved.report.iterations + 1);
    // The second one begins at the residual that the first one left.
    EXPECT_LT(solved.report.residuals[std::size_t(limit)], 1.0);
    const Solved again = solve_auto(matrix);
    EXPECT_EQ(again.attempt, solved.attempt);
    EXPECT_EQ(again.report.residuals, solved.report.residuals);
    EXPECT_TRUE(same_bits(again.x, solved.x));
}

TEST(attempts, limits_of_the_caller_hold_for_all_attempts_together) {
    const CsrMatrix<double> matrix = problem("kkt:3000,spread=5");
    SolveOptions options;
    std::vector<Offset> seen;
    const Offset limit = choose(facts_of(matrix), "auto", "auto", "auto")[1].max_iterations;
    options.max_iterations = limit + 5;
    options.check_interval = 5;
    options.observer = [&](const Progress& progress) {
        seen.push_back(progress.iterations);
        return true;
    };
    const Solved solved = solve_auto(matrix, options);
    EXPECT_GE(solved.attempt, 2);
    EXPECT_EQ(solved.report.iterations, limit + 5);
    EXPECT_EQ(solved.report.status, Status::max_iterations);
    EXPECT_TRUE(std::ranges::is_sorted(seen));
    EXPECT_EQ(seen.back(), limit + 5);
    options.max_iterations = limit;
    EXPECT_EQ(solve_auto(matrix, options).attempt, 1) << "nothing is left for another one";
    options.observer = [](const Progress&) { return false; };
    EXPECT_EQ(solve_auto(matrix, options).report.status, Status::interrupted);
}

TEST(attempts, an_indefinite_matrix_with_a_positive_diagonal) {
    const Solved solved = solve_auto(problem("helmholtz:50,kh=1"));
    ASSERT_NE(solved.attempts.at(0).solver, "minres");
    EXPECT_GE(solved.attempt, 1);
    EXPECT_EQ(solved.report.status, Status::converged) << solved.report.message;
}

TEST(attempts, an_indefinite_matrix_with_a_preconditioner_that_was_named) {
    const CsrMatrix<double> matrix = copy_to(context(), problem("helmholtz:20"));
    const auto rows = std::size_t(matrix.rows());
    const Buffer<double> b = copy_to_buffer(context(), std::vector<double>(rows, 1.0));
    for (const char* preconditioner : {"none", "jacobi", "block_jacobi:8"}) {
        Solver<double> solver(context(), "auto", preconditioner, "auto");
        solver.setup(matrix);
        ASSERT_EQ(solver.attempts().front().solver, "cg");
        Buffer<double> x = copy_to_buffer(context(), std::vector<double>(rows));
        const SolveReport report = solver.solve(b, x);
        EXPECT_EQ(report.status, Status::converged) << preconditioner << report.message;
        EXPECT_EQ(solver.attempts().back().preconditioner, preconditioner);
    }
}

TEST(attempts, passes_over_a_setup_that_the_matrix_does_not_allow) {
    // Jacobi cannot invert a zero on the diagonal.
    const Solved solved = solve_auto(with_diagonal(problem("convection3d:18"), 5, 0));
    ASSERT_EQ(solved.attempts.at(0).preconditioner, "jacobi");
    EXPECT_GE(solved.attempt, 1);
    EXPECT_EQ(solved.report.status, Status::converged) << solved.report.message;
}

/// One of its columns is empty.
/// A constraint that is given twice makes the system singular, but b has solutions.
TEST(attempts, a_redundant_constraint) {
    auto random = generator();
    std::uniform_real_distribution<double> uniform(-1, 1);
    constexpr Index unknowns = 12, rows = unknowns + 3;
    int found_singular = 0;
    for (int trial = 0; trial < 40; ++trial) {
        double a[rows][rows] = {};
        for (Index i = 0; i < unknowns; ++i) {
            a[i][i] = 4 + uniform(random);
            for (Index j = 0; trial % 3 == 0 && j < i; ++j) a[i][j] = a[j][i] = uniform(random);
            for (Index c = unknowns; c + 1 < rows; ++c) {
                a[c][i] = a[i][c] = std::pow(uniform(random), 3);
            }
            a[rows - 1][i] = a[i][rows - 1] = a[rows - 2][i];
        }
        const CsrMatrix<double> matrix =
            matrix_of<double>(rows, [&](Index i, Index j) { return a[i][j]; });
        const auto x = random_vector<double>(random, rows);
        std::vector<double> b(rows, 0.0);
        for (Index i = 0; i < rows; ++i) {
            for (Index j = 0; j < rows; ++j) b[i] += a[i][j] * x[j];
        }
        const auto solved = solve_auto(matrix, b);
        EXPECT_TRUE(is_solved(solved.report.status)) << solved.report.message;
        b.back() += 1;  // Contradicts the other one.
        const auto contradicted = solve_auto(matrix, b);
        EXPECT_FALSE(is_solved(contradicted.report.status));
        found_singular += contradicted.report.status == Status::singular;
    }
    EXPECT_GT(found_singular, 20);
}

/// Also by later solves, until there are other values.
TEST(attempts, a_contradicted_constraint_is_found_again) {
    const auto system = [](double last) {
        return copy_to(context(), matrix_of<double>(5, [&](Index i, Index j) {
                           if (i < 3 && j < 3) return i == j ? 4.0 : 0.0;
                           if (i > 2 && j > 2) return 0.0;
                           const Index constraint = std::max(i, j), unknown = std::min(i, j);
                           return constraint == 4 && unknown == 2 ? last : 1.0 / (unknown + 3);
                       }));
    };
    const CsrMatrix<double> singular = system(0.2), regular = system(5);
    const Buffer<double> b = copy_to_buffer(context(), std::vector<double>{1, 2, 3, 4, 5});
    Solver<double> solver(context());
    solver.setup(singular);
    for (int k = 0; k < 3; ++k) {
        Buffer<double> x = copy_to_buffer(context(), std::vector<double>(5, 0));
        EXPECT_EQ(solver.solve(b, x).status, Status::singular) << k;
    }
    solver.update(regular);
    Buffer<double> x = copy_to_buffer(context(), std::vector<double>(5, 0));
    EXPECT_TRUE(is_solved(solver.solve(b, x).status));
    EXPECT_EQ(solver.attempt(), 0);
}

/// A solve of a singular matrix that ends for another reason says that reason.
TEST(attempts, other_endings_of_a_singular_matrix) {
    const CsrMatrix<double> equal_rows = matrix_of<double>(6, [](Index i, Index j) {
        const Index p = std::min(i, Index(4)), q = std::min(j, Index(4));
        return p == q ? 3.0 + p : 1.0 / (2 + p + q);
    });
    const CsrMatrix<double> singular = copy_to(context(), equal_rows);
    std::vector<double> right{1, 2, 3, 4, 5, 6};
    Solver<double> solver(context());
    solver.setup(singular);
    const auto solve = [&](const SolveOptions& options) {
        const Buffer<double> b = copy_to_buffer(context(), right);
        Buffer<double> x = copy_to_buffer(context(), std::vector<double>(right.size()));
        return solver.solve(b, x, options).status;
    };
    EXPECT_EQ(solve({}), Status::singular);
    SolveOptions no_time;
    no_time.max_seconds = 0;
    EXPECT_EQ(solve(no_time), Status::max_seconds);
    SolveOptions interrupting;
    interrupting.observer = [](const Progress&) { return false; };
    EXPECT_EQ(solve(interrupting), Status::interrupted);
    right[2] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(solve({}), Status::non_finite);
}

TEST(attempts, a_singular_matrix_is_called_so) {
    CsrMatrix<double> matrix(host(), 3, 3, 4);
    matrix.row_offsets() = copy_to_buffer(host(), std::vector<Offset>{0, 1, 2, 4});
    matrix.column_indices() = copy_to_buffer(host(), std::vector<Index>{0, 1, 0, 1});
    matrix.values() = copy_to_buffer(host(), std::vector<double>(4, 1.0));
    const Solved solved = solve_auto(matrix);
    EXPECT_EQ(solved.report.status, Status::singular);
    expect_contains(solved.report.message, "matrix is singular whatever its values");
    for (const double value : solved.x) EXPECT_TRUE(std::isfinite(value));
}

// The third column is the sum of the others, and b not among its combinations: x has elements of
// 1e15, and b - A x is 0 by chance.
TEST(attempts, residuals_that_cancel_by_chance_solve_nothing) {
    const Context device = context();
    const std::vector<std::vector<Index>> all(3, {0, 1, 2});
    const auto a =
        copy_to(device, make_csr<double>(3, 3, all, {{9, 4, 13}, {4, 2, 6}, {13, 6, 19}}));
    const Buffer<double> b = copy_to_buffer(device, std::vector<double>{-3, 2, 0});
    for (const char* preconditioner : {"auto", "direct"}) {
        Solver<double> solver(device, "auto", preconditioner);
        solver.setup(a.view());
        Buffer<double> x = copy_to_buffer(device, std::vector<double>(3, 0));
        const SolveReport report = solver.solve(b.view(), x.view());
        EXPECT_EQ(report.status, Status::singular) << preconditioner << ": " << report.message;
    }
}

/// The stiffness of a truss of `length` x 3 joints near a grid, of which the first three are held,
/// with bars between neighbours: many are mechanisms.
CsrMatrix<double> random_truss(std::mt19937_64& random, int length) {
    std::uniform_real_distribution<double> shift(0, 0.3), stiffness(1, 5);
    std::vector<std::array<double, 2>> joints;
    for (int k = 0; k < 3 * length; ++k) {
        joints.push_back({k / 3 + shift(random), k % 3 + shift(random)});
    }
    constexpr std::size_t held = 3;
    std::vector<std::map<Index, double>> rows(2 * (joints.size() - held));
    for (std::size_t p = 0; p < joints.size(); ++p) {
        for (std::size_t q = 0; q < p; ++q) {
            const double d[2] = {joints[p][0] - joints[q][0], joints[p][1] - joints[q][1]};
            const double square = d[0] * d[0] + d[1] * d[1];
            if (square >= 1.25 * 1.25) continue;
            const double factor = stiffness(random) / square;
            for (const auto& [of, to, sign] :
                 {std::tuple(p, p, 1), {q, q, 1}, {p, q, -1}, {q, p, -1}}) {
                if (of < held || to < held) continue;
                for (std::size_t e = 0; e < 4; ++e) {
                    rows[2 * (of - held) + e / 2][Index(2 * (to - held) + e % 2)] +=
                        sign * factor * d[e / 2] * d[e % 2];
                }
            }
        }
    }
    return matrix_of_rows(rows);
}

// Rounding leaves pivots of mechanisms that are not small, but x has elements of 1e16.
TEST(attempts, mechanisms_are_not_solved_to_working_accuracy) {
    const Context device = context();
    auto random = generator();
    std::normal_distribution<double> load;
    for (int run = 0; run < 400; ++run) {
        const auto a = copy_to(device, random_truss(random, 3 + run % 3));
        std::vector<double> b(std::size_t(a.rows()));
        for (double& each : b) each = load(random);
        const Buffer<double> placed = copy_to_buffer(device, b);
        Solver<double> solver(device);
        solver.setup(a.view());
        Buffer<double> x = copy_to_buffer(device, std::vector<double>(b.size()));
        const SolveReport report = solver.solve(placed.view(), x.view());
        EXPECT_FALSE(is_solved(report.status) && report.true_relative_residual > 0.5)
            << report.true_relative_residual << " in run " << run;
    }
}

TEST(attempts, later_solves_and_updates_keep_the_attempt) {
    const CsrMatrix<double> matrix = copy_to(context(), problem("kkt:3000,spread=5"));
    const Buffer<double> b =
        copy_to_buffer(context(), std::vector<double>(std::size_t(matrix.rows()), 1.0));
    Buffer<double> x = copy_to_buffer(context(), std::vector<double>(std::size_t(matrix.rows())));
    Solver<double> solver(context(), "auto", "auto", "auto");
    EXPECT_TRUE(solver.attempts().empty());
    solver.setup(matrix);
    solver.solve(b.view(), x.view());
    const int attempt = solver.attempt();
    ASSERT_GE(attempt, 2);
    solver.update(matrix);
    fill(context(), 0.0, x.view());
    const SolveReport report = solver.solve(b.view(), x.view());
    EXPECT_EQ(report.status, Status::converged) << report.message;
    EXPECT_EQ(solver.attempt(), attempt);
    solver.setup(matrix);
    EXPECT_EQ(solver.attempt(), 1);  // The first one refuses.
}

TEST(attempts, a_solve_on_the_other_side_chooses_anew) {
    const CsrMatrix<double> matrix = copy_to(context(), problem("poisson2d:20"));
    const Buffer<double> b =
        copy_to_buffer(context(), std::vector<double>(std::size_t(matrix.rows()), 1.0));
    Buffer<double> x(context(), matrix.rows());
    SolveOptions right, left;
    left.left_preconditioning = true;
    Solver<double> solver(context(), "auto", "auto");
    solver.setup(matrix);
    const std::vector<Attempt> from_right = solver.attempts();
    const auto expect_solved = [&](const SolveOptions& options) {
        fill(context(), 0.0, x.view());
        const SolveReport report = solver.solve(b.view(), x.view(), options);
        EXPECT_EQ(report.status, Status::converged) << report.message;
        const Attempt used = solver.attempts().at(std::size_t(solver.attempt()));
        if (options.left_preconditioning) {
            EXPECT_TRUE(parse_solver(used.solver)->allows_left());
        }
    };
    expect_solved(left);
    EXPECT_NE(solver.attempts(), from_right);
    solver.setup(matrix);
    EXPECT_NE(solver.attempts(), from_right) << "the next solve is expected to be like the last";
    EXPECT_NE(message_of([&] { solver.solve(b.view().first(3), x.view(), right); }), "accepted");
    EXPECT_NE(solver.attempts(), from_right) << "wrong arguments changed the solver";
    expect_solved(right);
    EXPECT_EQ(solver.attempts(), from_right);
    // A solver that is given is not replaced.
    Solver<double> given(context(), "cg", "auto");
    given.setup(matrix);
    expect_contains(message_of([&] { given.solve(b.view(), x.view(), left); }),
                    "this solver does not support left preconditioning");
    EXPECT_EQ(given.solve(b.view(), x.view(), right).status, Status::converged);
}

/// The attempts are those for the first, symmetric matrix, until they fail.
TEST(attempts, values_of_an_update_that_no_attempt_fits) {
    const CsrMatrix<double> symmetric = copy_to(context(), problem("poisson2d:50"));
    CsrMatrix<double> skew = problem("poisson2d:50");
    const CsrView<double> view = skew.view();
    for (Index i = 0; i < view.rows; ++i) {
        for (Offset k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
            const Index j = view.column_indices[k];
            skew.values().data()[k] = i == j ? 0.01 : i < j ? 1 : -1;
        }
    }
    const CsrMatrix<double> other = copy_to(context(), skew);
    const Buffer<double> b = copy_to_buffer(context(), std::vector<double>(2500, 1.0));
    Buffer<double> x(context(), 2500);
    Solver<double> solver(context(), "auto", "auto", "auto");
    solver.setup(symmetric);
    solver.update(other);
    fill(context(), 0.0, x.view());
    const SolveReport report = solver.solve(b.view(), x.view());
    EXPECT_EQ(report.status, Status::converged) << report.message;
    ASSERT_TRUE(solver.has_matrix());
    solver.update(symmetric);
    fill(context(), 0.0, x.view());
    EXPECT_EQ(solver.solve(b.view(), x.view()).status, Status::converged);
}

TEST(attempts, values_of_an_update_of_another_kind) {
    auto random = generator();
    for (const Index side : {12, 110}) {  // Conjugate gradients and multigrid.
        const CsrMatrix<double> diffusion = laplacian_2d<double>(side);
        CsrMatrix<double> convection = laplacian_2d<double>(side);
        CsrMatrix<double> shifted = laplacian_2d<double>(side);
        const CsrView<double> a = diffusion.view();
        for (Index i = 0; i < a.rows; ++i) {
            for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
                const Index distance = a.column_indices[k] - i;
                double& value = convection.values().data()[k];
                if (std::abs(distance) == 1) value = distance > 0 ? -0.2 : -1.8;
                if (distance == 0) shifted.values().data()[k] -= 0.05;
            }
        }
        const auto b = random_vector<double>(random, std::size_t(a.rows));
        const Buffer<double> right = copy_to_buffer(context(), b);
        const CsrMatrix<double> placed = copy_to(context(), diffusion);
        Solver<double> solver(context());
        solver.setup(placed);
        for (const auto& next : {std::cref(convection), std::cref(diffusion), std::cref(shifted)}) {
            const CsrMatrix<double> values = copy_to(context(), next.get());
            Buffer<double> x = copy_to_buffer(context(), std::vector<double>(b.size()));
            solver.update(values);
            const SolveReport report = solver.solve(right, x);
            EXPECT_EQ(report.status, Status::converged) << report.message;
            const Residual found = residual(next.get(), b, copy_to_host(context(), x));
            EXPECT_LE(found.norm, 1.01e-8 * norm(b) + found.rounding);
        }
    }
}

TEST(attempts, several_right_hand_sides) {
    const CsrMatrix<double> matrix = copy_to(context(), problem("kkt:3000,spread=5"));
    const Offset n = matrix.rows();
    std::vector<double> both(std::size_t(2 * n), 1.0);
    std::fill(both.begin() + n, both.end(), 0.0);  // The second one is solved at once.
    const Buffer<double> b = copy_to_buffer(context(), both);
    Buffer<double> x = copy_to_buffer(context(), std::vector<double>(both.size()));
    Solver<double> solver(context(), "auto", "auto", "auto");
    solver.setup(matrix);
    const auto reports =
        solver.solve(Vectors<const double>{b.data(), n, 2, n}, Vectors<double>{x.data(), n, 2, n});
    ASSERT_EQ(reports.size(), 2U);
    for (const SolveReport& report : reports) EXPECT_EQ(report.status, Status::converged);
    EXPECT_GT(reports[0].iterations, 300);
    EXPECT_EQ(reports[1].iterations, 0);
}

TEST(attempts, worth_another_attempt) {
    SolveReport report;
    EXPECT_FALSE(worth_another(report, 300));
    for (const Status status :
         {Status::breakdown, Status::stagnated, Status::singular_block, Status::accuracy_lost}) {
        report.status = status;
        EXPECT_TRUE(worth_another(report, 0));
    }
    for (const Status status : {Status::interrupted, Status::max_seconds, Status::non_finite}) {
        report.status = status;
        EXPECT_FALSE(worth_another(report, 300));
    }
    report.iterations = 7;
    report.status = Status::non_finite;
    EXPECT_TRUE(worth_another(report, 300)) << "what was given is finite";
    report.status = Status::max_iterations;
    EXPECT_TRUE(worth_another(report, 300)) << "a cheap attempt";
    EXPECT_FALSE(worth_another(report, 0)) << "the limit was the caller's";
}

}  // namespace

}  // namespace tessera::test
