#pragma once

#include "precond/polynomial/scaling_rows.hpp"
#include "tessera/blocks.hpp"
#include "tessera/factor.hpp"

namespace tessera {

/// A symmetric matrix A scaled from both sides to S A S^T, whose diagonal (or diagonal blocks) is
/// the identity up to rounding, in the memory of a Context:
///   point: S = diag(a_ii)^(-1/2); the scaled values are a_ij (s_i s_j), bitwise equal for
///     (i, j) and (j, i) where those of A are;
///   block: S = diag(L_b^-1) with the Cholesky factors of the diagonal blocks A_bb = L_b L_b^T.
/// A x = b becomes (S A S^T) y = S b with x = S^T y, and an approximate inverse M of S A S^T one of
/// A: S^T M S. Bitwise equal for every number of threads.
template <class T>
class SymmetricScaling {
  public:
    /// Point scaling. Throws InvalidArgument unless the matrix is square. Without `keeps_matrix`
    /// only S is computed, and matrix() is empty. Waits.
    SymmetricScaling(const Context& context, const CsrView<T>& matrix, bool keeps_matrix = true);
    /// Block scaling; blocks must be full: all rows of one have equal columns, in whole blocks of
    /// columns, as find_blocks with Blocking::natural gives for a symmetric pattern. Throws
    /// InvalidArgument that names the first row at fault. Waits.
    SymmetricScaling(const Context& context, const CsrView<T>& matrix,
                     const BlockPartition& blocks);
    /// S A S^T with arrays of its own. Empty if the scaled matrix is not stored.
    CsrView<T> matrix() const { return scaled_.view(); }
    /// New values on the same pattern; does not allocate. Waits.
    void update(const Context& context, const CsrView<T>& matrix);
    /// y = S x and y = S^T x; no overlap with block scaling.
    void apply(const Context& context, const Vectors<const T>& x, const Vectors<T>& y) const {
        multiply(context, false, x, y);
    }
    void apply_transposed(const Context& context, const Vectors<const T>& x,
                          const Vectors<T>& y) const {
        multiply(context, true, x, y);
    }
    /// The diagonal of S with point scaling, else empty.
    std::span<const T> diagonal() const { return diagonal_.view(); }
    /// Rows whose pivot (with point scaling: diagonal entry) is missing, not positive, or not
    /// finite, so that A is not positive definite; S, and vectors scaled by it, are NaN there.
    Index not_positive() const { return not_positive_; }
    /// The first of these rows, -1: none.
    Index first_not_positive() const { return first_not_positive_; }

  private:
    void copy_pattern(const Context& context, const CsrView<T>& matrix);
    void make_blocks(const Context& context, const BlockPartition& blocks);
    void multiply(const Context& context, bool transposed, const Vectors<const T>& x,
                  const Vectors<T>& y) const;
    void read_faults(const Context& context);
    /// V: T or const T.
    template <class V>
    scaling::Blocks<V> blocks_of(V* values) const {
        return {starts_.data(), block_of_row_.data(), offsets_.data(), values};
    }

    Index rows_;
    Offset nonzeros_;
    CsrMatrix<T> scaled_;  ///< No rows: not stored.
    Buffer<T> diagonal_;   ///< Diagonal of point scaling.
    // Block scaling: the blocks, and their Cholesky factors L_b with the inverses of these.
    Buffer<Index> starts_, block_of_row_, sizes_, info_;
    Buffer<Offset> offsets_;
    Buffer<T> factors_, inverses_;
    batched::Plan plan_;
    Buffer<scaling::Fault> row_faults_;
    Buffer<int> any_fault_;
    Index not_positive_ = 0, first_not_positive_ = -1;
};

}  // namespace tessera
