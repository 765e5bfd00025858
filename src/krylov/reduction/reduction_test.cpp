#include "krylov/reduction.hpp"

#include <cmath>
#include <numeric>

#include "base/context_state.hpp"
#include "base/find_csr_entry.hpp"
#include "krylov/reduction/symmetriser.hpp"
#include "krylov/test_systems.hpp"
#include "support/messages.hpp"
#include "tessera/solver.hpp"

namespace tessera::test {

namespace {

template <class T>
std::optional<Reduction> find(const CsrMatrix<T>& matrix, const NodeCoordinates& points = {}) {
    const CsrMatrix<T> a = copy_to(context(), matrix);
    return find_reduction(context(), a.view(), find_facts(context(), a.view(), points), points);
}

/// The unknowns on the border of a square of side x side points.
bool is_border(Index i, Index side) {
    const Index row = i / side, column = i % side;
    return row == 0 || column == 0 || row == side - 1 || column == side - 1;
}

/// A Laplacian whose border rows have another diagonal and, times `others`, other entries.
template <class T>
CsrMatrix<T> with_border(Index side, double diagonal, double others) {
    CsrMatrix<T> matrix = laplacian_2d<T>(side);
    const CsrView<T> view = matrix.view();
    const std::span<T> values = matrix.values().view();
    for (Index i = 0; i < view.rows; ++i) {
        if (!is_border(i, side)) continue;
        for (Offset k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
            T& value = values[std::size_t(k)];
            value = view.column_indices[k] == i ? T(diagonal) : T(others * double(value));
        }
    }
    return matrix;
}

template <class T>
struct Automatic {
    SolveReport report;
    std::vector<T> x;
    std::string reduction;
};

template <class T>
Automatic<T> solve_by_auto(const CsrMatrix<T>& matrix, const std::vector<T>& b,
                           const SolveOptions& options = {}, const char* preconditioner = "auto") {
    const CsrMatrix<T> a = copy_to(context(), matrix);
    const Buffer<T> right = copy_to_buffer(context(), b);
    Buffer<T> x = copy_to_buffer(context(), std::vector<T>(b.size()));
    Solver<T> solver(context(), "auto", preconditioner, "auto");
    solver.setup(a);
    SolveReport report = solver.solve(right, x, options);
    return {std::move(report), copy_to_host(context(), x), solver.facts().reduction};
}

double relative_residual(const CsrMatrix<double>& matrix, const std::vector<double>& x,
                         const std::vector<double>& b) {
    return residual(matrix, b, x).norm / norm(b);
}

/// x with the given values on the border, and b of a matrix for it.
template <class T>
void expect_border_values(double diagonal, double others) {
    SCOPED_TRACE(diagonal);
    const Index side = 20;
    const CsrMatrix<T> matrix = with_border<T>(side, diagonal, others);
    std::vector<T> x(std::size_t(matrix.rows()));
    for (Index i = 0; i < matrix.rows(); ++i) {
        x[std::size_t(i)] = T(1 + i % side * 0.25 + i / side * 0.125);  // Exact in float.
    }
    const auto exact = product(matrix, x);
    const std::vector<T> b(exact.begin(), exact.end());
    // With all words auto exact factors of A may come first.
    const Automatic<T> solved = solve_by_auto(matrix, b, {}, "jacobi");
    // Tiny rows make b small, and the tolerance with it.
    EXPECT_TRUE(is_solved(solved.report.status)) << solved.report.message;
    EXPECT_NE(solved.reduction.find("76 rows that give one unknown each"), std::string::npos);
    EXPECT_LT(solved.report.iterations, 100);
    // ||x - x*|| <= ||A_II^-1|| rtol ||b_I - A_ID x_D||, and rounding of b times the penalty.
    double error = 0, border = 0;
    for (Index i = 0; i < matrix.rows(); ++i) {
        const double difference = std::abs(double(solved.x[std::size_t(i)] - x[std::size_t(i)]));
        (is_border(i, side) ? border : error) =
            std::max(is_border(i, side) ? border : error, difference);
    }
    constexpr double roundoff = double(std::numeric_limits<T>::epsilon()) / 2;
    const double smallest_eigenvalue = 4 - 4 * std::cos(3.14159265 / (side - 1));
    EXPECT_LE(error, default_rtol<T> * 10 * side / smallest_eigenvalue);
    EXPECT_LE(border, 16 * roundoff + error * 4 / diagonal);
}

TEST(reduction, rows_that_give_an_unknown) {
    for (const double diagonal : {1.0, 1e-6, 1e6}) {  // Rows of the identity, columns kept.
        expect_border_values<double>(diagonal, 0);
        expect_border_values<float>(diagonal, 0);
    }
    for (const double penalty : {1e10, 1e20, 1e30}) expect_border_values<double>(penalty, 1);
    expect_border_values<float>(1e12, 1);
}

/// x for a right-hand side times 2^exponent, divided by that, beside x for it as it is.
template <class T>
void expect_equal_solutions_of_scaled(int exponent) {
    SCOPED_TRACE(exponent);
    const Index side = 20;
    const CsrMatrix<T> matrix = with_border<T>(side, 3, 0);
    std::vector<T> b(std::size_t(matrix.rows()), T(1)), scaled(b.size());
    for (std::size_t i = 0; i < b.size(); ++i) scaled[i] = std::ldexp(b[i], exponent);
    const Automatic<T> usual = solve_by_auto(matrix, b, {}, "jacobi"),
                       other = solve_by_auto(matrix, scaled, {}, "jacobi");
    EXPECT_FALSE(usual.reduction.empty());
    EXPECT_TRUE(is_solved(other.report.status)) << other.report.message;
    // Twice ||x - x*|| <= ||A_II^-1|| rtol ||b||.
    const double smallest_eigenvalue = 4 - 4 * std::cos(3.14159265 / (side - 1));
    const double error = 2 * default_rtol<T> * side / smallest_eigenvalue;
    for (std::size_t i = 0; i < b.size(); ++i) {
        EXPECT_NEAR(std::ldexp(other.x[i], -exponent), usual.x[i], error);
    }
}

TEST(reduction, right_hand_sides_whose_squares_leave_the_range) {
    for (const int exponent : {-900, -600, 600, 900}) {
        expect_equal_solutions_of_scaled<double>(exponent);
    }
    for (const int exponent : {-85, -75, 75, 100})
        expect_equal_solutions_of_scaled<float>(exponent);
}

/// Unknowns that no equation uses keep their start, and the rest is definite.
TEST(reduction, unknowns_that_no_equation_uses) {
    const auto matrix = matrix_of<double>(40, [](Index i, Index j) {
        if (i % 7 == 3 || j % 7 == 3) return 0.0;
        return i == j ? 3.0 : std::abs(i - j) == 1 ? -1.0 : 0.0;
    });
    const auto found = find(matrix);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->fixed, (std::vector<Index>{3, 10, 17, 24, 31, 38}));
    EXPECT_EQ(found->reason, "6 unknowns that no equation uses are left out");
    std::vector<double> b(40, 1.0);
    for (Index i = 3; i < 40; i += 7) b[std::size_t(i)] = 0;
    const Automatic<double> solved = solve_by_auto(matrix, b);
    EXPECT_EQ(solved.report.status, Status::converged);
    EXPECT_LE(relative_residual(matrix, solved.x, b), 1e-8);
    for (Index i = 3; i < 40; i += 7) EXPECT_EQ(solved.x[std::size_t(i)], 0);
    b[10] = 1;  // 0 = 1
    const SolveReport report = solve_by_auto(matrix, b).report;
    EXPECT_EQ(report.status, Status::singular);
    expect_contains(report.message, "row 10 has no nonzero");
}

/// A start that is better by its norm than all that a few iterations found, though rows that give
/// an unknown do not hold there.
TEST(reduction, rows_that_give_an_unknown_are_not_empty) {
    const Index side = 20;
    const CsrMatrix<double> matrix = with_border<double>(side, 1e-9, 0);
    std::vector<double> b(std::size_t(matrix.rows()), 0);
    for (Index i = 0; i < matrix.rows(); ++i) {
        if (is_border(i, side)) b[std::size_t(i)] = 1e-9 * (1 + i % side);
    }
    const auto stopped = solve_by_auto(matrix, b, {.max_iterations = 2}, "jacobi");
    EXPECT_EQ(stopped.report.status, Status::max_iterations) << stopped.report.message;
    EXPECT_EQ(stopped.x, std::vector<double>(b.size()));
    EXPECT_TRUE(is_solved(solve_by_auto(matrix, b).report.status));
}

/// Springs in series, where every second joint counts in units of 1e-13: rounding x alone leaves a
/// residual larger than b.
TEST(reduction, solutions_whose_residual_is_larger_than_b) {
    constexpr Index joints = 1'600;  // The signs of fewer do not matter.
    const auto springs = [](double sign) {
        return matrix_of<double>(joints, [sign](Index i, Index j) {
            const auto unit = [](Index k) { return k % 2 == 0 ? 1.0 : 1e13; };
            const double stiffness = i == j ? 2 : std::abs(i - j) == 1 ? -1 : 0;
            return sign * stiffness * unit(i) * unit(j);
        });
    };
    const std::vector<double> b(joints, 1), opposite(joints, -1);
    const auto usual = solve_by_auto(springs(1), b), turned = solve_by_auto(springs(-1), opposite);
    EXPECT_EQ(usual.reduction, "");
    EXPECT_EQ(turned.reduction, "the signs of all rows are turned");
    EXPECT_EQ(usual.report.status, Status::rounding_limit) << usual.report.message;
    EXPECT_EQ(turned.report.status, Status::rounding_limit) << turned.report.message;
    EXPECT_GT(turned.report.true_relative_residual, 1);
    EXPECT_EQ(turned.x, usual.x);
}

TEST(reduction, is_not_for_ordinary_matrices) {
    EXPECT_FALSE(find(laplacian_2d<double>(20)));
    EXPECT_FALSE(find(laplacian_2d<double>(20, 3.0)));  // Convection.
    // Rows and columns of the identity are no trouble.
    CsrMatrix<double> held = matrix_of<double>(50, [](Index i, Index j) {
        if (i < 5 || j < 5) return i == j ? 1.0 : 0.0;
        return i == j ? 2.0 : std::abs(i - j) == 1 ? -1.0 : 0.0;
    });
    EXPECT_FALSE(find(held));
    // Units alone: every row is much larger or smaller than its neighbours, none decides.
    const CsrMatrix<double> units = matrix_of<double>(40, [](Index i, Index j) {
        const double scale = std::pow(10.0, (i % 4 + j % 4) * 3.0);
        return scale * (i == j ? 2.0 : std::abs(i - j) == 1 ? -1.0 : 0.0);
    });
    EXPECT_FALSE(find(units));
}

/// A symmetric matrix with random values, positive definite or with some signs turned.
CsrMatrix<double> random_symmetric(std::mt19937_64& random, Index n, bool definite) {
    const auto values = random_vector<double>(random, std::size_t(n));
    return matrix_of<double>(n, [&](Index i, Index j) {
        if (i == j) return !definite && i % 3 == 0 ? 0.0 : 4.0;
        const double size = values[std::size_t((i * j) % n)];
        return std::abs(i - j) <= 2 ? 0.5 + size / 4 : 0.0;
    });
}

TEST(reduction, finds_the_diagonal_that_makes_a_matrix_symmetric) {
    auto random = generator();
    for (const bool definite : {true, false}) {
        const Index n = 60;
        const CsrMatrix<double> symmetric = random_symmetric(random, n, definite);
        std::vector<double> d(std::size_t(n), 0);
        for (std::size_t i = 0; i < d.size(); ++i) {
            d[i] = std::pow(10.0, double(i % 5)) * (!definite && i % 3 == 0 ? -1 : 1);
        }
        const CsrMatrix<double> divided = matrix_of<double>(n, [&](Index i, Index j) {
            const Offset k = find_csr_entry(symmetric.view(), i, j);
            return k < 0 ? 0 : symmetric.values().data()[k] / d[std::size_t(i)];
        });
        const auto found = find(divided);
        ASSERT_TRUE(found);
        EXPECT_TRUE(found->solves_mean);
        EXPECT_TRUE(found->fixed.empty());
        for (std::size_t k = 0; k < d.size(); ++k) {  // Up to one factor.
            const double ratio = found->row_factors[k] / found->column_factors[k] / d[k];
            const double first = found->row_factors[0] / found->column_factors[0] / d[0];
            EXPECT_NEAR(ratio, first, 1e-12 * std::abs(first)) << k;
        }
        const CsrMatrix<double> reduced = reduced_matrix(Context::cpu(1), divided.view(), *found);
        const KeptPart<double> part = kept_part(reduced.view(), {});
        EXPECT_LE(asymmetry(part, std::vector<double>(std::size_t(n), 1), 1e-4, 2), 1e-13);
        const auto b = random_vector<double>(random, std::size_t(n));
        const auto solved = solve_by_auto(divided, b);
        EXPECT_EQ(solved.report.status, Status::converged) << solved.report.message;
        EXPECT_LE(relative_residual(divided, solved.x, b), 1.01e-8);
    }
}

TEST(reduction, an_indefinite_matrix_for_a_positive_diagonal_comes_second) {
    // [[2, 1], [-1, 2]] in blocks is symmetric with other signs, and easier as it is.
    const CsrMatrix<double> matrix = matrix_of<double>(40, [](Index i, Index j) {
        return i == j ? 2.0 : i / 2 == j / 2 ? (i < j ? 1.0 : -1.0) : 0.0;
    });
    const auto found = find(matrix);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->is_second);
    const CsrMatrix<double> a = copy_to(context(), matrix);
    Solver<double> solver(context());
    solver.setup(a);
    const std::vector<Attempt> attempts = solver.attempts();
    const auto is_reduced = [](const Attempt& attempt) {
        return attempt.reason.find("make the matrix symmetric") != std::string::npos;
    };
    EXPECT_FALSE(is_reduced(attempts[0]));
    EXPECT_TRUE(is_reduced(attempts[1]));
    EXPECT_EQ(solver.facts().reduction, "");
}

