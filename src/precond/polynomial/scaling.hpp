#pragma once

#include <memory>

#include "tessera/blocks.hpp"

namespace tessera {

/// A symmetric matrix A scaled from both sides to S A S^T, whose diagonal (or diagonal blocks) is
/// the identity up to rounding, in the memory of a Context:
///   point: S = diag(a_ii)^(-1/2); the scaled values are a_ij (s_i s_j), equal in every bit for
///     (i, j) and (j, i) where those of A are;
///   block: S = diag(L_b^-1) with the Cholesky factors of the diagonal blocks A_bb = L_b L_b^T.
/// A x = b becomes (S A S^T) y = S b with x = S^T y, and an approximate inverse M of S A S^T one of
/// A: S^T M S. Equal in every bit for every number of threads.
template <class T>
class SymmetricScaling {
  public:
    /// Point scaling. Throws InvalidArgument unless the matrix is square. Without `keeps_matrix`
    /// there is S alone, and no matrix(). Waits.
    SymmetricScaling(const Context& context, const CsrView<T>& matrix, bool keeps_matrix = true);
    /// Block scaling; blocks must be full: the rows of one have the same columns, and whole blocks
    /// of columns, as find_blocks with Blocking::natural gives for a symmetric pattern. Throws
    /// InvalidArgument that names the first row where that is not so. Waits.
    SymmetricScaling(const Context& context, const CsrView<T>& matrix,
                     const BlockPartition& blocks);
    ~SymmetricScaling();
    /// S A S^T with arrays of its own. No rows where it is not kept.
    CsrView<T> matrix() const;
    /// New values on the same pattern; does not allocate. Waits.
    void update(const Context& context, const CsrView<T>& matrix);
    /// y = S x and y = S^T x; no overlap with block scaling.
    void apply(const Context& context, std::span<const T> x, std::span<T> y) const;
    void apply_transposed(const Context& context, std::span<const T> x, std::span<T> y) const;
    /// The diagonal of S with point scaling, else empty.
    std::span<const T> diagonal() const;
    /// Rows whose pivot (with point scaling: diagonal entry) is missing, not positive, or not
    /// finite, so that A is not positive definite; S, and what it scales, is NaN there.
    Index not_positive() const;
    /// The first of them, -1: none.
    Index first_not_positive() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace tessera
