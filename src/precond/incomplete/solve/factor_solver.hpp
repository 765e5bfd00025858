#pragma once

#include "precond/incomplete/numeric/numeric_factor.hpp"
#include "precond/incomplete/solve/kernels.hpp"

namespace tessera::incomplete {

// Products with the factor M = (I + L) F (I + U) of P R A C Q and its inverse, R and C the
// scalings, P and Q the permutations of the rows and columns into slots. Work space is that of the
// Context.

/// z = C Q M^-1 P R r or, `transposed`, z = R P^T M^-T Q^T C r; `sweeps` = 0: exact triangular
/// solves. No wait.
template <class T>
void apply_inverse(const Context& context, const NumericFactor<T>& factor,
                   const Scaling<T>& scaling, int sweeps, const T* r, T* z,
                   bool transposed = false);

/// Reserves the work space of apply_inverse, which then does not allocate.
template <class T>
void reserve_apply_inverse(const Context& context, const SymbolicFactor& symbolic);

/// The triangular block matrix T = (I + V) D with X = D^-1, in slots.
template <class T>
struct TriangularFactor {
    SymbolicFactor symbolic;
    PatternView<T> pattern;
    Buffer<T> v, inverses, transposes;  ///< V, X and X^T.
};

/// x = T^-1 b or, `transposed`, T^-T b, both in the order of the matrix; x may be b. No wait. Work
/// space as of apply_inverse.
template <class T>
void solve_triangular(const Context& context, const TriangularFactor<T>& factor, bool transposed,
                      const T* b, T* x);

/// ||(M - P R A C Q) w|| / ||P R A C Q w|| for random w, infinity if it is not finite. `matrix` is
/// A, `plan` its plan. Waits.
template <class T>
double reconstruction_error(const Context& context, const NumericFactor<T>& factor,
                            const Scaling<T>& scaling, const CsrView<T>& matrix,
                            const SpmvPlan& plan);

/// The blocks of F, copied to the host.
template <class T>
std::vector<T> diagonal_blocks(const Context& context, const NumericFactor<T>& factor);

}  // namespace tessera::incomplete