TEST(reduction, symmetric_up_to_rounding_or_little_more) {
    auto random = generator();
    const Index side = 30;
    const auto b = random_vector<double>(random, std::size_t(side) * side);
    const auto exact = solve_by_auto(laplacian_2d<double>(side), b);
    for (const double size : {1e-11, 4e-11, 1e-7, 1e-5}) {
        SCOPED_TRACE(size);
        CsrMatrix<double> a = laplacian_2d<double>(side);
        const auto noise = random_vector<double>(random, std::size_t(a.nonzeros()));
        for (std::size_t k = 0; k < noise.size(); ++k) {
            a.values().data()[k] *= 1 + size * noise[k] / 4;
        }
        const auto found = find(a);
        ASSERT_TRUE(found);
        EXPECT_EQ(found->solves_mean, size < 1e-10);
        EXPECT_EQ(found->preconditions_by_mean, size > 1e-10);
        const auto solved = solve_by_auto(a, b);
        EXPECT_EQ(solved.report.status, Status::converged) << solved.report.message;
        EXPECT_LE(relative_residual(a, solved.x, b), 1.01e-8);
        EXPECT_LE(solved.report.iterations, exact.report.iterations + 10);
    }
}

TEST(reduction, turns_signs_and_scales) {
    const CsrMatrix<double> negative = matrix_of<double>(50, [](Index i, Index j) {
        return i == j ? -2.0 : std::abs(i - j) == 1 ? 1.0 : 0.0;
    });
    const auto turned = find(negative);
    ASSERT_TRUE(turned);
    EXPECT_EQ(turned->row_factors, std::vector<double>(50, -1));
    // Two coupled fields, one measured in units that are 1e9 times as large.
    const CsrMatrix<double> fields = matrix_of<double>(100, [](Index i, Index j) {
        const bool first = i % 2 == 0, other = j % 2 == 0;
        if (first != other) return std::abs(i - j) == 1 ? 10.0 : 0.0;
        const double scale = first ? 1e10 : -1e-8;
        return scale * (i == j ? 3.0 : std::abs(i - j) == 2 ? -1.0 : 0.0);
    });
    const auto scaled = find(fields);
    ASSERT_TRUE(scaled);
    EXPECT_EQ(scaled->row_factors, scaled->column_factors);
    for (const double factor : scaled->row_factors) {
        EXPECT_EQ(std::exp2(std::round(std::log2(factor))), factor);
    }
    const CsrMatrix<double> reduced = reduced_matrix(Context::cpu(1), fields.view(), *scaled);
    const KeptPart<double> part = kept_part(reduced.view(), {});
    for (const double largest : part.largest) {
        EXPECT_GE(largest, 0.25);
        EXPECT_LE(largest, 4);
    }
}

