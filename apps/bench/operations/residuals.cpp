#include "operations/residuals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::bench {

namespace {

using Real = long double;

/// Column-major n x n matrix.
template <class T>
struct Matrix {
    Index n;
    std::vector<T> values;
    T& operator()(Index i, Index j) { return values[std::size_t(j) * n + i]; }
    T operator()(Index i, Index j) const { return values[std::size_t(j) * n + i]; }
};

Real infinity_norm(const Matrix<Real>& a) {
    Real norm = 0;
    for (Index i = 0; i < a.n; ++i) {
        Real sum = 0;
        for (Index j = 0; j < a.n; ++j) sum += std::abs(a(i, j));
        norm = larger(norm, sum);
    }
    return norm;
}

template <class T>
Matrix<Real> widen(Index n, const std::vector<T>& values) {
    return {n, std::vector<Real>(values.begin(), values.end())};
}

/// ||X A - I||.
Real residual(const Matrix<Real>& x, const Matrix<Real>& a) {
    Real norm = 0;
    for (Index i = 0; i < a.n; ++i) {
        Real sum = 0;
        for (Index j = 0; j < a.n; ++j) {
            Real element = i == j ? -1 : 0;
            for (Index k = 0; k < a.n; ++k) element += x(i, k) * a(k, j);
            sum += std::abs(element);
        }
        norm = larger(norm, sum);
    }
    return norm;
}

/// One step of the elimination in place; the pivot is in row k.
void eliminate(Matrix<Real>& a, Index k) {
    const Real reciprocal = 1 / a(k, k);
    for (Index j = 0; j < a.n; ++j) a(k, j) = j == k ? reciprocal : a(k, j) * reciprocal;
    for (Index i = 0; i < a.n; ++i) {
        if (i == k) continue;
        const Real factor = a(i, k);
        for (Index j = 0; j < a.n; ++j) {
            a(i, j) = j == k ? -factor * reciprocal : a(i, j) - factor * a(k, j);
        }
    }
}

/// Replaces `a` by its inverse with permuted columns, which does not change the infinity norm.
Inverse invert(Matrix<Real>& a) {
    Inverse result;
    Real largest = 0, grown = 0;
    for (const Real value : a.values) largest = std::max(largest, std::abs(value));
    const Real norm = infinity_norm(a);
    for (Index k = 0; k < a.n; ++k) {
        Index pivot = k;
        for (Index i = k + 1; i < a.n; ++i) {
            if (std::abs(a(i, k)) > std::abs(a(pivot, k))) pivot = i;
        }
        for (Index j = 0; j < a.n; ++j) std::swap(a(k, j), a(pivot, j));
        if (a(k, k) == 0) {
            result.singular = true;
            return result;
        }
        for (Index j = k; j < a.n; ++j) grown = std::max(grown, std::abs(a(k, j)));
        eliminate(a, k);
    }
    result.pivot_growth = std::max(Real(1), grown / largest);
    result.condition = norm * infinity_norm(a);
    return result;
}

template <class T>
constexpr Real eps = std::numeric_limits<T>::epsilon();

}  // namespace

template <class T>
Inverse invert_exactly(Index n, const std::vector<T>& a) {
    Matrix<Real> wide = widen(n, a);
    return invert(wide);
}

template <class T>
InverseResidualRatios inverse_residual_ratios(Index n, const std::vector<T>& a,
                                              const std::vector<T>& x) {
    const Matrix<Real> wide_a = widen(n, a), wide_x = widen(n, x);
    const Real unit = n * eps<T> * infinity_norm(wide_a) * infinity_norm(wide_x) *
                      invert_exactly(n, a).pivot_growth;
    return {double(residual(wide_x, wide_a) / unit), double(residual(wide_a, wide_x) / unit)};
}

template <class T>
double condition_error(Index n, const std::vector<T>& a, double condition) {
    const Real exact = invert_exactly(n, a).condition;
    return double(std::abs(condition / exact - 1) / (10 * n * eps<T> * exact));
}

template <class T>
double norm_error(Index n, const std::vector<T>& a, bool rows, T norm) {
    Matrix<Real> wide = widen(n, a);
    if (!rows) {
        for (Index i = 0; i < n; ++i) {
            for (Index j = 0; j < i; ++j) std::swap(wide(i, j), wide(j, i));
        }
    }
    const Real exact = infinity_norm(wide);
    return double(std::abs(norm - exact) / (n * eps<T> * exact));
}

template <class T>
double solution_error(Index n, const std::vector<T>& a, const std::vector<T>& x,
                      const std::vector<T>& b) {
    const Matrix<Real> wide = widen(n, a);
    Real worst = 0, largest = 0, sum = 0;
    for (Index i = 0; i < n; ++i) {
        Real rest = b[std::size_t(i)];
        for (Index j = 0; j < n; ++j) {
            rest -= wide(i, j) * Real(x[std::size_t(j)]);
            largest = std::max(largest, std::abs(wide(i, j)));
        }
        worst = larger(worst, std::abs(rest));
        sum += std::abs(Real(x[std::size_t(i)]));
    }
    const Real unit = 3 * Real(n) * n * eps<T> * largest * sum;
    return double(worst / (unit * invert_exactly(n, a).pivot_growth));
}

template <class T>
double product_error(Index n, const std::vector<T>& a, const std::vector<T>& v,
                     const std::vector<T>& w) {
    const Matrix<Real> wide = widen(n, a);
    Real worst = 0;
    for (Index i = 0; i < n; ++i) {
        Real sum = -Real(w[std::size_t(i)]), size = 0;
        for (Index j = 0; j < n; ++j) {
            const Real term = wide(i, j) * Real(v[std::size_t(j)]);
            sum += term;
            size += std::abs(term);
        }
        worst = larger(worst, std::abs(sum) / ((n + 1) * eps<T> * size));
    }
    return double(worst);
}

template Inverse invert_exactly(Index, const std::vector<float>&);
template Inverse invert_exactly(Index, const std::vector<double>&);
template InverseResidualRatios inverse_residual_ratios(Index, const std::vector<float>&,
                                                       const std::vector<float>&);
template InverseResidualRatios inverse_residual_ratios(Index, const std::vector<double>&,
                                                       const std::vector<double>&);
template double condition_error(Index, const std::vector<float>&, double);
template double condition_error(Index, const std::vector<double>&, double);
template double norm_error(Index, const std::vector<float>&, bool, float);
template double norm_error(Index, const std::vector<double>&, bool, double);
template double solution_error(Index, const std::vector<float>&, const std::vector<float>&,
                               const std::vector<float>&);
template double solution_error(Index, const std::vector<double>&, const std::vector<double>&,
                               const std::vector<double>&);
template double product_error(Index, const std::vector<float>&, const std::vector<float>&,
                              const std::vector<float>&);
template double product_error(Index, const std::vector<double>&, const std::vector<double>&,
                              const std::vector<double>&);

}  // namespace tessera::bench
