#include "tessera/solution_errors.hpp"

#include <array>
#include <cmath>

#include "base/find_csr_entry.hpp"
#include "krylov/test_systems.hpp"
#include "tessera/detail/accurate_residual.hpp"
#include "tessera/detail/equilibrated_errors.hpp"
#include "tessera/problems.hpp"
#include "tessera/solver.hpp"

namespace tessera::test {

namespace {

struct Found {
    SolutionErrors errors;
    double equilibrated;
};

template <class T>
Found find(const CsrMatrix<T>& matrix, const std::vector<T>& b, const std::vector<T>& x) {
    const CsrMatrix<T> a = copy_to(context(), matrix);
    const Buffer<T> b_placed = copy_to_buffer(context(), b),
                    x_placed = copy_to_buffer(context(), x);
    return {solution_errors<T>(context(), a.view(), b_placed.view(), x_placed.view()),
            equilibrated_errors<T>(context(), a.view(), b_placed.view(), x_placed.view()).error};
}

/// b - A x in long double.
template <class T>
std::vector<long double> exact_residual(const CsrMatrix<T>& matrix, const std::vector<T>& b,
                                        const std::vector<T>& x) {
    std::vector<long double> r = product(matrix, x);
    for (std::size_t i = 0; i < r.size(); ++i) r[i] = static_cast<long double>(b[i]) - r[i];
    return r;
}

template <class T>
void expect_errors_of_rows() {
    auto random = generator();
    const Index n = 40;
    const CsrMatrix<T> matrix = dominant<T>(random, n);
    const auto x = random_vector<T>(random, std::size_t(n));
    auto b = random_vector<T>(random, std::size_t(n));
    const auto r = exact_residual(matrix, b, x);
    const auto terms = product(matrix, x, true);
    long double largest = 0, square = 0;
    Index row = -1;
    for (Index i = 0; i < n; ++i) {
        const auto k = std::size_t(i);
        const long double error = std::abs(r[k]) / (terms[k] + std::abs(b[k]));
        square += r[k] * r[k];
        if (error > largest) {
            largest = error;
            row = i;
        }
    }
    const Found found = find(matrix, b, x);
    const double bound = gamma<double>(4 * n) / double(largest);
    EXPECT_NEAR(found.errors.backward_error, double(largest), bound);
    EXPECT_EQ(found.errors.row, row);
    EXPECT_NEAR(found.errors.residual, double(std::sqrt(square)),
                gamma<T>(n + 2) * double(std::sqrt(square)) + bound);
    EXPECT_GT(found.equilibrated, 0);
    EXPECT_LE(found.equilibrated, 1);
}

TEST(solution_errors, are_those_of_the_worst_row) {
    expect_errors_of_rows<float>();
    expect_errors_of_rows<double>();
}

TEST(solution_errors, an_exact_solution_has_none) {
    const CsrMatrix<double> matrix = laplacian_1d<double>(50);
    std::vector<double> b(50, 0.0);
    b.front() = b.back() = 1;
    const Found found = find(matrix, b, std::vector<double>(50, 1.0));
    EXPECT_EQ(found.errors.backward_error, 0);
    EXPECT_EQ(found.errors.row, -1);
    EXPECT_EQ(found.errors.residual, 0);
    EXPECT_EQ(found.equilibrated, 0);
}

/// Products of whole numbers, whose sum long double holds exactly and double does not.
TEST(solution_errors, long_rows_are_summed_with_compensation) {
    auto random = generator();
    std::uniform_int_distribution<Offset> whole(1, 1 << 25);
    const Index n = 4001;
    std::vector<double> values(4001), x(4001);
    for (double& each : values) each = double(whole(random));
    for (double& each : x) each = double(whole(random));
    const CsrMatrix<double> matrix = matrix_of<double>(n, [&](Index i, Index j) {
        return i == 0 ? values[std::size_t(j)] : i == j ? 1.0 : 0.0;
    });
    std::vector<double> b = x;
    b[0] = double(product(matrix, x)[0]) + 2048;
    const long double r = exact_residual(matrix, b, x)[0];
    ASSERT_NE(r, 0);
    EXPECT_EQ(find(matrix, b, x).errors.residual, double(std::abs(r)));
}

/// Rows whose sum vanishes but for the last digits.
struct CancellingSystem {
    CsrMatrix<double> matrix;
    std::vector<double> b, x;

