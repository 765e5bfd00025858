#pragma once

#include <concepts>
#include <string>
#include <variant>
#include <vector>

#include "tessera/blocks.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

/// As Input, of a vector to be written: cg(context, a, &m, b.view(), x.view()) names no type.
template <class T>
using WriteVector = std::span<std::type_identity_t<T>>;

/// A linear map y = A x on vectors in the memory of a Context. Host threads, each with a Context of
/// its own on the device of the operator, may use one at the same time through const functions.
template <class T>
class TESSERA_API Operator {
  public:
    virtual ~Operator() = default;
    virtual Index rows() const = 0;
    virtual Index columns() const = 0;
    /// y = A x; no overlap. Unless can_be_captured() is false, it only enqueues work on `context`,
    /// whose stream() may be another one in each call: no copy to the host and, from the second
    /// call on this Context on, no allocation.
    virtual void apply(const Context& context, std::span<const T> x, std::span<T> y) const = 0;
    /// y = A x and *xy = x^T y, A square; no overlap. By default apply, then dot.
    virtual void apply_dot(const Context& context, std::span<const T> x, std::span<T> y,
                           T* xy) const {
        apply(context, x, y);
        dot<T>(context, x, y, xy);
    }
    /// recurrence_step with q = A x, A square. `next` may be y; otherwise no overlap, but r may
    /// be x. `work` is as long as y and may be overwritten. The values are those of apply and
    /// recurrence_step to the last bit.
    virtual void apply_step(const Context& context, const RecurrenceStep<T>& step,
                            std::span<const T> x, std::span<const T> y, std::span<const T> r,
                            std::span<T> next, std::span<T> work) const {
        apply(context, x, work);
        recurrence_step<T>(context, step, work, x, y, r, next);
    }
    /// y_j = A x_j for several vectors, each as by apply to the last bit; no overlap. By default
    /// one apply after the other.
    virtual void apply_vectors(const Context& context, Vectors<const T> x, Vectors<T> y) const {
        detail::check_same_count<T>({x, y});
        for (int j = 0; j < x.count; ++j) apply(context, x[j], y[j]);
    }
    /// apply_step for several vectors. By default for one apply_step, else apply_vectors, then
    /// recurrence_step.
    virtual void apply_step_vectors(const Context& context, const RecurrenceStep<T>& step,
                                    Vectors<const T> x, Vectors<const T> y, Vectors<const T> r,
                                    Vectors<T> next, Vectors<T> work) const {
        detail::check_same_count<T>({x, y, r, next, work});
        if (x.count == 1) return apply_step(context, step, x[0], y[0], r[0], next[0], work[0]);
        apply_vectors(context, x, work);
        for (int j = 0; j < x.count; ++j) {
            recurrence_step<T>(context, step, work[j], x[j], y[j], r[j], next[j]);
        }
    }
    /// If false, solvers on a GPU call apply in each iteration instead of recording it in a CUDA
    /// graph, so that it may block, copy to the host and allocate.
    virtual bool can_be_captured() const { return true; }
    /// Number of blocks or rows that a preconditioner could not invert as given.
    virtual Index singular_blocks() const { return 0; }
    /// Called by a solver on its preconditioner after r^T M^-1 r <= 0. `known`: recoveries() when
    /// the solver began to use M. Returns true if M has changed since, by this call or another
    /// thread, so that the solver may continue with it; graphs captured before still apply the old
    /// M. Threads that apply M meanwhile apply the old one or the new one. Blocks until the work is
    /// complete.
    virtual bool recover(const Context& context, Offset known) const {
        static_cast<void>(context);
        static_cast<void>(known);
        return false;
    }
    /// Number of times that `recover` changed M.
    virtual Offset recoveries() const { return 0; }
};

namespace detail {
template <class T>
class OperatorPointer {
  public:
    OperatorPointer(const Operator<T>* pointer) : pointer_(pointer) {}  // NOLINT: implicit
    template <class Owner>
    requires requires(const Owner& owner) {
        { owner.get() } -> std::convertible_to<const Operator<T>*>;
    }
    OperatorPointer(const Owner& owner) : pointer_(owner.get()) {}  // NOLINT: implicit
    operator const Operator<T>*() const { return pointer_; }        // NOLINT: implicit

  private:
    const Operator<T>* pointer_;
};
}  // namespace detail

/// A preconditioner parameter: its address, or a std::unique_ptr or std::shared_ptr that holds it;
/// T is deduced from the matrix; null: no preconditioner.
template <class T>
using PreconditionerPointer = detail::OperatorPointer<std::type_identity_t<T>>;

