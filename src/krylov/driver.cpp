#include "krylov/driver.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/dispatch.hpp"
#include "base/phases.hpp"
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
/// Duration of iterations in seconds, next to which that of a convergence check is negligible.
constexpr double check_seconds = 2e-3;

template <class T>
class Driver {
  public:
    Driver(const Context& context, const Operator<T>& matrix, const Operator<T>* preconditioner,
           std::span<const T> b, std::span<T> x, const SolveOptions& options)
        : context_(context),
          matrix_(matrix),
          preconditioner_(preconditioner),
          b_(b),
          x_(x),
          options_(options),
          scaling_(context),
          norm_(context),
          work_(context, Offset(x.size())),
          saved_(context, Offset(x.size())) {
        batch_ = options.check_interval > 0 ? options.check_interval : context.on_gpu() ? 16 : 1;
    }

    SolveReport solve(const MethodFactory<T>& factory);

  private:
    struct ResidualNorms {
        double true_norm = 0;    ///< ||b - A x||
        double method_norm = 0;  ///< With left preconditioning ||M^-1 (b - A x)||, else true_norm.
    };
    /// Iterations that are enqueued together, always from the same position of the period.
    struct Batch {
        bool ran = false;
        bool captured = false;
        std::function<void()> graph;
    };

    bool left() const { return options_.left_preconditioning && preconditioner_ != nullptr; }
    bool singular_preconditioner();
    void prepare(const MethodFactory<T>& factory);
    ResidualNorms residual_norms(std::span<const T> x);
    std::optional<Status> status_at_start(const ResidualNorms& norms);
    std::optional<Status> status_after_run(const ResidualNorms& before, const ResidualNorms& now);
    bool recovered();
    void begin(const ResidualNorms& norms, int attempt);
    void run();
    void enqueue();
    void check();
    void shorten_batches(double seconds);
    void replace_residual();
    SolveReport solve_zero();
    SolveReport make_report(Status status, double true_norm);

    const Context& context_;
    const Operator<T>& matrix_;
    const Operator<T>* preconditioner_;
    std::span<const T> b_;
    std::span<T> x_;
    const SolveOptions& options_;
    RangeScaling<T> scaling_;
    Norms<T> norm_;
    Buffer<T> work_, saved_;
    Buffer<T> left_b_;
    std::unique_ptr<LeftPreconditioned<T>> left_matrix_;
    std::unique_ptr<Method<T>> method_;
    std::vector<Batch> batches_;
    int batch_ = 1;
    int position_ = 0;
    Offset known_recoveries_ = 0;  ///< Of the preconditioner, when it came into use.

    double start_ = now();
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
    preconditioner_->apply(context_, b_, work_.view());
    return std::isnan(norm_(work_.view()));
}

template <class T>
void Driver<T>::prepare(const MethodFactory<T>& factory) {
    target_ = std::max(options_.rtol * norm_b_, scaling_.scaled(options_.atol));
    if (preconditioner_ != nullptr) known_recoveries_ = preconditioner_->recoveries();
    if (left()) {
        left_matrix_ = std::make_unique<LeftPreconditioned<T>>(matrix_, *preconditioner_);
        left_b_ = Buffer<T>(context_, Offset(b_.size()));
        preconditioner_->apply(context_, b_, left_b_.view());
        method_norm_b_ = norm_(left_b_.view());
        method_ = factory({context_, *left_matrix_, nullptr, left_b_.view(), x_});
    } else {
        method_ = factory({context_, matrix_, preconditioner_, b_, x_});
    }
    threshold_ = target_ / norm_b_ * method_norm_b_;
    batches_.resize(std::size_t((method_->period() + batch_ - 1) / batch_));
}

/// Computes b - A x and writes the residual of the method (with left preconditioning M^-1 (b - A
/// x)) to residual().
template <class T>
typename Driver<T>::ResidualNorms Driver<T>::residual_norms(std::span<const T> x) {
    const std::span<T> residual = method_->residual();
    matrix_.apply(context_, x, work_.view());
    axpbypcz<T>(context_, T(1), b_, T(-1), work_.view(), T(0), residual);
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
    if (options_.max_iterations == 0) return Status::max_iterations;
    return std::nullopt;
}

/// Whether the preconditioner, found not to be positive definite, has changed itself.
template <class T>
bool Driver<T>::recovered() {
    if (state_.cause != BreakdownCause::indefinite_preconditioner) return false;
    if (!preconditioner_->recover(context_, known_recoveries_)) return false;
    known_recoveries_ = preconditioner_->recoveries();
    ++report_.recoveries;
    for (Batch& batch : batches_) batch.captured = false;
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
    if (state_.iterations >= options_.max_iterations) return Status::max_iterations;
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
    fresh.max_iterations = options_.max_iterations;
    fresh.stagnation_window = options_.stagnation_window;
    fresh.best_iteration = state_.iterations;
    fresh.best_norm = fresh.residual_norm = T(norms.method_norm);
    fresh.threshold = threshold;
    fresh.recovered_norm = T(norms.method_norm);
    fresh.spike_norm = std::max(threshold / (T(spike_margin) * std::numeric_limits<T>::epsilon()),
                                fresh.recovered_norm);
    state_ = fresh;
    copy_from_host(context_, std::span<const Recurrence<T>>(&fresh, 1),
                   std::span<Recurrence<T>>(method_->recurrence(), 1));
    copy(context_, std::span<const T>(x_), saved_.view());
    position_ = 0;
    method_->start(attempt);
}

