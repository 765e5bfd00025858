#include <algorithm>
#include <numbers>
#include <numeric>
#include <random>

#include "precond/polynomial/scaling.hpp"
#include "sparse/spectrum/tridiagonal.hpp"
#include "support/blocks.hpp"
#include "tessera/spectrum.hpp"

namespace tessera::test {

namespace {

template <class T>
CsrMatrix<T> diagonal_matrix(const std::vector<double>& eigenvalues) {
    std::vector<std::vector<Index>> pattern;
    std::vector<std::vector<T>> values;
    for (std::size_t i = 0; i < eigenvalues.size(); ++i) {
        pattern.push_back({Index(i)});
        values.push_back({T(eigenvalues[i])});
    }
    return make_csr(Index(eigenvalues.size()), Index(eigenvalues.size()), pattern, values);
}

/// H diag(eigenvalues) H with a random reflection H: dense, bitwise symmetric.
template <class T>
CsrMatrix<T> dense_matrix(std::mt19937_64& random, const std::vector<double>& eigenvalues) {
    const std::size_t n = eigenvalues.size();
    const auto v = random_vector<double>(random, n);
    double square = 0, weighted = 0;
    for (std::size_t i = 0; i < n; ++i) {
        square += v[i] * v[i];
        weighted += v[i] * v[i] * eigenvalues[i];
    }
    std::vector<std::vector<Index>> pattern(n);
    std::vector<std::vector<T>> values(n);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            const double outer = v[i] * v[j] * (2 / square);
            const double both = eigenvalues[i] + eigenvalues[j];
            pattern[i].push_back(Index(j));
            values[i].push_back(
                T((i == j ? eigenvalues[i] : 0) - outer * both + outer * (2 * weighted / square)));
        }
    }
    return make_csr(Index(n), Index(n), pattern, values);
}

/// Eigenvalues in (0, 1], or with a few larger ones.
std::vector<double> spectrum(std::mt19937_64& random, int kind, std::size_t n) {
    std::uniform_real_distribution<double> uniform(0, 1);
    std::vector<double> values(n);
    for (std::size_t i = 0; i < n; ++i) {
        const double x = 1 - uniform(random);
        values[i] = kind == 7   ? std::pow(1e-6, 1 - x)
                    : kind == 8 ? 1 - 0.1 * (1 - x) * (1 - x)
                    : kind == 9 ? std::max(std::pow(0.9, double(i)), 1e-12)
                                : x;
    }
    constexpr double isolated[] = {1.01, 1.03, 1.1, 1.3, 2, 10};
    if (kind >= 1 && kind <= 6) values[n / 2] = isolated[kind - 1];
    return values;
}

}  // namespace

TEST(spectrum, gershgorin_of_a_scaled_matrix) {
    const Context device = context();
    auto random = generator();
    const CsrMatrix<double> host = dense_matrix<double>(random, spectrum(random, 0, 50));
    const CsrMatrix<double> matrix = copy_to(device, host.view());
    const SymmetricScaling<double> scaling(device, matrix.view());
    const double expected = gershgorin_bound(device, scaling.matrix());
    EXPECT_EQ(gershgorin_bound(device, matrix.view(), scaling.diagonal()), expected);
    const SymmetricScaling<double> alone(device, matrix.view(), false);
    EXPECT_EQ(alone.matrix().rows, 0);
    EXPECT_EQ(gershgorin_bound(device, matrix.view(), alone.diagonal()), expected);
    const Buffer<double> wrong(device, 49);
    EXPECT_THROW(gershgorin_bound(device, matrix.view(), wrong.view()), InvalidArgument);
}