    explicit CancellingSystem(Index n) : x(static_cast<std::size_t>(n)) {
        auto random = generator();
        std::uniform_int_distribution<Offset> whole(1, 1 << 25);
        std::vector<double> values(std::size_t(n) * std::size_t(n));
        for (double& each : values) each = double(whole(random));
        for (double& each : x) each = double(whole(random));
        matrix =
            matrix_of<double>(n, [&](Index i, Index j) { return values[std::size_t(i * n + j)]; });
        for (const auto sum : product(matrix, x)) b.push_back(double(sum) + 64);
    }
};

TEST(solution_errors, accurate_residuals_are_those_of_twice_the_precision) {
    const CancellingSystem system(40);
    const Context device = context();
    const CsrMatrix<double> a = copy_to(device, system.matrix.view());
    const Buffer<double> b = copy_to_buffer(device, system.b), x = copy_to_buffer(device, system.x);
    const auto found = accurate_residual<double>(device, a.view(), b.view(), x.view());
    const auto exact = exact_residual(system.matrix, system.b, system.x);
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], double(exact[i]));
}

TEST(solution_errors, rounding_errors_above_the_tolerance_are_compensated) {
    for (const Index n : {3, 40}) {
        const CancellingSystem system(n);
        const Context device = context();
        const CsrMatrix<double> a = copy_to(device, system.matrix.view());
        const Buffer<double> b = copy_to_buffer(device, system.b),
                             x = copy_to_buffer(device, system.x);
        const double exact = norm(exact_residual(system.matrix, system.b, system.x));
        for (const double tolerance : {0.0, 1e-16, 1e-14, 1e-12, 1.0}) {
            const double found =
                solution_errors<double>(device, a.view(), b.view(), x.view(), tolerance).residual;
            // The estimate of a sum's error is its bound over the root of the number of entries.
            EXPECT_NEAR(
                found, exact,
                gamma<double>(n + 4) * exact + tolerance / 100 * std::sqrt(n) * norm(system.b));
        }
    }
}

/// Sums are compensated where the squares of b leave the range, too, and are no solution where they
/// leave it themselves.
TEST(solution_errors, sums_near_the_end_of_the_range) {
    const double tolerance = 1e-16;
    const auto measured = [&](const CsrMatrix<double>& matrix, const std::vector<double>& right,
                              const std::vector<double>& solution) {
        const CsrMatrix<double> a = copy_to(context(), matrix);
        const Buffer<double> b = copy_to_buffer(context(), right),
                             x = copy_to_buffer(context(), solution);
        return solution_errors<double>(context(), a.view(), b.view(), x.view(), tolerance);
    };
    CancellingSystem system(40);
    const SolutionErrors usual = measured(system.matrix, system.b, system.x);
    for (double& value : system.matrix.values().view()) value = std::ldexp(value, 600);
    for (double& value : system.b) value = std::ldexp(value, 600);
    const SolutionErrors large = measured(system.matrix, system.b, system.x);
    EXPECT_EQ(large.residual, std::ldexp(usual.residual, 600));
    EXPECT_EQ(large.backward_error, usual.backward_error);
    const auto scales = matrix_of<double>(2, [](Index i, Index j) {
        return i != j ? 0 : i == 0 ? 1e200 : 1;
    });
    const SolutionErrors beyond = measured(scales, {1e200, 1}, {1e200, 1});
    EXPECT_FALSE(beyond.backward_error <= 1) << beyond.backward_error;
    EXPECT_FALSE(std::isfinite(beyond.residual)) << beyond.residual;
}

