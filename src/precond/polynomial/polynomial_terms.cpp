#include <array>
#include <cmath>

#include "base/dispatch.hpp"
#include "tessera/polynomial.hpp"

namespace tessera {

namespace {

using Terms = std::vector<PolynomialTerm>;

std::string number(double value) { return number_text(value, std::chars_format::general, 4); }

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

/// The weights of R = 1 - sum_k weight_k (R_(k-1) - R_k), R_k those of the fourth kind, that make
/// the largest t R^2 / (1 - R^2) on (0, b] least, for 2 .. 17 terms: R sqrt(1 + t / gamma) swings
/// between +1 and -1 at as many points, and R'(0) = -1 / (2 gamma) (Lottes 2022). Computed by
/// Remez' exchange; right to about 1e-12.
constexpr std::array optimal_weights = {
    1.02387287570313, 1.26408905371086, 1.00842544782028, 1.08867839208731, 1.33753125909619,
    1.00391310427285, 1.04035811188593, 1.14863498546255, 1.38268869241001, 1.00212930146165,
    1.02173711549261, 1.07872433192603, 1.19810065292663, 1.41322542791682, 1.0012851725594,
    1.01304293035233, 1.04678215124113, 1.11616489419675, 1.23829020218445, 1.43524297106745,
    1.00083464397912, 1.00843949430123, 1.03008707768714, 1.07408384092004, 1.15036186707366,
    1.2711647404614,  1.45186658649364, 1.00057246631198, 1.00577427662416, 1.02050187922941,
    1.05019803444565, 1.10115572984941, 1.18086042806857, 1.29838585382576, 1.464860731511,
    1.00040960072833, 1.00412439506107, 1.01460212148267, 1.03561113626672, 1.07139972529194,
    1.12688273710963, 1.20785219140729, 1.32121930716746, 1.475296428207,   1.00030312229653,
    1.00304840660797, 1.01077022715387, 1.0261901159764,  1.05231724933755, 1.0925574320755,
    1.15083376663972, 1.23172250870895, 1.3406080202446,  1.48386124407011, 1.00023058595209,
    1.00231675024028, 1.00817245396305, 1.01982986566342, 1.03950210235325, 1.06965042700542,
    1.11305754295743, 1.17290876275564, 1.25288300576792, 1.35725579919519, 1.49101672564139,
    1.00017947200828, 1.0018018913962,  1.00634861907308, 1.01537864566306, 1.0305694283076,
    1.05376019693944, 1.08699862592073, 1.13259183097914, 1.19316273358172, 1.27171293675111,
    1.37169337969799, 1.49708418575562, 1.0001424192156,  1.0014290693263,  1.00503028986298,
    1.01216910518495, 1.02414874342793, 1.0423815888082,  1.06842008128701, 1.1039901093676,
    1.15102748242646, 1.21171811910125, 1.28854264865128, 1.38432619380991, 1.50229418757369,
    1.00011490538262, 1.00115246376915, 1.00405357333265, 1.00979590573153, 1.01941300472995,
    1.03401425035437, 1.05480599606629, 1.08311420301813, 1.12040891660892, 1.16833095655446,
    1.22872122288239, 1.30365305707817, 1.39546814053678, 1.50681646209584, 1.00009404750753,
    1.00094291696343, 1.00331449056445, 1.00800294833816, 1.01584236259141, 1.02772083317705,
    1.04459535422832, 1.06750761206125, 1.0976009254589,  1.13613855366157, 1.18452361426236,
    1.24432087304476, 1.31728069083393, 1.4053654389356,  1.51077872501845, 1.00007794828179,
    1.00078126847253, 1.00274487974401, 1.00662291017015, 1.01309858836971, 1.02289448329337,
    1.03678321409984, 1.05559875719897, 1.0802484840556,  1.11172607131498, 1.15112543431072,
    1.19965584614974, 1.25865841744946, 1.32962412656665, 1.41421360695576, 1.51427891730346,
    1.00006532421835, 1.00065457229394, 1.00229877774486, 1.00554326911736, 1.01095500750169,
    1.01913015411687, 1.03070194811914, 1.04634897780008, 1.06680393215691, 1.09286292447318,
    1.12539548508825, 1.16535532700759, 1.21379199547431, 1.2718635211544,  1.34085020626151,
    1.42216968385262, 1.51739340276302};

Terms chebyshev4_optimal(int count, double b) {
    Terms terms = chebyshev4(count, b);
    const double* weights = &optimal_weights[std::size_t(count * (count - 1) / 2 - 1)];
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
    // NaN, of a matrix that is not positive definite, propagates to the result.
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
