#pragma once

#include "tessera/detail/bsr.hpp"

namespace tessera::multigrid {

/// Inverts a symmetric positive definite n x n block, row-major. Returns whether all pivots are
/// positive.
bool invert_block(int n, double* a);

/// y = A x, or y += A x.
void multiply(const Context& context, const BsrView<double>& a, std::span<const double> x,
              std::span<double> y, bool add = false);

/// z = D^-1 r for the inverses of blocks of n rows, row-major.
void multiply_blocks(const Context& context, int n, const std::vector<double>& blocks,
                     std::span<const double> r, std::span<double> z);

/// The largest Ritz value of D^-1 A after ten steps of conjugate gradients on a random vector: at
/// most the largest eigenvalue, and some percent below it.
double largest_ritz_value(const Context& context, const BsrView<double>& matrix,
                          const std::vector<double>& inverse_diagonal);

}  // namespace tessera::multigrid