struct ReportValue;
/// Not a plain std::vector: libstdc++ 12 assumes that a variant of vectors and texts always holds a
/// value, and copying one where memory runs out is then undefined.
struct ReportValues : std::vector<ReportValue> {
    using std::vector<ReportValue>::vector;
};

/// One named value of a report: a text, a number, or nested values (a list, if they have no names).
struct ReportValue {
    std::string name;
    std::variant<std::string, Offset, double, ReportValues> value;
};

/// One block that was singular as given.
struct SingularBlock {
    Index block = 0;
    Index first_row = 0;
    Index rows = 0;
    /// The first pivot (1-based) that is zero or not finite, or has such a reciprocal; `rows` if
    /// all pivots are usable, but an entry of the inverse overflows.
    Index info = 0;
    int shift = -1;  ///< With SingularPolicy::shift the k that was used, else -1.
};

/// Report of the setup of any preconditioner.
struct PreconditionerReport {
    Offset blocks = 0;                          ///< Number of inverted diagonal blocks.
    Offset largest_block = 0;                   ///< Rows of the largest block.
    const BlockPartition* partition = nullptr;  ///< Partition into these blocks; null: none.
    std::vector<SingularBlock> first_singular;  ///< The first ten at most.
    Index first_non_finite_row = -1;            ///< First row with a NaN or infinity; -1: none.
    /// A value overflows in the precision requested, or all of a block underflow.
    bool overflow = false;
    std::string unusable;  ///< Why it cannot be used; empty: it can.
    /// Why the matrix is singular, or nearly, as exact factors found it; empty: no such finding.
    std::string singular;
    std::vector<std::string> warnings;  ///< What makes solves slow, and the remedy.
    /// Groups of values, such as {"polynomial", ReportValues{{"degree", Offset(6)}}}.
    ReportValues values;
};

/// An approximate inverse of a matrix, z = M^-1 r.
template <class T>
class TESSERA_API Preconditioner : public Operator<T> {
  public:
    /// Sets up again for new values on the same pattern; memory that it allocates is free again at
    /// its end, unless its own comment says otherwise.
    virtual void update(const Context& context, const CsrView<T>& matrix) = 0;
    /// The normalised option text, for example "block_jacobi:32,singular=stop".
    virtual std::string describe() const = 0;
    /// The report of the setup; classes may have a report() of their own type, too. Blocks until
    /// the work is complete, on the Context of the setup: no other thread may use that at the same
    /// time.
    PreconditionerReport report() const { return make_report(); }

  private:
    virtual PreconditionerReport make_report() const { return {}; }
};

/// A CSR matrix as an Operator. The matrix's arrays must outlive it. Move-only; a moved-from
/// operator has no rows and no columns, and cannot be applied.
template <class T>
class TESSERA_API CsrOperator final : public Operator<T> {
  public:
    CsrOperator(const Context& context, const CsrView<T>& matrix)
        : matrix_(matrix), plan_(plan_spmv(context, matrix)) {}
    /// A temporary matrix would not outlive it.
    CsrOperator(const Context&, CsrMatrix<T>&&) = delete;
    /// New values on the same pattern, which is not compared; their arrays must outlive it.
    void update(const CsrView<T>& matrix) { matrix_ = matrix; }
    Index rows() const override { return rows_; }
    Index columns() const override { return columns_; }
    void apply(const Context& context, std::span<const T> x, std::span<T> y) const override {
        multiply(context, matrix_, plan_, T(1), x, T(0), y);
    }
    void apply_vectors(const Context& context, Vectors<const T> x, Vectors<T> y) const override {
        multiply(context, matrix_, plan_, T(1), x, T(0), y);
    }
    const CsrView<T>& matrix() const { return matrix_; }

  private:
    CsrView<T> matrix_;
    detail::ZeroAfterMove<Index> rows_ = matrix_.rows, columns_ = matrix_.columns;
    SpmvPlan plan_;
};
template <class T>
CsrOperator(const Context&, const CsrMatrix<T>&) -> CsrOperator<T>;

/// The reason, with one of the values, why a matrix or vector in host memory must not be rounded to
/// float; empty if it may. No value may overflow. A value may underflow (below 2^-126) unless it is
/// the largest of its row, column or vector, or a diagonal entry that would become 0.
TESSERA_API std::string float_range_fault(const CsrView<double>& matrix);
TESSERA_API std::string float_range_fault(std::span<const double> vector);

/// The matrix with its values rounded to float; both are in the memory of `context`. Infinity and 0
/// are possible (float_range_fault). Does not block.
TESSERA_API CsrMatrix<float> rounded_to_float(const Context& context,
                                              const CsrView<double>& matrix);

}  // namespace tessera
