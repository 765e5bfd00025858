#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "base/checks.hpp"
#include "base/dispatch.hpp"
#include "base/phases.hpp"
#include "base/scratch/scratch.hpp"
#include "base/zeros.hpp"
#include "sparse/spectrum/lanczos_steps.hpp"
#include "sparse/spectrum/row_sum.hpp"
#include "sparse/spectrum/tridiagonal.hpp"
#include "tessera/detail/rank_rows.hpp"
#include "tessera/spectrum.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

namespace {

/// The probability that `upper` is too small.
constexpr double risk = 0.005;

/// The root beyond theta of log prod (t - theta_j) = level, at max_steps `high`.
double root_beyond(const std::vector<double>& theta, double largest, double level, double high) {
    const auto above = [&](double t) {
        double sum = 0;
        for (const double value : theta) sum += std::log(t - value);
        return sum > level;
    };
    if (!above(high)) return high;
    double low = largest;
    for (int k = 0; k < 64; ++k) {
        const double middle = low + (high - low) / 2;
        (above(middle) ? high : low) = middle;
    }
    return high;
}

/// Ritz values and the bound from the tridiagonal matrix: `off_diagonal` has as many elements as
/// `diagonal`, the last one couples to the next Lanczos vector (0: the space is invariant).
RitzValues make_ritz_values(const std::vector<double>& diagonal,
                            const std::vector<double>& off_diagonal, Offset n, double epsilon) {
    const std::vector<double> theta = tridiagonal_eigenvalues(diagonal, off_diagonal);
    RitzValues ritz;
    ritz.steps = int(diagonal.size());
    ritz.smallest = theta.front();
    ritz.largest = theta.back();
    const double scale = std::max(std::abs(ritz.smallest), std::abs(ritz.largest));
    const double rounding = 8 * epsilon * double(ritz.steps) * scale;
    ritz.upper = ritz.largest + rounding;
    if (off_diagonal.back() == 0) return ritz;
    double level = -std::log(risk * std::sqrt(std::numbers::pi / (2 * double(n))));
    for (const double beta : off_diagonal) level += std::log(beta);
    ritz.upper =
        rounding + root_beyond(theta, ritz.largest, level, ritz.largest + off_diagonal.back());
    return ritz;
}

}  // namespace

RitzValues ritz_values(std::span<const double> diagonal, std::span<const double> off_diagonal,
                       Offset rows, double epsilon) {
    require(!diagonal.empty() && diagonal.size() == off_diagonal.size(),
            "ritz_values: give as many couplings as diagonal entries, at least one");
    double scale = 0;
    std::vector<double> alphas, betas;
    for (std::size_t j = 0; j < diagonal.size(); ++j) {
        const double alpha = diagonal[j], beta = off_diagonal[j];
        alphas.push_back(alpha);
        scale = std::max({scale, std::abs(alpha), beta});
        if (!std::isfinite(alpha) || !std::isfinite(beta)) {
            const double unknown = std::numeric_limits<double>::quiet_NaN();
            return {unknown, unknown, unknown, int(j) + 1};
        }
        // The rest is rounding error: the space is invariant.
        const bool exhausted =
            beta <= 4 * epsilon * std::sqrt(double(rows)) * scale || Offset(j) + 1 == rows;
        betas.push_back(exhausted ? 0 : beta);
        if (exhausted) break;
    }
    return make_ritz_values(alphas, betas, rows, epsilon);
}

template <class T>
RitzValues lanczos(const Context& context, const Operator<T>& matrix, int steps,
                   std::uint64_t seed) {
    return lanczos(context, matrix, RankRows{0, matrix.rows()}, steps, seed);
}

template <class T>
RitzValues lanczos(const Context& context, const Operator<T>& matrix, const RankRows& rows,
                   int steps, std::uint64_t seed) {
    require(steps >= 1 && steps <= 1000, "lanczos: steps must be within 1..1000");
    check_square("lanczos", matrix.rows(), matrix.columns());
    const Offset n = matrix.rows();
    if (rows.all == 0) return {};
    const Scratch<T> first(context, n), second(context, n), third(context, n);
    std::span<T> before = first.view(), v = second.view();
    const std::span<T> w = third.view();
    const int max_steps = int(std::min<Offset>(steps, rows.all));
    // alpha and beta^2 of each step, and what is added: read at the end, with one wait.
    Buffer<T> alphas(context, max_steps), squares(context, max_steps + 1), factors(context, 3);
    T *const minus_alpha = factors.data(), *const minus_beta = minus_alpha + 1,
             *const inverse_beta = minus_alpha + 2;

    fill_normal_from<T>(context, seed, rows.first, w);
    fill(context, T(0), v);
    dot<T>(context, w, w, squares.data());
    for (int j = 0; j < max_steps; ++j) {
        // v_j = w / beta, w = A v_j - beta v_(j-1) - alpha v_j.
        for_each_index(context, 1, BetaFactors<T>{squares.data() + j, minus_beta, inverse_beta});
        std::swap(before, v);
        axpby<T>(context, inverse_beta, w, T(0), v);
        matrix.apply(context, v, w);
        if (j > 0) axpby<T>(context, minus_beta, before, T(1), w);
        dot<T>(context, v, w, alphas.data() + j);
        for_each_index(context, 1, NegateAlpha<T>{alphas.data() + j, minus_alpha});
        axpby<T>(context, minus_alpha, v, T(1), w);
        dot<T>(context, w, w, squares.data() + j + 1);
    }
    const auto alpha_of = copy_to_host(context, alphas), square_of = copy_to_host(context, squares);
    std::vector<double> diagonal(alpha_of.begin(), alpha_of.end()), off_diagonal;
    for (int j = 0; j < max_steps; ++j) {
        off_diagonal.push_back(std::sqrt(double(square_of[std::size_t(j) + 1])));
    }
    return ritz_values(diagonal, off_diagonal, rows.all, double(std::numeric_limits<T>::epsilon()));
}

template <class T>
double gershgorin_bound(const Context& context, const CsrView<T>& matrix, Input<T> scaling) {
    check_matrix("gershgorin_bound", matrix);
    check_memory(context, "gershgorin_bound", matrix);
    require(scaling.empty() ||
                (matrix.rows == matrix.columns && scaling.size() == std::size_t(matrix.rows)),
            "gershgorin_bound: scaling needs a square matrix and a number for each row");
    if (matrix.rows == 0) return 0;
    const Phase phase(context, "bounds",
                      double(matrix.nonzeros) * sizeof(T) + double(matrix.rows) * sizeof(Offset),
                      PhaseStep::setup);
    Buffer<std::uint64_t> largest = zeros<std::uint64_t>(context, 1);
    for_each_index(context, matrix.rows,
                   RowSum<T>{matrix, scaling.empty() ? nullptr : scaling.data(), largest.data()});
    return std::bit_cast<double>(copy_to_host(context, largest).front());
}

#define TESSERA_INSTANTIATE(T)                                                               \
    template RitzValues lanczos<T>(const Context&, const Operator<T>&, int, std::uint64_t);  \
    template RitzValues lanczos<T>(const Context&, const Operator<T>&, const RankRows&, int, \
                                   std::uint64_t);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

template double gershgorin_bound<float>(const Context&, const CsrView<float>&, Input<float>);
template double gershgorin_bound<double>(const Context&, const CsrView<double>&, Input<double>);

}  // namespace tessera
