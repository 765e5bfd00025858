#pragma once

#include "tessera/csr.hpp"

namespace tessera {

/// A symmetric matrix A scaled from both sides to S A S with S = diag(a_ii)^(-1/2), whose diagonal
/// is 1 up to rounding, in the memory of a Context. The scaled values are a_ij (s_i s_j), bitwise
/// equal for (i, j) and (j, i) where those of A are. A x = b becomes (S A S) y = S b with x = S y,
/// and an approximate inverse M of S A S one of A: S M S.
template <class T>
class SymmetricScaling {
  public:
    /// Throws InvalidArgument unless the matrix is square. Without `keeps_matrix` only S is
    /// computed, and matrix() is empty. Waits.
    SymmetricScaling(const Context& context, const CsrView<T>& matrix, bool keeps_matrix = true);
    /// S A S with arrays of its own.
    CsrView<T> matrix() const { return scaled_.view(); }
    /// New values on the same pattern; does not allocate. Waits.
    void update(const Context& context, const CsrView<T>& matrix);
    /// The diagonal of S.
    std::span<const T> diagonal() const { return diagonal_.view(); }
    /// Rows whose diagonal entry is missing, not positive, or not finite, so that A is not positive
    /// definite; S is NaN there.
    Index not_positive() const { return not_positive_; }
    /// The first of these rows, -1: none.
    Index first_not_positive() const { return first_not_positive_; }

  private:
    Index rows_;
    Offset nonzeros_;
    CsrMatrix<T> scaled_;  ///< No rows: not stored.
    Buffer<T> diagonal_;
    Buffer<Index> bad_rows_;
    Buffer<int> any_bad_;
    Index not_positive_ = 0, first_not_positive_ = -1;
};

}  // namespace tessera
