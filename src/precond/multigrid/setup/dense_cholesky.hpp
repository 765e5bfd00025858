#pragma once

#include <vector>

#include "tessera/context.hpp"

namespace tessera::multigrid {

/// The inverse of a symmetric positive definite n x n matrix in host memory, row-major, in its
/// place; the lower triangle is read, by Cholesky's factorisation. Returns the first row whose
/// pivot is below n eps times its diagonal entry, the matrix then spoilt; -1 if there is none.
Index invert_positive_definite(const Context& context, std::vector<double>& matrix, Index n);

}  // namespace tessera::multigrid
