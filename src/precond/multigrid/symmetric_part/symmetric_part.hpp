#pragma once

#include <functional>

#include "tessera/operator.hpp"

namespace tessera {

/// A preconditioner of the symmetric part S = (A + A^T) / 2 of a square matrix in place of A, for
/// solvers that do not need it to be symmetric. With the exact inverse of a positive definite S the
/// eigenvalues of S^-1 A are 1 + i y, |y| at most the largest |x^T N x| / x^T S x of the skew part
/// N = (A - A^T) / 2: few iterations where convection is mild. Source: P. Concus, G. H. Golub, "A
/// generalized conjugate gradient method for nonsymmetric systems of linear equations", Lecture
/// Notes in Economics and Mathematical Systems 134 (1976), pp. 56-65.
template <class T>
class OfSymmetricPart final : public Preconditioner<T> {
  public:
    using Make = std::function<std::unique_ptr<Preconditioner<T>>(const CsrView<T>& part)>;
    /// make(S) sets up the preconditioner; S outlives it. The pattern is found on the host. Waits.
    OfSymmetricPart(const Context& context, const CsrView<T>& matrix, const Make& make);
    Index rows() const override { return part_.rows(); }
    Index columns() const override { return rows(); }
    void apply(const Context& context, std::span<const T> r, std::span<T> z) const override {
        of_part_->apply(context, r, z);
    }
    void apply_vectors(const Context& context, Vectors<const T> r, Vectors<T> z) const override {
        of_part_->apply_vectors(context, r, z);
    }
    /// Throws InvalidArgument, and changes nothing, if the pattern differs.
    void update(const Context& context, const CsrView<T>& matrix) override;
    std::string describe() const override { return of_part_->describe() + ",symmetric_part=on"; }
    bool can_be_captured() const override { return of_part_->can_be_captured(); }
    Index singular_blocks() const override { return of_part_->singular_blocks(); }
    bool recover(const Context& context, Offset known) const override {
        return of_part_->recover(context, known);
    }
    Offset recoveries() const override { return of_part_->recoveries(); }

  private:
    PreconditionerReport make_report() const override { return of_part_->report(); }
    void load(const Context& context, const CsrView<T>& matrix);

    Offset nonzeros_;
    CsrMatrix<T> part_;
    std::unique_ptr<Preconditioner<T>> of_part_;
};

}  // namespace tessera