TEST(reduction, orders_unknowns_by_nodes) {
    const Index nodes = 300, axes = 3, n = nodes * axes;
    // Unknown `axis` of node k is row axis * nodes + k.
    const CsrMatrix<double> a = matrix_of<double>(n, [&](Index i, Index j) {
        const Index one = i % nodes, other = j % nodes;
        if (std::abs(one - other) > 1) return 0.0;
        return i == j ? 20.0 : one == other ? 1.0 : -1.0 - (i / nodes == j / nodes);
    });
    NodeCoordinates points{3, std::vector<double>(std::size_t(n))};
    const auto found = find(a);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->is_reordered);
    for (Index k = 0; k < n; ++k) {
        EXPECT_EQ(found->kept[std::size_t(k)], k % axes * nodes + k / axes);
    }
    EXPECT_EQ(reduced_coordinates(points, n, *found).unknowns, std::vector<Index>());
    // Side by side they need no other order.
    EXPECT_FALSE(find(reduced_matrix(Context::cpu(1), a.view(), *found)));
}

TEST(reduction, coordinates_of_the_kept_rows) {
    Reduction reduction;
    reduction.kept = {1, 2, 5};
    NodeCoordinates one_unknown{2, std::vector<double>(12)};
    std::vector<double> numbers(12);
    std::iota(numbers.begin(), numbers.end(), 0.0);
    one_unknown.values = numbers;
    const NodeCoordinates points = reduced_coordinates(one_unknown, 6, reduction);
    EXPECT_EQ(std::vector<double>(points.values.begin(), points.values.end()),
              (std::vector<double>{2, 3, 4, 5, 10, 11}));
    const NodeCoordinates two_unknowns{2, std::vector<double>(6)};
    EXPECT_EQ(reduced_coordinates(two_unknowns, 6, reduction).unknowns,
              (std::vector<Index>{1, 2, 5}));
    reduction.column_factors = {1, 2, 4};
    EXPECT_EQ(reduced_near_null({1, {1, 2, 3, 4, 5, 6}}, reduction).values,
              (std::vector<double>{2, 1.5, 1.5}));
}

