#include "krylov/driver.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/dispatch.hpp"
#include "base/phases.hpp"
#include "krylov/at_work.hpp"
#include "krylov/iteration_batches.hpp"
#include "krylov/messages.hpp"
#include "krylov/norms.hpp"
#include "krylov/range_scaling.hpp"

namespace tessera {

namespace {

/// A restart that reduces the true residual by a smaller share than this is the last one.
constexpr double min_reduction = 0.1;
/// Rounding error of one product and update, in units of u times the largest residual norm, as in
/// the program of the authors of IDR(s).
constexpr double spike_margin = 1000;

template <class T>
class Driver final : public IterativeSolver<T> {
  public:
    Driver(const Context& context, const Operator<T>& matrix, const Operator<T>* preconditioner,
           MethodFactory<T> factory, bool takes_left)
        : context_(context),
          matrix_(matrix),
          preconditioner_(preconditioner),
          factory_(std::move(factory)),
          takes_left_(takes_left),
          scaling_(context_),
          norm_(context_),
          b_(context, matrix.rows()),
          x_(context, matrix.rows()),
          work_(context, matrix.rows()),
          saved_(context, matrix.rows()),
          batches_(context_, matrix.can_be_captured() &&
                                 (preconditioner == nullptr || preconditioner->can_be_captured())) {
    }

    SolveReport solve(std::span<const T> b, std::span<T> x, const SolveOptions& options) override;
    void operators_changed() override {
        AtWork::check(at_work_);
        batches_.discard_graphs();
    }

  private:
    struct ResidualNorms {
        double true_norm = 0;    ///< ||b - A x||
        double method_norm = 0;  ///< With left preconditioning ||M^-1 (b - A x)||, else true_norm.
    };
    bool left() const { return left_matrix_ != nullptr; }
    bool singular_preconditioner();
    void make_method();
    void prepare();
    ResidualNorms residual_norms(std::span<const T> x);
    std::optional<Status> status_at_start(const ResidualNorms& norms);
    std::optional<Status> status_after_run(const ResidualNorms& before, const ResidualNorms& now);
    bool recovered();
    void begin(const ResidualNorms& norms, int attempt);
    void run();
    void check();
    void replace_residual();
    SolveReport solve_zero(std::span<T> x);
    SolveReport iterate(std::span<T> x);
    SolveReport make_report(Status status, double true_norm);

    std::span<const T> b() const { return b_.view(); }

