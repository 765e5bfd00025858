#include "tessera/solution_errors.hpp"

#include <array>
#include <cmath>

#include "base/find_csr_entry.hpp"
#include "sparse/solution_errors/test_solution_errors.hpp"
#include "tessera/detail/accurate_residual.hpp"
#include "tessera/detail/equilibrated_errors.hpp"
#include "tessera/problems.hpp"

namespace tessera::test {

namespace {

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

}  // namespace

}  // namespace tessera::test
