#pragma once

#include "precond/block_ldlt/numeric/numeric_factor.hpp"
#include "precond/block_ldlt/solve/kernels.hpp"

namespace tessera::block_ldlt {

/// Applies the factor M = (I + V) F (I + V)^T and its inverse; owns the work vectors.
template <class T>
class FactorSolver {
  public:
    FactorSolver(const Context& context, const SymbolicFactor& symbolic);

    /// z = S P^T M^-1 P S r; `sweeps` = 0: exact triangular solves. No wait, no allocation.
    void solve(const Context& context, const NumericFactor<T>& factor, std::span<const T> scale,
               int sweeps, const T* r, T* z) const;
    /// ||(M - P S A S P^T) w|| / ||P S A S P^T w|| for random w, infinity if it is not finite.
    /// `matrix` is A, `plan` its plan. Waits.
    double reconstruction_error(const Context& context, const NumericFactor<T>& factor,
                                std::span<const T> scale, const CsrView<T>& matrix,
                                const SpmvPlan& plan) const;
    /// The blocks of F, copied to the host.
    std::vector<T> diagonal_blocks(const Context& context, const NumericFactor<T>& factor) const;

  private:
    /// x = (I + V)^-1 x, or (I + V)^-T x, by `sweeps` - 1 iterations.
    void solve_by_iteration(const Context& context, const NumericFactor<T>& factor, bool upper,
                            int sweeps, T* x) const;
    /// y = (I + V)^-T F^-1 (I + V)^-1 x; x is overwritten.
    void solve_exactly(const Context& context, const NumericFactor<T>& factor, T* x, T* y) const;

    mutable std::array<Buffer<T>, 4> vectors_;
    mutable Buffer<unsigned> started_blocks_;  ///< Tickets of the two solves.
    mutable Buffer<T> partial_;                ///< Sums of pieces of long rows.
    mutable Buffer<T> sums_;                   ///< Sums of the reconstruction error.
};

}  // namespace tessera::block_ldlt