/// Many threads share the largest entries of columns, which one or two threads measure alone.
TEST(solution_errors, are_the_same_with_any_number_of_threads) {
    const CsrMatrix<double> matrix =
        problems::generate<double>(Context::cpu(), Spec("diffusion3d:45")).matrix;
    ASSERT_GT(matrix.nonzeros(), 500'000);
    auto random = generator();
    const auto x = random_vector<double>(random, std::size_t(matrix.rows()));
    std::vector<double> b;
    for (const auto sum : product(matrix, x)) b.push_back(double(sum));
    const auto found = [&](int threads) {
        const Context cpu = Context::cpu(threads);
        const auto a = matrix.view();
        const auto rows = solution_errors<double>(cpu, a, b, x);
        const auto scaled = equilibrated_errors<double>(cpu, a, b, x);
        return std::array{rows.backward_error, rows.residual, double(rows.row), scaled.error,
                          scaled.growth};
    };
    const auto expected = found(1);
    EXPECT_GT(expected[0], 0);
    for (const int threads : {2, 5}) EXPECT_EQ(found(threads), expected) << threads;
}

double unit(Index i) { return std::exp2(5 * (i % 7) - 12); }

/// A Laplacian in other units.
CsrMatrix<double> laplacian_in_units(Index points) {
    const CsrMatrix<double> plain = laplacian_2d<double>(points);
    const CsrView<double> a = plain.view();
    return matrix_of<double>(a.rows, [&](Index i, Index j) {
        const Offset e = find_csr_entry(a, i, j);
        return e < 0 ? 0.0 : a.values[e] * unit(i) * unit(j);
    });
}

/// The rows of a symmetric matrix alone give the errors that rows and columns give.
TEST(solution_errors, symmetric_matrices_are_equilibrated_by_rows) {
    const CsrMatrix<double> matrix = laplacian_in_units(40);
    auto random = generator();
    const auto x = random_vector<double>(random, std::size_t(matrix.rows()));
    const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
    for (const int threads : {1, 2, 5}) {
        const Context cpu = Context::cpu(threads);
        const auto whole = equilibrated_errors<double>(cpu, matrix.view(), b, x);
        const auto by_rows = equilibrated_errors_of_symmetric<double>(cpu, matrix.view(), b, x);
        EXPECT_GT(whole.error, 0);
        EXPECT_EQ(by_rows.error, whole.error);
        EXPECT_EQ(by_rows.growth, whole.growth);
    }
}

/// The rows alone bound the errors after scaling; a b_i of 0 leaves the growth unbounded.
TEST(solution_errors, rows_bound_the_equilibrated_errors) {
    const Context cpu = Context::cpu(2);
    const CsrMatrix<double> matrix = laplacian_in_units(15);
    auto random = generator();
    auto x = random_vector<double>(random, std::size_t(matrix.rows()));
    for (Index i = 0; i < matrix.rows(); ++i) x[std::size_t(i)] /= unit(i);
    std::vector<double> b;
    for (const auto sum : product(matrix, x)) b.push_back(double(sum) * (1 + 1e-10));
    for (const double size : {1.0, 1e6, 1e12}) {  // An x beside what b asks for.
        for (double& value : x) value += (size - 1) * 1e-3 / unit(Index(&value - x.data()));
        const auto errors = solution_errors<double>(cpu, matrix.view(), b, x);
        const auto found = equilibrated_errors<double>(cpu, matrix.view(), b, x);
        const auto bounds =
            bounds_of_equilibrated_errors<double>(cpu, matrix.view(), b, x, errors.backward_error);
        EXPECT_LE(found.error, bounds.error * (1 + 1e-5));
        EXPECT_LE(found.growth, bounds.growth);
        EXPECT_TRUE(std::isfinite(bounds.growth));
    }
    b[20] = 0;
    EXPECT_TRUE(
        std::isinf(bounds_of_equilibrated_errors<double>(cpu, matrix.view(), b, x, 1e-16).growth));
}

/// Neither the units of the equations nor those of the unknowns change the equilibrated error.
TEST(solution_errors, the_equilibrated_error_knows_no_units) {
    const CsrMatrix<double> plain = laplacian_2d<double>(12);
    auto random = generator();
    const auto x = random_vector<double>(random, std::size_t(plain.rows()));
    const auto b = random_vector<double>(random, std::size_t(plain.rows()));
    std::vector<double> scaled_x = x, scaled_b = b;
    for (Index i = 0; i < plain.rows(); ++i) {
        scaled_x[std::size_t(i)] /= unit(i);
        scaled_b[std::size_t(i)] *= unit(i);
    }
    const double before = find(plain, b, x).equilibrated;
    const double after = find(laplacian_in_units(12), scaled_b, scaled_x).equilibrated;
    EXPECT_LE(after, 4 * before);
    EXPECT_GE(after, before / 4);
}

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

TEST(solution_errors, penalties_do_not_hide_the_other_rows) {
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
TEST(solution_errors, an_unbalanced_solution_is_none) {
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
TEST(solution_errors, a_solution_at_working_accuracy_is_one) {
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
TEST(solution_errors, huge_solutions_of_singular_systems_are_none) {
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
TEST(solution_errors, a_part_without_equilibrium_is_not_solved) {
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
TEST(solution_errors, a_solution_up_to_rounding_is_converged) {
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

TEST(solution_errors, norms_beyond_the_squares_of_the_type) {
    expect_norms_beyond_squares<float>();
    expect_norms_beyond_squares<double>();
}

/// Where A is singular and b not in its range, x can grow until its backward error vanishes.
TEST(solution_errors, a_singular_system_is_not_solved) {
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
