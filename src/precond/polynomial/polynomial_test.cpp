#include <algorithm>
#include <numbers>

#include "support/blocks.hpp"
#include "tessera/polynomial.hpp"

namespace tessera::test {

namespace {

const std::vector<PolynomialKind> kinds = {PolynomialKind::neumann, PolynomialKind::least_squares,
                                           PolynomialKind::chebyshev, PolynomialKind::chebyshev4,
                                           PolynomialKind::chebyshev4_optimal};

using Long = long double;

/// T_m by the hyperbolic and the usual cosine.
Long chebyshev_value(int m, Long x) {
    if (std::abs(x) <= 1) return std::cos(m * std::acos(x));
    return (x < 0 && m % 2 == 1 ? -1 : 1) * std::cosh(m * std::acosh(std::abs(x)));
}

/// W_m(cos angle) = sin((m + 1/2) angle) / sin(angle / 2).
Long fourth_kind_value(int m, Long x) {
    const Long angle = std::acos(x);
    return angle == 0 ? 2 * m + 1 : std::sin((m + 0.5L) * angle) / std::sin(angle / 2);
}

/// The explicit sum of Saad's (12.33) on [0, b].
Long jacobi_residual(int m, Long t, Long alpha, Long beta) {
    Long kappa = 1, sum = 0;
    for (int j = 0; j <= m; ++j) {
        sum += kappa * std::pow(1 - t, Long(m - j)) * std::pow(-t, Long(j));
        kappa *= Long(m - j) / (j + 1) * (m - j + beta) / (j + 1 + alpha);
    }
    return sum;
}

/// 1 - t s(t), from the definition.
Long residual(PolynomialKind kind, int m, Long t, Long a, Long b) {
    switch (kind) {
        case PolynomialKind::neumann:
            return std::pow(1 - t / b, Long(m));
        case PolynomialKind::chebyshev:
            return chebyshev_value(m, (b + a - 2 * t) / (b - a)) /
                   chebyshev_value(m, (b + a) / (b - a));
        case PolynomialKind::least_squares:
            return jacobi_residual(m, t / b, 0.5L, -0.5L);
        default:
            return fourth_kind_value(m, 1 - 2 * t / b) / (2 * m + 1);
    }
}

template <class T>
CsrMatrix<T> diagonal_matrix(const Context& device, const std::vector<double>& diagonal) {
    std::vector<std::vector<Index>> pattern;
    std::vector<std::vector<T>> values;
    for (std::size_t i = 0; i < diagonal.size(); ++i) {
        pattern.push_back({Index(i)});
        values.push_back({T(diagonal[i])});
    }
    const Index rows = Index(diagonal.size());
    return copy_to(device, make_csr(rows, rows, pattern, values).view());
}

std::vector<double> grid(double low, double high, int count) {
    std::vector<double> points;
    for (int k = 0; k < count; ++k) points.push_back(low + (high - low) * k / (count - 1));
    return points;
}

/// s at each point, by applying the operator to ones.
template <class T>
std::vector<double> values_of(const std::vector<PolynomialTerm>& terms,
                              const std::vector<double>& points) {
    const Context device = context();
    const CsrMatrix<T> matrix = diagonal_matrix<T>(device, points);
    const CsrOperator<T> a(device, matrix.view());
    const MatrixPolynomial<T> polynomial(a, terms);
    const Buffer<T> ones = copy_to_buffer(device, std::vector<T>(points.size(), T(1)));
    Buffer<T> z(device, Offset(points.size()));
    polynomial.apply(device, ones.view(), z.view());
    const auto host = copy_to_host(device, z);
    return {host.begin(), host.end()};
}

/// The size of the terms of s(t): every step rounds them.
template <class T>
double tolerance(const std::vector<PolynomialTerm>& terms, double largest) {
    double size = 0, direction = 0, residual = 1;
    for (const PolynomialTerm& term : terms) {
        direction = std::abs(term.previous) * direction + std::abs(term.residual) * residual;
        // On the interval |R| <= 1.
        size += std::abs(term.weight) * direction;
        residual = 1;
        direction = std::min(direction, 2 / largest * double(terms.size() * terms.size()));
    }
    return gamma<T>(8.0 * double(terms.size())) * size;
}

class CountingOperator final : public Operator<double> {
  public:
    CountingOperator(const Context& device, const CsrView<double>& matrix)
        : inner_(device, matrix) {}
    Index rows() const override { return inner_.rows(); }
    Index columns() const override { return inner_.rows(); }
    void apply(const Context& device, std::span<const double> x,
               std::span<double> y) const override {
        ++count;
        inner_.apply(device, x, y);
    }
    mutable int count = 0;

