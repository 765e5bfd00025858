#include "precond/direct/test_direct.hpp"

// What exact factors tell of a matrix: the signs of its eigenvalues, determinant and condition.

namespace tessera::test {
namespace {

/// The determinant of integers, by fraction-free elimination (Bareiss).
__int128 determinant(std::vector<__int128> a, std::size_t n) {
    __int128 before = 1, sign = 1;
    for (std::size_t k = 0; k + 1 < n; ++k) {
        std::size_t row = k;
        while (row < n && a[row * n + k] == 0) ++row;
        if (row == n) return 0;
        if (row != k) {
            for (std::size_t j = 0; j < n; ++j) std::swap(a[k * n + j], a[row * n + j]);
            sign = -sign;
        }
        for (std::size_t i = k + 1; i < n; ++i) {
            for (std::size_t j = k + 1; j < n; ++j) {
                a[i * n + j] = (a[i * n + j] * a[k * n + k] - a[i * n + k] * a[k * n + j]) / before;
            }
        }
        before = a[k * n + k];
    }
    return n == 0 ? __int128(1) : sign * a[n * n - 1];
}

}  // namespace

/// The signs of pivots are those of the eigenvalues: A = M D M^T, M unit lower triangular
/// (Sylvester's law of inertia).
TEST(determinant, counts_eigenvalues_of_each_sign) {
    auto random = generator();
    for (const Index rows : {1, 5, 40, 150}) {
        std::vector<std::map<Index, double>> m(static_cast<std::size_t>(rows));
        std::vector<double> d;
        Index positive = 0;
        for (Index i = 0; i < rows; ++i) {
            m[std::size_t(i)][i] = 1;
            if (i > 0) m[std::size_t(i)][Index(random() % std::uint64_t(i))] = 1;
            d.push_back(random() % 2 ? 2 : -2);
            positive += d.back() > 0;
        }
        Entries entries(rows);
        for (Index i = 0; i < rows; ++i) {
            for (Index j = 0; j < rows; ++j) {
                double sum = 0;
                bool is_stored = false;
                for (const auto& [k, value] : m[std::size_t(i)]) {
                    if (!m[std::size_t(j)].contains(k)) continue;
                    is_stored = true;
                    sum += value * d[std::size_t(k)] * m[std::size_t(j)][k];
                }
                if (is_stored) entries.add(i, j, sum);
            }
        }
        const auto matrix = entries.matrix<double>();
        for (const DirectOptions& options : both_kinds) {
            const Direct<double> factors(host(), matrix.view(), options);
            EXPECT_TRUE(factors.report().symmetric);
            EXPECT_EQ(factors.report().positive, positive);
            EXPECT_EQ(factors.report().negative, rows - positive);
        }
    }
}

/// Against the elimination of the dense matrix with partial pivoting.
TEST(determinant, determinant_and_condition) {
    auto random = generator();
    for (int k = 0; k < 60; ++k) {
        const Index rows = 1 + Index(random() % 12);
        const bool symmetric = k % 2 == 0;
        auto shifted = random_symmetric(random, rows, 3, 2);
        for (Index i = 0; i < rows; ++i) shifted.add(i, i, i % 2 == 0 ? 5 : -3);
        const auto matrix =
            symmetric ? shifted.matrix() : random_square(random, rows, 2).matrix<double>();
        const auto n = std::size_t(rows);
        const auto view = matrix.view();
        std::vector<double> a(n * n, 0), inverse(n * n, 0);
        for (Index i = 0; i < rows; ++i) {
            inverse[std::size_t(i) * n + std::size_t(i)] = 1;
            for (Offset p = view.row_offsets[i]; p < view.row_offsets[i + 1]; ++p) {
                a[std::size_t(i) * n + std::size_t(view.column_indices[p])] = view.values[p];
            }
        }
        const auto norm = [&](const std::vector<double>& m) {
            double largest = 0;
            for (std::size_t j = 0; j < n; ++j) {
                double sum = 0;
                for (std::size_t i = 0; i < n; ++i) sum += std::abs(m[i * n + j]);
                largest = std::max(largest, sum);
            }
            return largest;
        };
        const double norm_a = norm(a);
        int sign = 1;
        double logarithm = 0;
        for (std::size_t p = 0; p < n; ++p) {
            std::size_t best = p;
            for (std::size_t i = p; i < n; ++i) {
                if (std::abs(a[i * n + p]) > std::abs(a[best * n + p])) best = i;
            }
            if (best != p) sign = -sign;
            for (std::size_t j = 0; j < n; ++j) {
                std::swap(a[p * n + j], a[best * n + j]);
                std::swap(inverse[p * n + j], inverse[best * n + j]);
            }
            const double pivot = a[p * n + p];
            sign *= pivot < 0 ? -1 : 1;
            logarithm += std::log(std::abs(pivot));
            for (std::size_t j = 0; j < n; ++j) {
                a[p * n + j] /= pivot;
                inverse[p * n + j] /= pivot;
            }
            for (std::size_t i = 0; i < n; ++i) {
                if (i == p) continue;
                const double factor = a[i * n + p];
                for (std::size_t j = 0; j < n; ++j) {
                    a[i * n + j] -= factor * a[p * n + j];
                    inverse[i * n + j] -= factor * inverse[p * n + j];
                }
            }
        }
        const double condition = norm_a * norm(inverse);
        const double rounding = condition * gamma<double>(double(n * n) + 8);
        for (const DirectOptions& options : both_kinds) {
            const Direct<double> factors(host(), view, options);
            EXPECT_EQ(factors.log_determinant().sign, sign);
            EXPECT_NEAR(factors.log_determinant().logarithm, logarithm, rounding);
            const double estimate = 1 / factors.reciprocal_condition();
            EXPECT_LE(estimate, condition * (1 + rounding));
            EXPECT_GE(estimate, condition / 3);
        }
    }
}

/// Small random matrices of small integers, with dense and empty rows and exact cancellation: those
/// of determinant 0 are called singular, or have such a condition, all others are solved, and have
/// their determinant.
TEST(determinant, small_matrices_of_integers) {
    auto random = generator();
    const auto below = [&](std::uint64_t count) { return Index(random() % count); };
    const int count = full_run() ? 100'000 : 3'000;
    int singular = 0;
    for (int k = 0; k < count; ++k) {
        const Index rows = 1 + below(9);
        const auto n = std::size_t(rows);
        const bool symmetric = below(2) == 0;
        const auto density = std::uint64_t(1 + below(4));
        std::vector<__int128> dense(n * n, 0);
        Entries entries(rows);
        const auto put = [&](Index i, Index j, Index value) {
            entries.add(i, j, value);
            dense[std::size_t(i) * n + std::size_t(j)] = value;
        };
        const Index full_row = below(4) == 0 ? below(std::uint64_t(rows)) : Index(-1);
        for (Index i = 0; i < rows; ++i) {
            for (Index j = 0; j <= (symmetric ? i : rows - 1); ++j) {
                const bool is_stored = std::uint64_t(below(5)) < density || i == full_row;
                if (!is_stored) continue;
                const Index value = below(5) - 2;  // Stored zeros, too.
                put(i, j, value);
                if (symmetric) put(j, i, value);
            }
        }
        const auto matrix = entries.matrix<double>();
        SCOPED_TRACE(k);
        const DirectOptions& options = both_kinds[k % 2];
        const Direct<double> factors(host(), matrix.view(), options);
        const auto exact = determinant(dense, n);
        const auto found = factors.log_determinant();
        if (exact == 0) {
            ++singular;
            // Where pivots grew, the last one may be a larger rounding error: then 1 / ||A^-1|| is
            // not.
            EXPECT_TRUE(factors.Preconditioner<double>::report().singular != "" ||
                        factors.reciprocal_condition() < gamma<double>(1000 * double(n)));
            continue;
        }
        EXPECT_EQ(found.sign, exact > 0 ? 1 : -1);
        const double size = std::abs(double(exact));
        EXPECT_NEAR(std::exp(found.logarithm), size, 1e-6 * size);
        expect_solved(matrix, options, random);
        if (HasFailure()) break;
    }
    EXPECT_GT(singular, count / 10);
    EXPECT_LT(singular, count / 10 * 9);
}

}  // namespace tessera::test
