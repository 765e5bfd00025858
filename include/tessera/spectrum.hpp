#pragma once

#include <limits>

#include "tessera/operator.hpp"

namespace tessera {

/// max_i sum_j |a_ij|, an upper bound of the modulus of every eigenvalue (Gershgorin) up to
/// rounding, a relative gamma_k for k entries per row. With `scaling` s the matrix has the values
/// a_ij (s_i s_j). NaN if the matrix has a NaN. Equal for every number of threads. Blocks until the
/// work is complete.
template <class T>
TESSERA_API double gershgorin_bound(const Context& context, const CsrView<T>& matrix,
                                    Input<T> scaling = {});
TESSERA_ACCEPT_OWNERS(gershgorin_bound)

/// Ritz values of a symmetric matrix after k Lanczos steps, and a bound of its eigenvalues.
struct RitzValues {
    double smallest = 0;  ///< At least the smallest eigenvalue.
    double largest = 0;   ///< At most the largest eigenvalue.
    /// An upper bound that the largest eigenvalue exceeds with a probability of at most 0.005
    /// (over the random initial vector), whatever the spectrum.
    double upper = 0;
    int steps = 0;  ///< Fewer than requested if the Krylov space became invariant.
};

/// Lanczos from Philox normals by `seed`, without reorthogonalisation, for a symmetric matrix. With
/// the Ritz values theta_j and the couplings beta_j (beta_k leads to the next step), `upper` is the
/// smaller one of the root beyond all theta_j of prod_j (t - theta_j) / prod_j beta_j = 1 / delta,
/// delta = 0.005 sqrt(pi / (2 n)) (van Dorsselaer, Hochstenbach, van der Vorst, SIAM J. Matrix
/// Anal. Appl. 22, 2000), and largest + beta_k (Zhou and Saad, J. Comput. Phys. 219, 2006). NaN
/// if a product has NaN. Throws InvalidArgument unless 1 <= steps <= 1000 and the matrix is
/// square. Blocks until the work is complete.
template <class T>
TESSERA_API RitzValues lanczos(const Context& context, const Operator<T>& matrix, int steps = 10,
                               std::uint64_t seed = 1);

/// Ritz values of Lanczos steps that the caller made, for example on distributed vectors: with
/// v_1 of norm 1, w_j = A v_j - beta_(j-1) v_(j-1), `diagonal` has the alpha_j = v_j^T w_j and
/// `off_diagonal` the beta_j = ||w_j - alpha_j v_j||, of a matrix with `rows` rows and vectors of
/// the unit roundoff epsilon / 2. Steps after a beta_j that is rounding error are ignored. Throws
/// InvalidArgument unless both have the same size, at least 1.
TESSERA_API RitzValues ritz_values(std::span<const double> diagonal,
                                   std::span<const double> off_diagonal, Offset rows,
                                   double epsilon = std::numeric_limits<double>::epsilon());

}  // namespace tessera