TEST(spectrum, gershgorin_is_the_largest_row_sum) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Context device = context();
        for (const Index rows : {0, 1, 2, 63, 1000, 20000}) {
            std::vector<std::vector<Index>> pattern(static_cast<std::size_t>(rows));
            std::vector<std::vector<T>> values(static_cast<std::size_t>(rows));
            double largest = 0, longest = 0;
            for (Index i = 0; i < rows; ++i) {
                // Some rows are empty, one is long.
                const Index length = i == rows / 3 ? std::min(rows, 700) : std::min(i % 23, rows);
                values[std::size_t(i)] = random_vector<T>(random, std::size_t(length));
                double sum = 0;
                for (Index k = 0; k < length; ++k) {
                    pattern[std::size_t(i)].push_back(k);
                    sum += std::abs(double(values[std::size_t(i)][std::size_t(k)]));
                }
                largest = std::max(largest, sum);
                longest = std::max(longest, double(length));
            }
            CsrMatrix<T> matrix = make_csr(rows, rows, pattern, values);
            const CsrMatrix<T> copied = copy_to(device, matrix.view());
            EXPECT_NEAR(gershgorin_bound(device, copied.view()), largest,
                        gamma<T>(longest) * largest);
            if (rows < 1000) continue;
            for (const T bad :
                 {std::numeric_limits<T>::quiet_NaN(), -std::numeric_limits<T>::quiet_NaN(),
                  std::numeric_limits<T>::infinity()}) {
                matrix.values().data()[matrix.nonzeros() / 2] = bad;
                const double bound =
                    gershgorin_bound(device, copy_to(device, matrix.view()).view());
                EXPECT_EQ(std::isnan(bound), std::isnan(bad));
                EXPECT_FALSE(std::isfinite(bound));
            }
        }
    });
}

TEST(spectrum, tridiagonal_eigenvalues) {
    // -1, 2, -1: 2 - 2 cos(pi k / (n + 1)).
    for (const int n : {1, 2, 3, 10, 100}) {
        const auto found = tridiagonal_eigenvalues(std::vector<double>(std::size_t(n), 2),
                                                   std::vector<double>(std::size_t(n), -1));
        for (int k = 1; k <= n; ++k) {
            EXPECT_NEAR(found[std::size_t(k - 1)], 2 - 2 * std::cos(std::numbers::pi * k / (n + 1)),
                        4 * gamma<double>(4 * n));
        }
    }
    // Decoupled, with equal eigenvalues.
    const auto found = tridiagonal_eigenvalues({3, 1, 3, 2}, {0, 0, 0, 5});
    const std::vector<double> exact = {1, 2, 3, 3};
    for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(found[k], exact[k], 3 * gamma<double>(16));
}

TEST(spectrum, upper_bounds_are_below_the_truth_in_two_of_a_hundred_at_most) {
    const Context device = context();
    auto random = generator();
    const int each = fewer_run() ? 10 : 100;
    for (int kind = 0; kind < 10; ++kind) {
        int low = 0;
        for (int k = 0; k < each; ++k) {
            // Large ones stay diagonal: only the spectrum and the start matter to the process.
            const std::size_t n =
                k % 2 == 0 ? std::size_t(11 + k) : std::size_t(100) << (k / 2 % 7);
            const auto eigenvalues = spectrum(random, kind, n);
            const CsrMatrix<double> matrix =
                copy_to(device, (k % 2 == 0 ? dense_matrix<double>(random, eigenvalues)
                                            : diagonal_matrix<double>(eigenvalues))
                                    .view());
            const RitzValues ritz = lanczos(device, CsrOperator<double>(device, matrix.view()), 10,
                                            std::uint64_t(1000 * kind + k));
            const double truth = *std::ranges::max_element(eigenvalues);
            const double rounding = gamma<double>(4.0 * double(n)) * truth;
            low += ritz.upper < truth - rounding;
            EXPECT_LE(ritz.largest, truth + rounding);
            EXPECT_GE(ritz.smallest, *std::ranges::min_element(eigenvalues) - rounding);
            EXPECT_GE(ritz.upper, ritz.largest);
            EXPECT_LE(ritz.steps, 10);
        }
        EXPECT_LE(low, each / 50) << "kind " << kind;
    }
}

TEST(spectrum, bounds_tighten_with_the_steps) {
    const Context device = context();
    auto random = generator();
    const auto eigenvalues = spectrum(random, 0, 3000);
    for_reals([&](auto real) {
        using T = decltype(real);
        const CsrMatrix<T> matrix = copy_to(device, diagonal_matrix<T>(eigenvalues).view());
        const CsrOperator<T> a(device, matrix.view());
        const double truth = *std::ranges::max_element(eigenvalues);
        double last = std::numeric_limits<double>::infinity();
        for (const int steps : {10, 20, 40, 80}) {
            const double upper = lanczos(device, a, steps).upper;
            EXPECT_LT(upper, last);
            EXPECT_GE(upper, truth * (1 - gamma<T>(1)));
            last = upper;
        }
        EXPECT_LE(last, 1.01 * truth);
        EXPECT_LE(lanczos(device, a, 300).upper, 1.001 * truth);
    });
}