    const Context context_;
    const Operator<T>& matrix_;
    const Operator<T>* preconditioner_;
    const MethodFactory<T> factory_;
    const bool takes_left_;
    // What stays from solve to solve.
    RangeScaling<T> scaling_;
    Norms<T> norm_;
    Buffer<T> b_, x_;  ///< Copies of the caller's, perhaps scaled.
    Buffer<T> work_, saved_;
    Buffer<T> left_b_;
    std::unique_ptr<LeftPreconditioned<T>> left_matrix_;
    std::unique_ptr<Method<T>> method_;
    IterationBatches<T> batches_;
    // The solve at work.
    bool at_work_ = false;
    const SolveOptions* options_ = nullptr;  ///< Of the caller.
    Offset known_recoveries_ = 0;            ///< Of the preconditioner, when it came into use.
    double start_ = 0;
    double checked_ = 0;  ///< Time of the latest convergence check.
    double norm_b_ = 0;
    double method_norm_b_ = 0;
    double target_ = 0;                  ///< Target of the true residual norm.
    double threshold_ = 0;               ///< Threshold of the method's residual norm.
    Recurrence<T> state_{};              ///< State of the latest convergence check.
    std::optional<Status> host_status_;  ///< Set if the host ended the solve.
    SolveReport report_;
};

/// Whether M^-1 gives NaN because of blocks that could not be inverted.
template <class T>
bool Driver<T>::singular_preconditioner() {
    if (preconditioner_ == nullptr || preconditioner_->singular_blocks() == 0) return false;
    preconditioner_->apply(context_, b(), work_.view());
    return std::isnan(norm_(work_.view()));
}

/// The method for the side of the preconditioner that the options ask for, unless there is one.
template <class T>
void Driver<T>::make_method() {
    const bool wants_left = options_->left_preconditioning && preconditioner_ != nullptr;
    if (method_ && wants_left == left()) return;
    method_.reset();
    left_matrix_.reset();
    batches_.start_anew();
    if (wants_left) {
        left_b_ = Buffer<T>(context_, b_.size());
        auto left_matrix = std::make_unique<LeftPreconditioned<T>>(matrix_, *preconditioner_);
        method_ = factory_({context_, *left_matrix, nullptr, left_b_.view(), x_.view()});
        left_matrix_ = std::move(left_matrix);
    } else {
        method_ = factory_({context_, matrix_, preconditioner_, b(), x_.view()});
    }
}

template <class T>
void Driver<T>::prepare() {
    target_ = std::max(options_->rtol * norm_b_, scaling_.scaled(options_->atol));
    if (preconditioner_ != nullptr) {
        const Offset before = std::exchange(known_recoveries_, preconditioner_->recoveries());
        if (before != known_recoveries_) batches_.discard_graphs();
    }
    make_method();
    batches_.choose_length(options_->check_interval, method_->period());
    if (left()) {
        preconditioner_->apply(context_, b(), left_b_.view());
        method_norm_b_ = norm_(left_b_.view());
    }
    threshold_ = target_ / norm_b_ * method_norm_b_;
}

/// Computes b - A x and writes the residual of the method (with left preconditioning M^-1 (b - A
/// x)) to residual().
template <class T>
typename Driver<T>::ResidualNorms Driver<T>::residual_norms(std::span<const T> x) {
    const std::span<T> residual = method_->residual();
    matrix_.apply(context_, x, work_.view());
    axpbypcz<T>(context_, T(1), b(), T(-1), work_.view(), T(0), residual);
    ++report_.operator_applications;
    ResidualNorms norms;
    norms.true_norm = norms.method_norm = norm_.without_underflow(residual);
    if (left()) {
        copy(context_, std::span<const T>(residual), work_.view());
        preconditioner_->apply(context_, work_.view(), residual);
        norms.method_norm = norm_.without_underflow(residual);
    }
    return norms;
}

template <class T>
std::optional<Status> Driver<T>::status_at_start(const ResidualNorms& norms) {
    state_.residual_norm = T(norms.method_norm);
    report_.residuals = {norms.method_norm / method_norm_b_};
    if (!std::isfinite(norms.true_norm) || !std::isfinite(norms.method_norm))
        return Status::non_finite;
    if (norms.true_norm <= target_) return Status::converged;
    if (norms.method_norm == 0) {
        state_.cause = BreakdownCause::singular_preconditioner;
        return Status::breakdown;
    }
    if (options_->max_iterations == 0) return Status::max_iterations;
    return std::nullopt;
}

/// Whether the preconditioner, found not to be positive definite, has changed itself.
template <class T>
bool Driver<T>::recovered() {
    if (state_.cause != BreakdownCause::indefinite_preconditioner) return false;
    if (!preconditioner_->recover(context_, known_recoveries_)) return false;
    known_recoveries_ = preconditioner_->recoveries();
    ++report_.recoveries;
    batches_.discard_graphs();
    return true;
}

/// The status after one run of the recursion; none: restart from the true residual.
template <class T>
std::optional<Status> Driver<T>::status_after_run(const ResidualNorms& before,
                                                  const ResidualNorms& now) {
    if (now.true_norm <= target_) return Status::converged;
    if (!std::isfinite(now.true_norm) || !std::isfinite(now.method_norm)) return Status::non_finite;
    if (host_status_) return host_status_;
    if (now.method_norm == 0) {  // Of a left preconditioner; no restart can go on.
        state_.cause = BreakdownCause::singular_preconditioner;
        return Status::breakdown;
    }
    // With left preconditioning the preconditioned residual that the recursion reduces may differ
    // from the true one for many iterations.
    const bool gained = now.true_norm <= (1 - min_reduction) * before.true_norm ||
                        now.method_norm <= (1 - min_reduction) * before.method_norm;
    // The recursive residual decreased but the true residual did not.
    const bool drifted = double(state_.residual_norm) < now.method_norm / 2;
    // Without a preconditioner r^T M^-1 r <= 0 means that r^T r underflowed.
    if (preconditioner_ == nullptr && state_.cause == BreakdownCause::indefinite_preconditioner) {
        state_.cause = BreakdownCause::symmetric_breakdown;
    }
    switch (state_.outcome) {
        case Outcome::non_finite:
            return Status::non_finite;
        case Outcome::stagnated:
            return drifted ? Status::accuracy_lost : Status::stagnated;
        case Outcome::max_iterations:
            return Status::max_iterations;
        case Outcome::breakdown: {
            if (recovered()) break;
            const bool is_final = state_.cause == BreakdownCause::indefinite_matrix ||
                                  state_.cause == BreakdownCause::indefinite_preconditioner;
            if (!gained || is_final) return drifted ? Status::accuracy_lost : Status::breakdown;
            break;
        }
        case Outcome::running:
        case Outcome::converged:
            if (!gained) return Status::accuracy_lost;
            break;
    }
    if (state_.iterations >= options_->max_iterations) return Status::max_iterations;
    return std::nullopt;
}

template <class T>
void Driver<T>::begin(const ResidualNorms& norms, int attempt) {
    // A restart aims at half of the missing reduction: rounding errors alone move the true residual
    // across a threshold that is barely met, and with left preconditioning the preconditioned
    // residual may be small while the true one is not.
    if (norms.method_norm <= threshold_ || attempt > 0) {
        threshold_ = std::min(threshold_, 0.5 * norms.method_norm * target_ / norms.true_norm);
    }
    T threshold = T(threshold_);
    if (double(threshold) > threshold_) threshold = std::nextafter(threshold, T(0));
    Recurrence<T> fresh{};
    fresh.iterations = state_.iterations;
    fresh.max_iterations = options_->max_iterations;
    fresh.stagnation_window = options_->stagnation_window;
    fresh.best_iteration = state_.iterations;
    fresh.best_norm = fresh.residual_norm = T(norms.method_norm);
    fresh.threshold = threshold;
    fresh.recovered_norm = T(norms.method_norm);
    fresh.spike_norm = std::max(threshold / (T(spike_margin) * std::numeric_limits<T>::epsilon()),
                                fresh.recovered_norm);
    state_ = fresh;
    copy_from_host(context_, std::span<const Recurrence<T>>(&fresh, 1),
                   std::span<Recurrence<T>>(method_->recurrence(), 1));
    copy(context_, x_.view(), saved_.view());
    batches_.restart_period();
    method_->start(attempt);
}

template <class T>
void Driver<T>::check() {
    const Offset before = state_.iterations;
    copy_to_host(context_, std::span<const Recurrence<T>>(method_->recurrence(), 1),
                 std::span<Recurrence<T>>(&state_, 1));
    checked_ = now();
    for (Offset k = before; k < state_.iterations; ++k) {
        report_.residuals.push_back(double(state_.history[k % Recurrence<T>::history_size]) /
                                    method_norm_b_);
    }
    const double seconds = checked_ - start_;
    if (options_->observer) {
        const Progress progress{state_.iterations, double(state_.residual_norm) / method_norm_b_,
                                threshold_ / method_norm_b_, seconds};
        if (!options_->observer(progress)) host_status_ = Status::interrupted;
    }
    if (!host_status_ && state_.running() && seconds >= options_->max_seconds) {
        host_status_ = Status::max_seconds;
    }
}

/// Rounding errors cause a gap of about u max ||r|| between the recursive residual and b - A x. If
/// that exceeds the target, the residual is computed anew once it has decreased.
template <class T>
void Driver<T>::replace_residual() {
    if (!method_->replaces() || !state_.running() || host_status_ || !batches_.at_start_of_period())
        return;
    if (state_.spike_over == 0) return;
    report_.operator_applications += method_->replace_residual();
}

template <class T>
void Driver<T>::run() {
    const Offset before = state_.iterations;
    while (state_.running() && !host_status_) {
        const double begin = now();
        const bool replayed = batches_.next_is_graph();
        batches_.enqueue(*method_);
        check();
        replace_residual();
        if (replayed) batches_.shorten(checked_ - begin, method_->period());
    }
    method_->finish();
    report_.operator_applications += method_->products(state_.iterations - before);
}

template <class T>
SolveReport Driver<T>::make_report(Status status, double true_norm) {
    context_.synchronize();
    report_.status = status;
    report_.iterations = state_.iterations;
    report_.relative_residual =
        method_norm_b_ == 0 ? 0 : double(state_.residual_norm) / method_norm_b_;
    report_.true_relative_residual = norm_b_ == 0 ? true_norm : true_norm / norm_b_;
    report_.seconds = now() - start_;
    report_.message =
        status_message(report_, state_.cause, norm_b_ == 0 ? 0 : target_ / norm_b_,
                       preconditioner_ == nullptr ? 0 : preconditioner_->singular_blocks());
    return report_;
}

/// x = 0 for b = 0.
template <class T>
SolveReport Driver<T>::solve_zero(std::span<T> x) {
    fill(context_, T(0), x_.view());
    report_.residuals = {0};
    matrix_.apply(context_, x_.view(), work_.view());
    ++report_.operator_applications;
    const double length = norm_(work_.view());  // NaN if there is one, or infinity, in the matrix.
    copy(context_, x_.view(), x);
    return make_report(length == 0 ? Status::converged : Status::non_finite, length);
}

template <class T>
SolveReport Driver<T>::solve(std::span<const T> b, std::span<T> x, const SolveOptions& options) {
    check_solve<T>(context_, matrix_, b, x, options);
    require(takes_left_ || !options.left_preconditioning,
            "this solver does not support left preconditioning; leave side at right, or use "
            "gmres, idr or bicgstab");
    const AtWork guard(at_work_);
    options_ = &options;
    start_ = now();
    report_ = {};
    state_ = {};
    host_status_.reset();
    copy(context_, b, b_.view());
    copy(context_, x, x_.view());
    norm_b_ =
        scaling_.scale([this](std::span<const T> v) { return norm_(v); }, b_.view(), x_.view());
    method_norm_b_ = norm_b_;
    if (norm_b_ == 0) return solve_zero(x);
    if (!std::isfinite(norm_b_)) {
        report_.residuals = {norm_b_};
        return make_report(Status::non_finite, norm_b_);
    }
    if (singular_preconditioner()) {
        const double unknown = std::numeric_limits<double>::quiet_NaN();
        state_.residual_norm = T(unknown);
        report_.residuals = {unknown};
        return make_report(Status::singular_block, unknown);
    }
    return iterate(x);
}

/// Solves for b_ from x_; `x` becomes the solution.
template <class T>
SolveReport Driver<T>::iterate(std::span<T> x) {
    prepare();
    const ResidualNorms at_start = residual_norms(x_.view());
    ResidualNorms norms = at_start;
    std::optional<Status> status = status_at_start(norms);
    for (int attempt = 0; !status; ++attempt) {
        report_.restarts = attempt;
        begin(norms, attempt);
        run();
        const ResidualNorms before = norms;
        norms = residual_norms(x_.view());
        status = status_after_run(before, norms);
        if (status && !(norms.true_norm <= before.true_norm)) {
            copy(context_, saved_.view(), x_.view());
            norms = before;
        }
    }
    const double true_norm = scaling_.undo(
        x_.view(), norms.true_norm, x, at_start.true_norm, target_, *status, saved_.view(),
        [this](std::span<const T> scaled) { return residual_norms(scaled).true_norm; });
    // An element in a column without entries is in no product.
    if (*status == Status::converged && !norm_.all_finite(x_.view(), work_.view())) {
        *status = Status::non_finite;
    }
    copy(context_, x_.view(), x);
    return make_report(*status, true_norm);
}

}  // namespace

template <class T>
std::unique_ptr<IterativeSolver<T>> make_driver(const Context& context, const Operator<T>& matrix,
                                                const Operator<T>* preconditioner,
                                                MethodFactory<T> factory, bool takes_left) {
    require(matrix.rows() == matrix.columns(), "solve: the matrix must be square");
    require(preconditioner == nullptr || (preconditioner->rows() == matrix.rows() &&
                                          preconditioner->columns() == matrix.rows()),
            "solve: the preconditioner must have the size of the matrix");
    return std::make_unique<Driver<T>>(context, matrix, preconditioner, std::move(factory),
                                       takes_left);
}

template decltype(make_driver<float>) make_driver<float>;
template decltype(make_driver<double>) make_driver<double>;

}  // namespace tessera
