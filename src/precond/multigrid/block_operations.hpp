#pragma once

#include "tessera/detail/bsr.hpp"

namespace tessera::multigrid {

/// a becomes L^-1 for a = L L^T, a symmetric positive definite n x n block, row-major. False if it
/// is not positive definite.
bool invert_factor(int n, double* a);

/// y = A x, or y += A x.
void multiply(const Context& context, const BsrView<double>& a, std::span<const double> x,
              std::span<double> y, bool add = false);

/// z = D r for a block diagonal matrix D, blocks of n rows, row-major.
void multiply_blocks(const Context& context, int n, const std::vector<double>& blocks,
                     std::span<const double> r, std::span<double> z);

/// The largest Ritz value of D^-1 A after ten steps: at most the largest eigenvalue, and some
/// percent below it. `inverse_factors`: L^-1 of each diagonal block L L^T.
double largest_ritz_value(const Context& context, const BsrView<double>& matrix,
                          const std::vector<double>& inverse_factors);

}  // namespace tessera::multigrid
