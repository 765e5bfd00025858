#pragma once

#include "tessera/csr.hpp"

namespace tessera {

struct SolutionErrors {
    double backward_error = 0;   ///< The largest componentwise one, of `row`.
    Index row = -1;              ///< -1: all residuals are 0.
    double residual = 0;         ///< ||b - A x||
    double right_hand_side = 0;  ///< ||b||
};

/// The errors of a solution, row by row: the smallest changes of A and b, relative to each of their
/// entries, for which x is exact. All arrays are in the memory of `context`; b and x have A.rows
/// elements. Blocks until the work is complete.
///
/// Residuals are summed in double precision. Where rounding errors of a sum may be larger than a
/// hundredth of `tolerance` ||b|| / sqrt(rows), it is compensated, as if it were computed in twice
/// the precision (T. Ogita, S. M. Rump, S. Oishi, SIAM J. Sci. Comput. 26, 2005). A `residual` of
/// A.rows elements gets b - A x.
template <class T>
TESSERA_API SolutionErrors solution_errors(const Context& context, const CsrView<T>& matrix,
                                           std::span<const T> b, std::span<const T> x,
                                           double tolerance = 0, std::span<T> residual = {});

struct EquilibratedErrors {
    double error = 0;   ///< ||R (b - A x)|| / (||R A C|| ||C^-1 x|| + ||R b||)
    double growth = 0;  ///< ||R A C|| ||C^-1 x|| / ||R b||: about 1 / u if A is singular for b.
};

/// Errors in maximum norms after scaling by R and C, powers of two that make the largest entries of
/// rows and columns of R A C about 1 (six steps of D. Ruiz, RAL report 2001-034): a stable direct
/// solver leaves an error of some units of roundoff. Blocks until the work is complete.
template <class T>
TESSERA_API EquilibratedErrors equilibrated_errors(const Context& context, const CsrView<T>& matrix,
                                                   std::span<const T> b, std::span<const T> x);

}  // namespace tessera
