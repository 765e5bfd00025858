#pragma once

#include <span>
#include <vector>

#include "tessera/types.hpp"

namespace tessera::multigrid {

/// Lower triangular factor of a dense symmetric positive definite matrix.
class DenseCholesky {
  public:
    DenseCholesky() = default;
    /// `matrix`: n x n, row-major; its lower triangle is read. Returns the first row whose pivot is
    /// below n eps times its diagonal entry, -1 if there is none.
    Index factorise(std::vector<double> matrix, Index n);
    void solve(std::span<const double> b, std::span<double> x) const;

  private:
    std::vector<double> factor_;
    std::size_t n_ = 0;
};

}  // namespace tessera::multigrid