TEST(spectrum, small_and_odd_matrices) {
    const Context device = context();
    const auto bounds = [&](const std::vector<double>& eigenvalues) {
        const CsrMatrix<double> matrix =
            copy_to(device, diagonal_matrix<double>(eigenvalues).view());
        return lanczos(device, CsrOperator<double>(device, matrix.view()));
    };
    EXPECT_EQ(bounds({}).upper, 0);
    EXPECT_NEAR(bounds({3}).upper, 3, 3 * gamma<double>(100));
    EXPECT_EQ(bounds({3}).steps, 1);
    EXPECT_NEAR(bounds({2, 5}).upper, 5, 5 * gamma<double>(100));
    EXPECT_NEAR(bounds({2, 5}).smallest, 2, 5 * gamma<double>(100));
    // One eigenvalue many times: one step.
    const RitzValues same = bounds(std::vector<double>(500, 4));
    EXPECT_EQ(same.steps, 1);
    EXPECT_NEAR(same.upper, 4, 4 * gamma<double>(500));
    EXPECT_EQ(bounds(std::vector<double>(50, 0)).upper, 0);
    EXPECT_TRUE(std::isnan(bounds({1, std::nan(""), 2}).upper));
    const CsrMatrix<double> flat = copy_to(device, make_csr<double>(1, 2, {{0}}, {{1}}).view());
    EXPECT_THROW(lanczos(device, CsrOperator<double>(device, flat.view())), InvalidArgument);
    const CsrMatrix<double> one = copy_to(device, diagonal_matrix<double>({1}).view());
    EXPECT_THROW(lanczos(device, CsrOperator<double>(device, one.view()), 0), InvalidArgument);
}

/// The bounds of Lanczos steps in plain loops are those of `lanczos` up to rounding, from another
/// start within the risk that `upper` states.
TEST(spectrum, ritz_values_of_own_steps) {
    auto random = generator();
    const int n = 400, steps = 30;
    const auto eigenvalues = spectrum(random, 1, n);
    const double truth = *std::ranges::max_element(eigenvalues);
    std::normal_distribution<double> normal;
    std::vector<double> v(n), before(n, 0), w(n), diagonal, off_diagonal;
    for (double& value : v) value = normal(random);
    const auto norm = [](const std::vector<double>& x) {
        return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.));
    };
    double beta = norm(v);
    for (double& value : v) value /= beta;
    for (int j = 0; j < steps; ++j) {
        for (int i = 0; i < n; ++i) w[i] = eigenvalues[i] * v[i] - (j > 0 ? beta : 0) * before[i];
        const double alpha = std::inner_product(v.begin(), v.end(), w.begin(), 0.);
        for (int i = 0; i < n; ++i) w[i] -= alpha * v[i];
        beta = norm(w);
        diagonal.push_back(alpha);
        off_diagonal.push_back(beta);
        before = v;
        for (int i = 0; i < n; ++i) v[i] = w[i] / beta;
    }
    const RitzValues ritz = ritz_values(diagonal, off_diagonal, n);
    EXPECT_LE(ritz.largest, truth * (1 + gamma<double>(n * steps)));
    EXPECT_GE(ritz.upper, truth);
    EXPECT_LE(ritz.upper, ritz.largest + off_diagonal.back() + truth * gamma<double>(n * steps));
    EXPECT_EQ(ritz.steps, steps);
    // Steps after a coupling of rounding error are ignored.
    off_diagonal[4] = 0;
    EXPECT_EQ(ritz_values(diagonal, off_diagonal, n).steps, 5);
    EXPECT_THROW(ritz_values({}, {}, 0), InvalidArgument);
    EXPECT_THROW(ritz_values(diagonal, std::span(off_diagonal).first(3), n), InvalidArgument);
}

}  // namespace tessera::test