TEST(reduction, coupled_fields_in_units_whose_signs_differ) {
    // Rows of a displacement in newtons, rows of a pressure with the other sign.
    const Index n = 60;
    const CsrMatrix<double> a = matrix_of<double>(2 * n, [](Index i, Index j) {
        const bool is_u = i < n, to_u = j < n;
        if (is_u != to_u) return i % n == j % n ? (is_u ? 1.0 : -1.0) : 0.0;
        const double scale = is_u ? 1e9 : 1e-9;
        return scale * (i == j ? 3.0 : std::abs(i - j) == 1 ? -1.0 : 0.0);
    });
    const auto found = find(a);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->is_symmetric);
    const auto sign = [](double factor) { return factor > 0 ? 1 : -1; };
    EXPECT_EQ(sign(found->row_factors[0]), -sign(found->row_factors[std::size_t(n)]));
}

TEST(reduction, new_values_are_reduced_anew) {
    auto random = generator();
    const Index side = 20;
    const CsrMatrix<double> penalties = with_border<double>(side, 1e12, 1);
    const auto b = random_vector<double>(random, std::size_t(penalties.rows()));
    Solver<double> solver(context());
    const Buffer<double> right = copy_to_buffer(context(), b);
    Buffer<double> x(context(), penalties.rows());
    fill(context(), 0.0, x.view());
    const CsrMatrix<double> first = copy_to(context(), penalties);
    solver.setup(first);
    for (const CsrMatrix<double>& next :
         {with_border<double>(side, 1e14, 1), laplacian_2d<double>(side),
          with_border<double>(side, 1, 0)}) {
        const CsrMatrix<double> placed = copy_to(context(), next);
        solver.update(placed);
        const SolveReport report = solver.solve(right, x);
        EXPECT_TRUE(is_solved(report.status)) << report.message;
        EXPECT_LE(relative_residual(next, copy_to_host(context(), x), b), 1.01e-8);
    }
}

