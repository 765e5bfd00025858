#include "precond/direct/device/device_factors.hpp"

#include <fstream>

#include "krylov/test_systems.hpp"
#include "precond/direct/test_direct.hpp"
#include "tessera/io.hpp"
#include "tessera/solver.hpp"
#include "tessera/time_limit.hpp"

namespace tessera::test {

namespace {

/// Why no factors are made on the device of the tests; empty: they are.
std::string missing() {
    if (!context().on_gpu()) return "factors on a GPU are not those of the CPU";
#if TESSERA_WITH_CUDA
    if (direct::cuda::has_device_library()) return "";
#endif
    return "cuDSS is not there";
}

CsrMatrix<double> generated(const std::string& text) {
    return problems::generate<double>(host(), Spec(text)).matrix;
}

/// A multiple of a matrix.
CsrMatrix<double> scaled(const CsrMatrix<double>& matrix, double factor) {
    CsrMatrix<double> result = copy_to(host(), matrix);
    for (double& value : result.values().view()) value *= factor;
    return result;
}

double relative_residual(const CsrMatrix<double>& matrix, const std::vector<double>& b,
                         const std::vector<double>& x) {
    return residual(matrix, b, x).norm / norm(b);
}

}  // namespace

TEST(direct_device, takes_over_new_values) {
    if (!missing().empty()) GTEST_SKIP() << missing();
    auto random = generator();
    for (const std::string text : {"poisson2d:120", "stokes:48", "convection2d:120", "kkt:1000",
                                   "elasticity3d:8", "helmholtz:100"}) {
        SCOPED_TRACE(text);
        const CsrMatrix<double> first = generated(text), second = scaled(first, 3);
        const CsrMatrix<double> a = copy_to(context(), first), changed = copy_to(context(), second);
        Direct<double> factors(context(), a.view());
        EXPECT_FALSE(factors.report().on_device);
        const DirectReport signs = factors.report();
        const auto determinant = factors.log_determinant();
        const auto b = random_vector<double>(random, std::size_t(first.rows()));
        for (int k = 0; k < 3; ++k) {
            factors.update(context(), changed.view());
            const auto x = applied(context(), factors, b);
            EXPECT_LE(relative_residual(second, b, x), 1e-9);
            // Several vectors, and the transposed matrix.
            Buffer<double> right(context(), 2 * first.rows()), left(context(), 2 * first.rows());
            copy_from_host(context(), std::span<const double>(b), right.view().first(b.size()));
            copy_from_host(context(), std::span<const double>(x), right.view().last(b.size()));
            const auto two = [&](auto& buffer, auto value) {
                return Vectors<decltype(value)>(buffer.data(), first.rows(), 2, first.rows());
            };
            factors.apply_transposed(context(), Vectors<const double>(two(right, 0.0)),
                                     two(left, 0.0));
            const CsrMatrix<double> transposed = transpose(host(), second.view());
            const auto z = copy_to_host(context(), left);
            EXPECT_LE(relative_residual(transposed, b, {z.begin(), z.begin() + first.rows()}),
                      1e-9);
            EXPECT_LE(relative_residual(transposed, x, {z.begin() + first.rows(), z.end()}), 1e-9);
        }
        const DirectReport& report = factors.report();
        EXPECT_TRUE(report.on_device);
        EXPECT_EQ(report.positive, signs.positive);
        EXPECT_EQ(report.negative, signs.negative);
        const double expected = determinant.logarithm + first.rows() * std::log(3.0);
        EXPECT_NEAR(factors.log_determinant().logarithm, expected, 1e-9 * std::abs(expected));
    }
}

TEST(direct_device, repeats_its_bits) {
    if (!missing().empty()) GTEST_SKIP() << missing();
    auto random = generator();
    const CsrMatrix<double> a = copy_to(context(), generated("stokes:48"));
    const auto b = random_vector<double>(random, std::size_t(a.rows()));
    std::vector<std::vector<double>> results;
    for (int k = 0; k < 3; ++k) {
        Direct<double> factors(context(), a.view());
        for (int j = 0; j <= k; ++j) factors.update(context(), a.view());
        results.push_back(applied(context(), factors, b));
    }
    EXPECT_EQ(results[0], results[1]);
    EXPECT_EQ(results[0], results[2]);
}

/// Cholesky factors do not exist: those of a symmetric matrix are made, on the host and then there.
TEST(direct_device, a_matrix_that_is_no_longer_definite) {
    if (!missing().empty()) GTEST_SKIP() << missing();
    auto random = generator();
    const CsrMatrix<double> first = generated("poisson2d:120");
    CsrMatrix<double> second = copy_to(host(), first);
    for (Index i = 0; i < second.rows(); ++i) {
        for (Offset k = second.row_offsets().data()[i]; k < second.row_offsets().data()[i + 1];
             ++k) {
            if (second.column_indices().data()[k] == i) second.values().data()[k] -= 0.7;
        }
    }
    const CsrMatrix<double> a = copy_to(context(), first), shifted = copy_to(context(), second);
    const auto b = random_vector<double>(random, std::size_t(a.rows()));
    Direct<double> factors(context(), a.view());
    factors.update(context(), a.view());
    EXPECT_TRUE(factors.report().on_device);
    for (const bool on_device : {false, true}) {
        factors.update(context(), shifted.view());
        EXPECT_EQ(factors.report().on_device, on_device);
        EXPECT_LE(relative_residual(second, b, applied(context(), factors, b)), 1e-8);
        EXPECT_GT(factors.report().negative, 0);
    }
}

TEST(direct_device, static_pivots_that_do_not_suffice) {
    if (!missing().empty()) GTEST_SKIP() << missing();
    const std::string file = matrix_folder() + "/lhr07.mtx.gz";
    if (matrix_folder().empty() || !std::ifstream(file)) GTEST_SKIP() << file << " is not there";
    const CsrMatrix<double> a = copy_to(context(), io::read_matrix<double>(host(), file));
    Solver<double> solver(context(), "richardson", "direct");
    solver.setup(a);
    const Buffer<double> b = copy_to_buffer(context(), std::vector<double>(a.rows(), 1.0));
    Buffer<double> x(context(), a.rows());
    for (int k = 0; k < 2; ++k) {
        solver.update(a);
        fill(context(), 0.0, x.view());
        const SolveReport report = solver.solve(b, x);
        EXPECT_TRUE(is_solved(report.status)) << report.message;
        EXPECT_LE(report.backward_error, 1e-12);
    }
}

TEST(direct_device, other_values_and_patterns) {
    if (!missing().empty()) GTEST_SKIP() << missing();
    auto random = generator();
    const CsrMatrix<double> first = generated("poisson2d:120");
    const CsrMatrix<double> a = copy_to(context(), first);
    Direct<double> factors(context(), a.view());
    factors.update(context(), a.view());
    const CsrMatrix<double> other = copy_to(context(), generated("poisson2d:119"));
    EXPECT_THROW(factors.update(context(), other.view()), InvalidArgument);
    // No longer symmetric.
    CsrMatrix<double> second = copy_to(host(), first);
    second.values().data()[1] *= 1.5;
    const CsrMatrix<double> skewed = copy_to(context(), second);
    factors.update(context(), skewed.view());
    EXPECT_FALSE(factors.report().symmetric);
    const auto b = random_vector<double>(random, std::size_t(a.rows()));
    EXPECT_LE(relative_residual(second, b, applied(context(), factors, b)), 1e-9);
    second.values().data()[1] = std::numeric_limits<double>::quiet_NaN();
    factors.update(context(), copy_to(context(), second).view());
    EXPECT_FALSE(static_cast<Preconditioner<double>&>(factors).report().unusable.empty());
    factors.update(context(), a.view());
    EXPECT_LE(relative_residual(first, b, applied(context(), factors, b)), 1e-9);
}

TEST(direct_device, ends_its_analysis_by_the_time_limit) {
    if (!missing().empty()) GTEST_SKIP() << missing();
    const CsrMatrix<double> first = generated("poisson2d:500");
    const CsrMatrix<double> a = copy_to(context(), first);
    Direct<double> factors(context(), a.view());
    {
        const TimeLimit limit(0.05);
        EXPECT_THROW(factors.update(context(), a.view()), Stopped);
    }
    factors.update(context(), a.view());
    auto random = generator();
    const auto b = random_vector<double>(random, std::size_t(a.rows()));
    EXPECT_LE(relative_residual(first, b, applied(context(), factors, b)), 1e-9);
}

}  // namespace tessera::test
