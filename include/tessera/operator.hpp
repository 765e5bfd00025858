#pragma once

#include <string>
#include <variant>
#include <vector>

#include "tessera/blocks.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

/// What is read, written or used to precondition in the value type of another argument, so that a
/// call names no type: cg(context, a, &m, b.view(), x.view()).
template <class T>
using ReadVector = std::span<const std::type_identity_t<T>>;
template <class T>
using WriteVector = std::span<std::type_identity_t<T>>;

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
    /// Of a preconditioner: blocks or rows that could not be inverted as they are.
    virtual Index singular_blocks() const { return 0; }
    /// Of a preconditioner, called by a solver that saw r^T M^-1 r <= 0. True: M was changed, and
    /// the solver may go on with it; graphs captured before stay as they were. Waits.
    virtual bool recover(const Context& context) const {
        (void)context;
        return false;
    }
};

/// Preconditions what is of type Operator<T>; null: nothing.
template <class T>
using PreconditionerPointer = const Operator<std::type_identity_t<T>>*;

/// An entry of a report: text, a number, or entries in turn, which are a list where they have no
/// names.
struct Statistic {
    std::string name;
    std::variant<std::string, Offset, double, std::vector<Statistic>> value;
};

/// One block that was singular as given.
struct SingularBlock {
    Index block = 0;
    Index first_row = 0;
    Index rows = 0;
    /// The first pivot (1-based) that is zero or not finite, or has such a reciprocal; `rows` where
    /// all pivots are usable, but an entry of the inverse overflows.
    Index info = 0;
    int shift = -1;  ///< With SingularPolicy::shift the k that was used, else -1.
};

/// What the setup of any preconditioner found.
struct PreconditionerReport {
    Offset blocks = 0;  ///< Diagonal blocks that were inverted, and the rows of the largest.
    Offset largest_block = 0;
    const BlockPartition* partition = nullptr;  ///< Of the preconditioner; null: it has none.
    std::vector<SingularBlock> first_singular;  ///< Ten at most.
    Index first_non_finite_row = -1;            ///< Of the matrix; -1: none was found.
    bool overflow = false;    ///< A finite value is infinite in the precision asked for.
    std::string unusable;     ///< Why no solve should start with it; empty: one may.
    std::vector<Statistic> statistics;  ///< Such as {"polynomial", {{"degree", 6}, ...}}.
};

/// An approximate inverse of a matrix, z = M^-1 r.
template <class T>
class TESSERA_API Preconditioner : public Operator<T> {
  public:
    /// Takes new values on the pattern it was set up with; does not allocate.
    virtual void update(const Context& context, const CsrView<T>& matrix) = 0;
    /// The normalised option text, for example "block_jacobi:32,singular=stop".
    virtual std::string describe() const = 0;
    /// What the setup found. Classes have a report() of their own type besides. Waits.
    PreconditionerReport report() const { return make_report(); }

  private:
    virtual PreconditionerReport make_report() const { return {}; }
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

/// The matrix with its values rounded to float, in memory of `context` as the one given. Without
/// waiting.
TESSERA_API CsrMatrix<float> rounded_to_float(const Context& context,
                                              const CsrView<double>& matrix);

}  // namespace tessera