/// Enqueues one batch: the first time directly, so that its phases are timed and the primitives
/// allocate their scratch memory; then as a graph.
template <class T>
void Driver<T>::enqueue() {
    const int period = method_->period();
    // A method that replaces its residual is checked once per period, whatever the batch.
    const int length = batch_ >= period && !method_->replaces()
                           ? batch_ / period * period
                           : std::min(batch_, period - position_);
    const int first = position_;
    const auto iterations = [this, first, length, period] {
        for (int k = 0; k < length; ++k) method_->iterate((first + k) % period);
    };
    Batch& batch = batches_[std::size_t(first / batch_)];
    if (!batch.ran) {
        iterations();
    } else {
        if (!batch.captured) batch.graph = context_.capture(iterations);
        batch.captured = true;
        batch.graph();
    }
    batch.ran = true;
    position_ = (first + length) % period;
}

template <class T>
void Driver<T>::check() {
    const Offset before = state_.iterations;
    copy_to_host(context_, std::span<const Recurrence<T>>(method_->recurrence(), 1),
                 std::span<Recurrence<T>>(&state_, 1));
    for (Offset k = before; k < state_.iterations; ++k) {
        report_.residuals.push_back(double(state_.history[k % Recurrence<T>::history_size]) /
                                    method_norm_b_);
    }
    const double seconds = now() - start_;
    if (options_.observer) {
        const Progress progress{state_.iterations, double(state_.residual_norm) / method_norm_b_,
                                threshold_ / method_norm_b_, seconds};
        if (!options_.observer(progress)) host_status_ = Status::interrupted;
    }
    if (!host_status_ && state_.running() && seconds >= options_.max_seconds) {
        host_status_ = Status::max_seconds;
    }
}

/// Iterations enqueued after convergence are wasted: uses smaller batches between convergence
/// checks when an iteration is expensive. `seconds`: duration of a batch that was replayed as a
/// graph.
template <class T>
void Driver<T>::shorten_batches(double seconds) {
    if (options_.check_interval > 0 || !context_.on_gpu() || method_->period() > 1) return;
    if (seconds < 2 * check_seconds) return;
    batch_ = std::max(1, int(std::ceil(batch_ * check_seconds / seconds)));
    batches_[0].captured = false;
}

/// Rounding errors cause a gap of about u max ||r|| between the recursive residual and b - A x. If
/// that exceeds the target, the residual is computed anew once it has decreased
template <class T>
void Driver<T>::replace_residual() {
    if (!method_->replaces() || !state_.running() || host_status_ || position_ != 0) return;
    if (state_.spike_over == 0) return;
    report_.operator_applications += method_->replace_residual();
}

template <class T>
void Driver<T>::run() {
    const Offset before = state_.iterations;
    while (state_.running() && !host_status_) {
        const double begin = now();
        const bool replayed = batches_[std::size_t(position_ / batch_)].captured;
        enqueue();
        check();
        replace_residual();
        if (replayed) shorten_batches(now() - begin);
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
SolveReport Driver<T>::solve_zero() {
    fill(context_, T(0), x_);
    report_.residuals = {0};
    matrix_.apply(context_, x_, work_.view());
    ++report_.operator_applications;
    const double length = norm_(work_.view());  // NaN if there is one, or infinity, in the matrix.
    return make_report(length == 0 ? Status::converged : Status::non_finite, length);
}

template <class T>
SolveReport Driver<T>::solve(const MethodFactory<T>& factory) {
    norm_b_ = scaling_.scale([this](std::span<const T> v) { return norm_(v); }, b_, x_);
    if (norm_b_ == 0) return solve_zero();
    method_norm_b_ = norm_b_;
    if (!std::isfinite(norm_b_)) {
        report_.residuals = {norm_b_};
        return make_report(Status::non_finite, norm_b_);
    }
    if (singular_preconditioner()) {
        const double unknown = std::numeric_limits<double>::quiet_NaN();
        scaling_.restore_start(x_);
        state_.residual_norm = T(unknown);
        report_.residuals = {unknown};
        return make_report(Status::singular_block, unknown);
    }
    prepare(factory);
    const ResidualNorms at_start = residual_norms(x_);
    ResidualNorms norms = at_start;
    std::optional<Status> status = status_at_start(norms);
    for (int attempt = 0; !status; ++attempt) {
        report_.restarts = attempt;
        begin(norms, attempt);
        run();
        const ResidualNorms before = norms;
        norms = residual_norms(x_);
        status = status_after_run(before, norms);
        if (status && !(norms.true_norm <= before.true_norm)) {
            copy(context_, std::span<const T>(saved_.view()), x_);
            norms = before;
        }
    }
    const double true_norm =
        scaling_.undo(x_, norms.true_norm, at_start.true_norm, target_, *status, saved_.view(),
                      [this](std::span<const T> x) { return residual_norms(x).true_norm; });
    // An element in a column without entries is in no product.
    if (*status == Status::converged && !norm_.all_finite(x_, work_.view())) {
        *status = Status::non_finite;
    }
    return make_report(*status, true_norm);
}

}  // namespace

template <class T>
SolveReport drive(const Context& context, const Operator<T>& matrix,
                  const Operator<T>* preconditioner, std::span<const T> b, std::span<T> x,
                  const SolveOptions& options, const MethodFactory<T>& factory) {
    check_solve<T>(context, matrix, b, x, options);
    require(preconditioner == nullptr || (preconditioner->rows() == matrix.rows() &&
                                          preconditioner->columns() == matrix.rows()),
            "solve: the preconditioner must have the size of the matrix");
    return Driver<T>(context, matrix, preconditioner, b, x, options).solve(factory);
}

template decltype(drive<float>) drive<float>;
template decltype(drive<double>) drive<double>;

}  // namespace tessera
