#include <cmath>
#include <cstdio>

#include "base/dispatch.hpp"
#include "precond/polynomial/optimal_weights.hpp"
#include "tessera/polynomial.hpp"

namespace tessera {

namespace {

using Terms = std::vector<PolynomialTerm>;

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", value);
    return text;
}

Terms neumann(int count, double omega) {
    return Terms(std::size_t(count), PolynomialTerm{0, omega, 1});
}

/// T_k at (theta - t) / delta over its value at t = 0, theta = (a + b) / 2, delta = (b - a) / 2:
/// with rho_k = T_(k-1)(theta / delta) / T_k(theta / delta), rho_(k+1) = 1 / (2 theta / delta -
/// rho_k).
Terms chebyshev(int count, double a, double b) {
    const double theta = (a + b) / 2, delta = (b - a) / 2, sigma = theta / delta;
    Terms terms{{0, 1 / theta, 1}};
    double rho = 1 / sigma;
    for (int k = 2; k <= count; ++k) {
        const double next = 1 / (2 * sigma - rho);
        terms.push_back({next * rho, 2 * next / delta, 1});
        rho = next;
    }
    return terms;
}

/// Jacobi polynomials P_n at x = 1 - 2 t / b over their values at x = 1. From the recurrence of P_n
/// (Abramowitz and Stegun 22.7.1) and P_n(1) = (alpha + 1)_n / n!:
///   R_(n+1) = R_n + c_n (R_n - R_(n-1)) - 2 a_n / b t R_n,
///   a_n = (2 n + s + 1)(2 n + s + 2) / (2 (n + s + 1)(n + alpha + 1)),
///   c_n = n (n + beta)(2 n + s + 2) / ((n + s + 1)(2 n + s)(n + alpha + 1)),  s = alpha + beta.
Terms jacobi(int count, double b, double alpha, double beta) {
    const double s = alpha + beta;
    Terms terms{{0, (s + 2) / ((alpha + 1) * b), 1}};
    for (int n = 1; n < count; ++n) {
        const double below = (n + s + 1) * (n + alpha + 1);
        const double a = (2 * n + s + 1) * (2 * n + s + 2) / (2 * below);
        const double c = n * (n + beta) * (2 * n + s + 2) / (below * (2 * n + s));
        terms.push_back({c, 2 * a / b, 1});
    }
    return terms;
}

/// Where R_k = W_k(1 - 2 t / b) / (2 k + 1): d_k = ((2 k - 3) / (2 k + 1)) d_(k-1)
/// + ((8 k - 4) / ((2 k + 1) b)) r_(k-1).
Terms chebyshev4(int count, double b) {
    Terms terms;
    for (int k = 1; k <= count; ++k) {
        const double below = 2 * k + 1;
        terms.push_back({k == 1 ? 0 : (2 * k - 3) / below, (8 * k - 4) / (below * b), 1});
    }
    return terms;
}

Terms chebyshev4_optimal(int count, double b) {
    Terms terms = chebyshev4(count, b);
    const std::vector<double> weights = optimal_weights(count);
    for (std::size_t k = 0; k < terms.size(); ++k) terms[k].weight = weights[k];
    return terms;
}

}  // namespace

const char* to_string(PolynomialKind kind) {
    switch (kind) {
        case PolynomialKind::neumann:
            return "neumann";
        case PolynomialKind::least_squares:
            return "least_squares";
        case PolynomialKind::chebyshev:
            return "chebyshev";
        case PolynomialKind::chebyshev4:
            return "chebyshev4";
        case PolynomialKind::chebyshev4_optimal:
            return "chebyshev4_optimal";
    }
    return "";
}

std::vector<PolynomialTerm> polynomial_terms(PolynomialKind kind, int degree, double lower,
                                             double upper, double alpha, double beta) {
    require(degree >= 1 && degree <= 16, "polynomial_terms: the degree must be within 1..16");
    // NaN, of a matrix that is not positive definite, goes through and shows in the result.
    require(!(upper <= 0) && !std::isinf(upper),
            "polynomial_terms: the upper end of the spectrum must be positive and finite");
    if (lower < 0 || lower >= upper) {
        throw InvalidArgument("the lower end of the spectrum (" + number(lower) +
                              ") must not be negative, and below the upper one (" + number(upper) +
                              "); lower=ratio:30 is a thirtieth of that");
    }
    const int count = degree + 1;
    switch (kind) {
        case PolynomialKind::neumann:
            return neumann(count, lower > 0 ? 2 / (lower + upper) : 1 / upper);
        case PolynomialKind::least_squares:
            require(alpha > 0 && beta >= -0.5, "least_squares: alpha > 0 and beta >= -1/2");
            return jacobi(count, upper, alpha, beta);
        case PolynomialKind::chebyshev:
            require(!(lower <= 0), "chebyshev: the lower end must be positive");
            return chebyshev(count, lower, upper);
        case PolynomialKind::chebyshev4:
            return chebyshev4(count, upper);
        case PolynomialKind::chebyshev4_optimal:
            return chebyshev4_optimal(count, upper);
    }
    return {};
}

}  // namespace tessera