TEST(reduction, reports_are_of_the_system_that_was_given) {
    auto random = generator();
    const Index side = 30;
    const CsrMatrix<double> a = with_border<double>(side, 1, 0);
    const auto b = random_vector<double>(random, std::size_t(a.rows()));
    SolveOptions options;
    std::vector<double> seen(b.size());
    Progress last;
    options.observer = [&](const Progress& progress) {
        Buffer<double> now(context(), Offset(b.size()));
        progress.copy_x(now.data());
        seen = copy_to_host(context(), now);
        last = progress;
        return progress.iterations < 15;
    };
    const auto solved = solve_by_auto(a, b, options, "jacobi");
    EXPECT_EQ(solved.report.status, Status::interrupted);
    EXPECT_EQ(solved.x, seen);
    EXPECT_NEAR(relative_residual(a, seen, b), solved.report.true_relative_residual, 1e-12);
    EXPECT_NEAR(last.relative_residual, solved.report.true_relative_residual, 1e-10);
    options = {};
    options.max_iterations = 5;
    const auto limited = solve_by_auto(a, b, options, "jacobi");
    EXPECT_EQ(limited.report.status, Status::max_iterations);
    EXPECT_EQ(limited.report.iterations, 5);
    EXPECT_EQ(limited.report.residuals.size(), 6U);
    EXPECT_EQ(solve_by_auto(a, std::vector<double>(b.size())).x, std::vector<double>(b.size()));
    std::vector<double> faulty = b;
    faulty[40] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(solve_by_auto(a, faulty).report.status, Status::non_finite);
}

