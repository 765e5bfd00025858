#pragma once

#include <vector>

#include "tessera/types.hpp"

/// Errors of results in units of their bounds, computed in long double. Matrices are column-major
/// without padding. All return NaN if the result has one.
namespace tessera::bench {

/// max(a, b); NaN if either is NaN.
template <class Real>
Real larger(Real a, Real b) {
    return a > b || a != a ? a : b;
}

/// The inverse by Gauss-Jordan elimination with partial pivoting, and the quantities in its bounds.
struct Inverse {
    bool singular = false;         ///< A pivot was exactly zero.
    long double condition = 0;     ///< ||A|| ||A^-1||, infinity norm.
    long double pivot_growth = 1;  ///< max(1, max |u_kj| / max |a_ij|).
};
template <class T>
Inverse invert_exactly(Index n, const std::vector<T>& a);

struct InverseResidualRatios {
    double left = 0;   ///< ||X A - I||.
    double right = 0;  ///< ||A X - I||.
};
/// Residuals in units of n eps ||A|| ||X|| max(1, pivot growth), infinity norm.
template <class T>
InverseResidualRatios inverse_residual_ratios(Index n, const std::vector<T>& a,
                                              const std::vector<T>& x);

/// |c / kappa - 1| in units of 10 n eps kappa.
template <class T>
double condition_error(Index n, const std::vector<T>& a, double condition);

/// |norm - exact| in units of n eps exact; the sums run over rows or columns.
template <class T>
double norm_error(Index n, const std::vector<T>& a, bool rows, T norm);

/// The worst row of |b - A x| in units of 3 n^2 eps max |a_ij| ||x||_1 max(1, pivot growth).
template <class T>
double solution_error(Index n, const std::vector<T>& a, const std::vector<T>& x,
                      const std::vector<T>& b);

/// The worst row of |w - A v| in units of (n + 1) eps |A| |v|.
template <class T>
double product_error(Index n, const std::vector<T>& a, const std::vector<T>& v,
                     const std::vector<T>& w);

}  // namespace tessera::bench
