#include "krylov/soft_modes.hpp"

#include <cmath>
#include <limits>

#include "base/scratch/scratch.hpp"
#include "krylov/norms.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

namespace {

/// z^T A z / z^T z.
template <class T>
double rayleigh_quotient(const Context& context, const CsrView<T>& matrix, const SpmvPlan& plan,
                         std::span<const T> z) {
    const Scratch<T> product(context, Offset(z.size()));
    multiply<T>(context, matrix, plan, T(1), z, T(0), product.view());
    const double size = norm(context, z);
    return double(dot_to_host<T>(context, product.view(), z)) / (size * size);
}

}  // namespace

template <class T>
SoftModes<T> SoftModes<T>::found(const Context& context, const CsrView<T>& matrix,
                                 const MatrixFacts& facts, const NodeCoordinates& coordinates) {
    constexpr double epsilon = double(std::numeric_limits<T>::epsilon());
    SoftModes modes;
    // In single precision rounding errors hide them.
    if (sizeof(T) < 8 || !facts.symmetric || !facts.positive_diagonal || facts.row_sums_vanish ||
        facts.has_fixed_rows)
        return modes;
    const SpmvPlan plan = plan_spmv(context, matrix);
    const Scratch<T> vector(context, matrix.rows);
    // Its expected quotient is the mean eigenvalue.
    fill_normal(context, 1, vector.view());
    const double mean = rayleigh_quotient<T>(context, matrix, plan, vector.view());
    const auto is_soft = [&](std::span<const T> z) {
        return rayleigh_quotient<T>(context, matrix, plan, z) <= 1e-6 * mean;
    };
    fill(context, T(1), vector.view());
    if (!is_soft(vector.view())) return modes;
    const NearNullSpace vectors = null_vector_candidates(facts, coordinates);
    for (int c = 0; c < vectors.columns; ++c) {
        const Buffer<T> z = column_of<T>(context, vectors, c);
        if (is_soft(z.view())) modes.space_.add(context, z.view());
    }
    if (modes.is_empty()) modes.space_.add(context, vector.view());
    if (!modes.factor(context, matrix, 64 * epsilon * mean)) return {};
    return modes;
}

/// Factors Z^T A Z by Cholesky; false where a square of the factor's diagonal is below `smallest`.
template <class T>
bool SoftModes<T>::factor(const Context& context, const CsrView<T>& matrix, double smallest) {
    const int k = space_.vectors();
    const SpmvPlan plan = plan_spmv(context, matrix);
    const Scratch<T> product(context, matrix.rows), energies(context, k);
    std::vector<T> row(std::size_t(k), T(0));
    factor_.assign(std::size_t(k) * std::size_t(k), 0.0);
    const auto l = [&](int i, int j) -> double& { return factor_[std::size_t(i * k + j)]; };
    for (int i = 0; i < k; ++i) {
        multiply<T>(context, matrix, plan, T(1), space_.vector(i), T(0), product.view());
        dots<T>(context, k, space_.basis(), product.view(), energies.data());
        copy_to_host(context, std::span<const T>(energies.view()), std::span<T>(row));
        for (int j = 0; j <= i; ++j) {
            double sum = double(row[std::size_t(j)]);
            for (int m = 0; m < j; ++m) sum -= l(i, m) * l(j, m);
            if (i == j && !(sum > smallest)) return false;
            l(i, j) = i == j ? std::sqrt(sum) : sum / l(j, j);
        }
    }
    return true;
}

template <class T>
void SoftModes<T>::correct(const Context& context, const CsrView<T>& matrix, std::span<const T> b,
                           std::span<T> x) const {
    const int k = space_.vectors();
    if (k == 0) return;
    const Scratch<T> residual(context, matrix.rows), coefficients(context, k);
    copy<T>(context, b, residual.view());
    multiply<T>(context, matrix, plan_spmv(context, matrix), T(-1), std::span<const T>(x), T(1),
                residual.view());
    dots<T>(context, k, space_.basis(), residual.view(), coefficients.data());
    std::vector<T> c(std::size_t(k), T(0));
    copy_to_host(context, std::span<const T>(coefficients.view()), std::span<T>(c));
    std::vector<double> y(c.begin(), c.end());
    const auto l = [&](int i, int j) { return factor_[std::size_t(i * k + j)]; };
    for (int i = 0; i < k; ++i) {
        for (int j = 0; j < i; ++j) y[std::size_t(i)] -= l(i, j) * y[std::size_t(j)];
        y[std::size_t(i)] /= l(i, i);
    }
    for (int i = k; i-- > 0;) {
        for (int j = i + 1; j < k; ++j) y[std::size_t(i)] -= l(j, i) * y[std::size_t(j)];
        y[std::size_t(i)] /= l(i, i);
        c[std::size_t(i)] = T(y[std::size_t(i)]);
    }
    copy_from_host(context, std::span<const T>(c), coefficients.view());
    combine<T>(context, k, space_.basis(), coefficients.data(), T(1), x);
}

template class SoftModes<float>;
template class SoftModes<double>;

}  // namespace tessera
