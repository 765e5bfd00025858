#pragma once

#include "precond/block_ldlt/numeric/numeric_factor.hpp"
#include "precond/block_ldlt/solve/kernels.hpp"

namespace tessera::block_ldlt {

// Products with the factor M = (I + V) F (I + V)^T and its inverse. Work space is that of the
// Context.

/// z = S P^T M^-1 P S r; `sweeps` = 0: exact triangular solves. No wait.
template <class T>
void apply_inverse(const Context& context, const NumericFactor<T>& factor, std::span<const T> scale,
                   int sweeps, const T* r, T* z);

/// Reserves the work space of apply_inverse, which then does not allocate.
template <class T>
void reserve_apply_inverse(const Context& context, const SymbolicFactor& symbolic);

/// ||(M - P S A S P^T) w|| / ||P S A S P^T w|| for random w, infinity if it is not finite. `matrix`
/// is A, `plan` its plan. Waits.
template <class T>
double reconstruction_error(const Context& context, const NumericFactor<T>& factor,
                            std::span<const T> scale, const CsrView<T>& matrix,
                            const SpmvPlan& plan);

/// The blocks of F, copied to the host.
template <class T>
std::vector<T> diagonal_blocks(const Context& context, const NumericFactor<T>& factor);

}  // namespace tessera::block_ldlt
