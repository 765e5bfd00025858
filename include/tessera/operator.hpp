#pragma once

#include <string>

#include "tessera/csr.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

/// A linear map y = A x on vectors in the memory of a Context.
template <class T>
class TESSERA_API Operator {
  public:
    virtual ~Operator() = default;
    virtual Index rows() const = 0;
    virtual Index columns() const = 0;
    /// y = A x; no overlap. Only gives work to `context`: no allocation, no copy to the host, so
    /// that it can be captured in a graph.
    virtual void apply(const Context& context, std::span<const T> x, std::span<T> y) const = 0;
    /// y = A x and *xy = x^T y, A square; no overlap. What is not one kernel is these two.
    virtual void apply_dot(const Context& context, std::span<const T> x, std::span<T> y,
                           T* xy) const {
        apply(context, x, y);
        dot<T>(context, x, y, xy);
    }
    /// recurrence_step with q = A x, A square. `next` may be y; otherwise no overlap, but r may
    /// be x. `work` has as many elements and may be overwritten. The values are those of apply and
    /// recurrence_step to the last bit.
    virtual void apply_step(const Context& context, const RecurrenceStep<T>& step,
                            std::span<const T> x, std::span<const T> y, std::span<const T> r,
                            std::span<T> next, std::span<T> work) const {
        apply(context, x, work);
        recurrence_step<T>(context, step, work, x, y, r, next);
    }
};

/// An approximate inverse of a matrix, z = M^-1 r.
template <class T>
class TESSERA_API Preconditioner : public Operator<T> {
  public:
    /// Takes new values on the pattern it was set up with; does not allocate.
    virtual void update(const Context& context, const CsrView<T>& matrix) = 0;
    /// The normalised option text, for example "block_jacobi:32,singular=stop".
    virtual std::string describe() const = 0;
    /// Number of blocks that could not be inverted as they are.
    virtual Index singular_blocks() const { return 0; }
};

/// A CSR matrix as an Operator. The view's arrays must outlive it.
template <class T>
class TESSERA_API CsrOperator final : public Operator<T> {
  public:
    CsrOperator(const Context& context, const CsrView<T>& matrix)
        : matrix_(matrix), plan_(plan_spmv(context, matrix)) {}
    Index rows() const override { return matrix_.rows; }
    Index columns() const override { return matrix_.columns; }
    void apply(const Context& context, std::span<const T> x, std::span<T> y) const override {
        multiply(context, matrix_, plan_, T(1), x, T(0), y);
    }
    const CsrView<T>& matrix() const { return matrix_; }

  private:
    CsrView<T> matrix_;
    SpmvPlan plan_;
};

}  // namespace tessera
