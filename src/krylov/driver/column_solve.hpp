#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/phases.hpp"
#include "krylov/messages.hpp"
#include "krylov/method.hpp"
#include "krylov/norms.hpp"
#include "krylov/range_scaling.hpp"
#include "krylov/scaled_operator.hpp"
#include "tessera/krylov.hpp"

namespace tessera {

/// What the solves of several right-hand sides share.
template <class T>
struct SharedSolve {
    SharedSolve(const Context& chosen, const Operator<T>& a, const Operator<T>* m)
        : context(chosen),
          scaled(a),
          matrix(m == nullptr ? static_cast<const Operator<T>&>(scaled) : a),
          preconditioner(m),
          norm(context),
          work(context, a.rows()) {}

    const Context context;
    ScaledOperator<T> scaled;  ///< Not used with a preconditioner, which undoes the scale of A.
    const Operator<T>& matrix;
    const Operator<T>* preconditioner;
    Norms<T> norm;
    Buffer<T> work;
    /// b and x, copied and perhaps scaled, x at the latest start and, with left preconditioning,
    /// M^-1 b.
    std::unique_ptr<VectorSet<T>> vectors;
    std::unique_ptr<Method<T>> method;
    bool left = false;
    // The solve at work.
    const SolveOptions* options = nullptr;  ///< Options of the caller.
    Offset known_recoveries = 0;            ///< Recoveries of the preconditioner in use.
    bool recovered = false;  ///< The preconditioner changed since the driver last looked.
    bool restarted = false;  ///< A column started again since then.
    bool unusual_b = false;  ///< ||b|| of a column is so far from 1 that ||A|| may be so too.
};

/// Whether 2^exponent is so far from 1 that squares and products of such numbers may leave the
/// range of T.
template <class T>
bool is_unusual(int exponent) {
    return std::abs(exponent) > std::numeric_limits<T>::max_exponent / 5;
}

/// The solve of one right-hand side: a column of the method's systems.
template <class T>
class ColumnSolve {
  public:
    explicit ColumnSolve(SharedSolve<T>& shared) : shared_(&shared), scaling_(shared.context) {}

    /// Starts with A x = b, `index` among the caller's, in a column. Returns a report if the solve
    /// ended, x written.
    std::optional<SolveReport> open(int column, int index, std::span<const T> b, std::span<T> x);
    /// Reads the state after a batch of iterations; waits.
    void read_state();
    /// To be called after read_state: calls the observer.
    void observe();
    /// Over ranks: whether a rank ends the solve, on all.
    void agree_on_end();
    /// To be called after `observe`: starts again where necessary. Returns a report if the solve
    /// ended, x written. `period_start`: the next iteration is the first of a period.
    std::optional<SolveReport> proceed(bool period_start);
    /// The exponent of ||A b|| / ||b||; none if A b is 0 or not finite. To be called after `open`.
    std::optional<int> matrix_exponent();
    /// Products with A so far.
    Offset products() const { return report_.operator_applications; }
    /// All that belongs to it was copied to another column.
    void set_column(int column) { c_ = column; }

  private:
    struct ResidualNorms {
        double true_norm = 0;    ///< ||b - A x||
        double method_norm = 0;  ///< With left preconditioning ||M^-1 (b - A x)||, else true_norm.
    };
    const Context& context() const { return shared_->context; }
    const SolveOptions& options() const { return *shared_->options; }
    const Operator<T>* preconditioner() const { return shared_->preconditioner; }
    Method<T>& method() const { return *shared_->method; }
    std::span<T> b() const { return (*shared_->vectors)(c_, 0); }
    std::span<T> x() const { return (*shared_->vectors)(c_, 1); }
    std::span<T> saved() const { return (*shared_->vectors)(c_, 2); }
    std::span<T> work() const { return shared_->work.view(); }

    void copy_x(T* to) const;
    bool singular_preconditioner();
    void set_targets();
    void compute_residual(std::span<const T> x);
    ResidualNorms norms_of_residual(double square);
    ResidualNorms residual_norms(std::span<const T> x);
    std::optional<Status> status_at_start(const ResidualNorms& norms);
    std::optional<Status> status_after_run(const ResidualNorms& now, bool other_preconditioner);
    bool recovered();
    bool may_overshoot(const ResidualNorms& now);
    void start();
    SolveReport solve_zero();
    SolveReport finish();
    SolveReport make_report(Status status, double true_norm);

    SharedSolve<T>* shared_;
    RangeScaling<T> scaling_;
    int c_ = 0;      ///< Column of the method's systems.
    int index_ = 0;  ///< Number among the caller's right-hand sides.
    std::span<T> caller_x_;
    int attempt_ = 0;       ///< Number of restarts.
    Offset run_start_ = 0;  ///< Iterations before the latest start.
    Offset known_recoveries_ = 0;
    double start_time_ = 0;
    double norm_b_ = 0;
    double method_norm_b_ = 0;
    double target_ = 0;                  ///< Target of the true residual norm.
    double threshold_ = 0;               ///< Threshold of the method's residual norm.
    ResidualNorms at_start_, norms_;     ///< Norms at the first and the latest start.
    ResidualNorms saved_norms_;          ///< Norms of the saved x.
    int overshoots_ = 0;                 ///< Restarts from a larger residual.
    std::optional<double> square_of_x_;  ///< x^T x, if known; infinite where it overflows.
    Recurrence<T> state_{};              ///< State of the latest convergence check.
    std::optional<Status> host_status_;  ///< Set if the host ended the solve.
    std::optional<Status> status_;       ///< Set at the end.
    SolveReport report_;
};

}  // namespace tessera
