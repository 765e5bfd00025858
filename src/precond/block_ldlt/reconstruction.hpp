#pragma once

#include "precond/block_ldlt/numeric/block_factor.hpp"

namespace tessera::block_ldlt {

/// ||(I + V) F (I + V)^T - A||_inf / ||A||_inf of the current factor, A the loaded matrix in its
/// grid: all of the product, also what lies outside the stored blocks. Computed in double
/// precision on the host, O(k^3 sum_j c_j^2) for c_j blocks in column j; the same bits for every
/// number of threads. Not a number where the factor is not finite. Waits.
template <class T>
double exact_reconstruction_error(const Context& context, const BlockFactor<T>& factor);

}  // namespace tessera::block_ldlt
