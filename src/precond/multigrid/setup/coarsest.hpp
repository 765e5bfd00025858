#pragma once

#include "base/concat.hpp"
#include "base/dispatch.hpp"
#include "precond/multigrid/setup/prolongator.hpp"
#include "tessera/amg.hpp"

namespace tessera::multigrid {

/// Throws NotPositiveDefinite with the parts as its message unless the condition is true.
template <class... Parts>
void require_positive(bool condition, const Parts&... parts) {
    if (condition) return;
    throw NotPositiveDefinite(
        concat(parts..., "; for indefinite matrices use direct or block_ldlt, with sqmr or gmres"));
}

/// An inverse of a symmetric positive semidefinite matrix of n rows.
struct CoarsestInverse {
    Buffer<double> inverse;  ///< n x n, symmetric.
    int modes = 0;           ///< The dimension of the null space that was found.
};

/// The inverse, by Cholesky's factorisation on the CPU, by sweeps on a GPU. Near-null vectors that
/// the matrix maps to rounding errors (in units of `rounding`, the roundoff of the values it was
/// made of) become eigenvectors of the value 1; further unknowns whose pivots are rounding errors
/// get rows and columns of zeros. Throws NotPositiveDefinite for a matrix that is not positive
/// semidefinite. Waits.
CoarsestInverse invert_coarsest(const Context& context, const BsrMatrix<double>& matrix,
                                const DeviceVectors& near_null, double rounding);

/// Results of an elimination.
struct EliminationFaults {
    Index dependent = 0;  ///< Pivots that were rounding errors.
    Index negative = 0;   ///< Set by a negative one.
};

}  // namespace tessera::multigrid

namespace tessera {

TESSERA_BACKENDS(
    /// The inverse of a dense symmetric positive semidefinite matrix of n rows in its place,
    /// symmetric to the last bit. A pivot that is not above `tolerance` times the diagonal leaves a
    /// row and a column of zeros. Waits.
    multigrid::EliminationFaults invert_symmetric(const Context& context, Buffer<double>& matrix,
                                                  Offset n, double tolerance);)

}  // namespace tessera
