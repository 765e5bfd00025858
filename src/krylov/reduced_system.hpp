#pragma once

#include "krylov/reduction.hpp"
#include "tessera/operator.hpp"

namespace tessera {

/// The reduced matrix of a matrix, which must outlive it, and the way between their vectors, in the
/// memory of a Context.
template <class T>
class ReducedSystem {
  public:
    ReducedSystem(const Context& context, const CsrView<T>& given, Reduction reduction);

    const Reduction& reduction() const { return reduction_; }
    CsrView<T> matrix() const { return matrix_.view(); }
    /// The matrix of preconditioners.
    CsrView<T> preconditioner_matrix() const {
        return reduction_.preconditions_by_mean ? mean_.view() : matrix_.view();
    }
    const CsrOperator<T>& given() const { return given_; }
    Index rows() const { return Index(reduction_.kept.size()); }

    /// r = b - A x.
    void residual(std::span<const T> b, std::span<const T> x, std::span<T> r) const;
    /// x_i += r_i / a_ii for the fixed rows.
    void fix_unknowns(std::span<const T> r, std::span<T> x) const;
    /// The elements of r in the kept rows.
    void take_kept(std::span<const T> r, std::span<T> kept) const;
    /// The right-hand side of the reduced system for a correction of x, from r = b - A x.
    void restrict_residual(std::span<const T> r, std::span<T> reduced) const;
    /// x += the solution of the reduced system.
    void add(std::span<const T> reduced, std::span<T> x) const;

  private:
    const Context context_;
    const Reduction reduction_;
    CsrOperator<T> given_;
    CsrMatrix<T> matrix_, mean_;
    Buffer<Index> fixed_, kept_;
    Buffer<T> diagonal_, row_factors_, column_factors_;
};

}  // namespace tessera