  private:
    CsrOperator<double> inner_;
};

}  // namespace

TEST(polynomial, values_are_those_of_the_definitions) {
    for_reals([](auto real) {
        using T = decltype(real);
        const double b = 2.5, a = b / 30;
        const auto points = grid(1e-3, b, 301);
        for (const PolynomialKind kind : kinds) {
            if (kind == PolynomialKind::chebyshev4_optimal) continue;
            for (int degree = 1; degree <= 16; ++degree) {
                const bool uses_lower = kind == PolynomialKind::chebyshev;
                const auto terms = polynomial_terms(kind, degree, uses_lower ? a : 0, b);
                const auto found = values_of<T>(terms, points);
                for (std::size_t k = 0; k < points.size(); ++k) {
                    const Long t = T(points[k]);
                    const Long exact = (1 - residual(kind, degree + 1, t, a, b)) / t;
                    // The alternating sum of the definition itself cancels.
                    const double cancelled = kind == PolynomialKind::least_squares
                                                 ? double(std::pow(6.0L, Long(degree)) * 1e-18L / t)
                                                 : double(1e-17L / t);
                    ASSERT_NEAR(found[k], double(exact), tolerance<T>(terms, b) + cancelled)
                        << to_string(kind) << ":" << degree << " at " << double(t);
                }
            }
        }
    });
}

TEST(polynomial, weights_of_least_squares) {
    const double b = 1.5;
    const auto points = grid(1e-2, b, 101);
    for (const auto& [alpha, beta] :
         std::vector<std::pair<double, double>>{{0.5, 0.5}, {1, 0}, {0.2, -0.5}, {3, 2}}) {
        for (const int degree : {1, 2, 5, 8}) {
            const auto terms =
                polynomial_terms(PolynomialKind::least_squares, degree, 0, b, alpha, beta);
            const auto found = values_of<double>(terms, points);
            for (std::size_t k = 0; k < points.size(); ++k) {
                const Long t = points[k];
                const Long exact = (1 - jacobi_residual(degree + 1, t / b, alpha, beta)) / t;
                ASSERT_NEAR(found[k], double(exact), tolerance<double>(terms, b) + 1e-10);
            }
        }
    }
}

TEST(polynomial, least_squares_with_the_usual_weights_is_of_the_fourth_kind) {
    for (int degree = 1; degree <= 16; ++degree) {
        const auto least = polynomial_terms(PolynomialKind::least_squares, degree, 0, 3.0);
        const auto fourth = polynomial_terms(PolynomialKind::chebyshev4, degree, 0, 3.0);
        ASSERT_EQ(least.size(), fourth.size());
        for (std::size_t k = 0; k < least.size(); ++k) {
            EXPECT_NEAR(least[k].previous, fourth[k].previous, gamma<double>(16));
            EXPECT_NEAR(least[k].residual, fourth[k].residual, gamma<double>(16) * 3);
            EXPECT_EQ(least[k].weight, fourth[k].weight);
        }
    }
}

TEST(polynomial, neumann_with_two_ends) {
    const double a = 0.5, b = 2;
    const auto points = grid(0.1, 2, 50);
    const auto found =
        values_of<double>(polynomial_terms(PolynomialKind::neumann, 4, a, b), points);
    for (std::size_t k = 0; k < points.size(); ++k) {
        const double exact = (1 - std::pow(1 - 2 / (a + b) * points[k], 5)) / points[k];
        EXPECT_NEAR(found[k], exact, gamma<double>(60) * std::abs(exact) + 1e-14);
    }
}

/// Chebyshev: the largest |R| on [a, b] is 1 / T_m. Optimal: t R^2 / (1 - R^2) has its largest
/// value, that at 0, at m more points, and its square root with the sign of R alternates there.
TEST(polynomial, extremes_are_equal) {
    const double b = 1, a = b / 30;
    const int count = 20001;
    for (int degree = 1; degree <= 16; ++degree) {
        const int m = degree + 1;
        const auto inside = grid(a, b, count);
        const auto values =
            values_of<double>(polynomial_terms(PolynomialKind::chebyshev, degree, a, b), inside);
        double most = 0;
        for (std::size_t k = 0; k < inside.size(); ++k) {
            most = std::max(most, std::abs(1 - inside[k] * values[k]));
        }
        // Both ends are extremes.
        const double level = 1 / double(chebyshev_value(m, (b + a) / (b - a)));
        EXPECT_NEAR(most, level, gamma<double>(100 * m));

        const auto points = grid(0, b, count);
        const auto optimal = values_of<double>(
            polynomial_terms(PolynomialKind::chebyshev4_optimal, degree, 0, b), points);
        const double gamma_at_0 = 1 / (2 * optimal[0]);
        std::vector<double> extremes;
        double largest = 0;
        int sign = 1;
        for (std::size_t k = 1; k < points.size(); ++k) {
            const double r = 1 - points[k] * optimal[k];
            const double value = points[k] * r * r / (1 - r * r);
            if ((r < 0 ? -1 : 1) != sign) {
                if (sign < 0 || !extremes.empty()) extremes.push_back(largest);
                if (extremes.empty()) extremes.push_back(-1);  // From 0 on: no extreme of its own.
                largest = 0;
                sign = -sign;
            }
            largest = std::max(largest, value);
        }
        extremes.push_back(largest);
        ASSERT_EQ(extremes.size(), std::size_t(m) + 1) << degree;
        for (std::size_t k = 1; k < extremes.size(); ++k) {
            // A maximum is flat: the grid misses it by the square of its step, over its width.
            const double missed = std::pow(double(m * m) / count * m, 2);
            EXPECT_NEAR(extremes[k] / gamma_at_0, 1, 1e-9 + missed) << degree << " " << k;
        }
    }
}

/// Lottes' table of weights.
TEST(polynomial, optimal_weights_are_the_known_ones) {
    const std::vector<std::vector<double>> known = {
        {1.02387287570313, 1.26408905371085},
        {1.00842544782028, 1.08867839208730, 1.33753125909618}};
    for (const auto& weights : known) {
        const auto terms =
            polynomial_terms(PolynomialKind::chebyshev4_optimal, int(weights.size()) - 1, 0, 1);
        for (std::size_t k = 0; k < weights.size(); ++k) {
            EXPECT_NEAR(terms[k].weight, weights[k], 1e-10);
        }
    }
}

TEST(polynomial, products_are_as_many_as_the_degree) {
    const Context device = context();
    const CsrMatrix<double> matrix = diagonal_matrix<double>(device, grid(0.1, 1, 50));
    const CountingOperator a(device, matrix.view());
    Buffer<double> r(device, 50), z(device, 50);
    fill(device, 1.0, r.view());
    for (const PolynomialKind kind : kinds) {
        for (int degree = 1; degree <= 16; ++degree) {
            const bool uses_lower = kind == PolynomialKind::chebyshev;
            const MatrixPolynomial<double> polynomial(
                a, polynomial_terms(kind, degree, uses_lower ? 0.1 : 0, 1));
            a.count = 0;
            polynomial.apply(device, std::as_const(r).view(), z.view());
            EXPECT_EQ(a.count, degree);
        }
    }
}

/// Even degrees stay positive if the bound is too low, odd ones do not: t s(t) = 1 - R(t), and R of
/// odd degree m = degree + 1 tends to minus infinity beyond b.
TEST(polynomial, even_degrees_stay_positive_beyond_the_bound) {
    const auto beyond = grid(1e-3, 1.25, 400);
    for (const PolynomialKind kind : kinds) {
        const bool uses_lower = kind == PolynomialKind::chebyshev;
        for (int degree = 1; degree <= 12; ++degree) {
            const auto found = values_of<double>(
                polynomial_terms(kind, degree, uses_lower ? 1. / 30 : 0, 1), beyond);
            const double least = *std::ranges::min_element(found);
            if (degree % 2 == 0) {
                EXPECT_GT(least, 0) << to_string(kind) << ":" << degree;
            } else if (kind != PolynomialKind::neumann && degree >= 3) {
                EXPECT_LT(least, 0) << to_string(kind) << ":" << degree;
            }
            for (std::size_t k = 0; k < beyond.size(); ++k) {
                if (beyond[k] > 1) continue;
                EXPECT_GT(found[k], 0) << to_string(kind) << ":" << degree;
            }
        }
    }
}

TEST(polynomial, wrong_numbers_are_refused) {
    const auto terms = [](int degree, double lower, double upper) {
        return polynomial_terms(PolynomialKind::chebyshev, degree, lower, upper);
    };
    EXPECT_THROW(terms(0, 0.1, 1), InvalidArgument);
    EXPECT_THROW(terms(17, 0.1, 1), InvalidArgument);
    EXPECT_THROW(terms(2, 0, 1), InvalidArgument);
    EXPECT_THROW(terms(2, 1, 1), InvalidArgument);
    EXPECT_THROW(terms(2, -1, 1), InvalidArgument);
    EXPECT_THROW(terms(2, 0.1, -1), InvalidArgument);
    EXPECT_THROW(polynomial_terms(PolynomialKind::least_squares, 2, 0, 1, 0, 0), InvalidArgument);
    EXPECT_THROW(polynomial_terms(PolynomialKind::least_squares, 2, 0, 1, 1, -1), InvalidArgument);
    const Context device = context();
    const CsrMatrix<double> matrix = diagonal_matrix<double>(device, {1});
    const CsrOperator<double> a(device, matrix.view());
    EXPECT_THROW(MatrixPolynomial<double>(a, {}), InvalidArgument);
}

}  // namespace tessera::test