TEST(reduction, an_exception_of_the_observer_leaves_x) {
    auto random = generator();
    const CsrMatrix<double> a = copy_to(context(), with_border<double>(30, 1, 0));
    const auto start = random_vector<double>(random, std::size_t(a.rows()));
    const Buffer<double> b = copy_to_buffer(context(), std::vector<double>(start.size(), 1.0));
    Buffer<double> x = copy_to_buffer(context(), start);
    Solver<double> solver(context(), "auto", "jacobi", "auto");
    solver.setup(a);
    SolveOptions options;
    options.observer = [](const Progress&) -> bool { throw std::runtime_error("enough"); };
    EXPECT_THROW(solver.solve(b, x, options), std::runtime_error);
    EXPECT_EQ(copy_to_host(context(), x), start);
    // Solves after the first one allocate nothing.
    solver.solve(b, x);
    const Offset allocations = context().state().allocations;
    solver.solve(b, x);
    EXPECT_EQ(context().state().allocations, allocations);
}

TEST(reduction, several_right_hand_sides_and_starts) {
    auto random = generator();
    const Index side = 20;
    const CsrMatrix<double> matrix = with_border<double>(side, 1, 0);
    const CsrMatrix<double> a = copy_to(context(), matrix);
    const Index n = a.rows();
    const auto b = random_vector<double>(random, std::size_t(2 * n));
    const Buffer<double> right = copy_to_buffer(context(), b);
    Buffer<double> x = copy_to_buffer(context(), random_vector<double>(random, std::size_t(2 * n)));
    Solver<double> solver(context());
    solver.setup(a);
    const auto reports = solver.solve(Vectors<const double>(right.data(), n, 2, n),
                                      Vectors<double>(x.data(), n, 2, n));
    const auto found = copy_to_host(context(), x);
    for (int j = 0; j < 2; ++j) {
        EXPECT_EQ(reports[std::size_t(j)].status, Status::converged);
        const auto first = std::ptrdiff_t(j) * n;
        const std::vector<double> one(found.begin() + first, found.begin() + first + n),
            load(b.begin() + first, b.begin() + first + n);
        EXPECT_LE(relative_residual(matrix, one, load), 1.01e-8);
    }
}

}  // namespace

}  // namespace tessera::test
