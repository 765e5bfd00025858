#include "krylov/driver/column_solve.hpp"

namespace tessera {

namespace {

/// Rounding error of one product and update, in units of u times the largest residual norm, as in
/// the program of the authors of IDR(s).
constexpr double spike_margin = 1000;

/// Restarts from an x with a larger residual.
constexpr int max_overshoots = 6;

}  // namespace

/// Whether M^-1 gives NaN because of blocks that could not be inverted.
template <class T>
bool ColumnSolve<T>::singular_preconditioner() {
    if (preconditioner() == nullptr || preconditioner()->singular_blocks() == 0) return false;
    preconditioner()->apply(context(), b(), work());
    return std::isnan(shared_->norm(work()));
}

template <class T>
void ColumnSolve<T>::set_targets() {
    target_ = std::max(options().rtol.value_or(default_rtol<T>) * norm_b_,
                       scaling_.scaled(options().atol));
    if (shared_->left) {
        const std::span<T> left_b = (*shared_->vectors)(c_, 3);
        preconditioner()->apply(context(), b(), left_b);
        method_norm_b_ = shared_->norm(left_b);
    }
    threshold_ = target_ / norm_b_ * method_norm_b_;
}

/// method().residual(c_) = b - A x
template <class T>
void ColumnSolve<T>::compute_residual(std::span<const T> x) {
    shared_->matrix.apply(context(), x, work());
    axpbypcz<T>(context(), T(1), b(), T(-1), work(), T(0), method().residual(c_));
    ++report_.operator_applications;
}

/// Norms of b - A x in method().residual(c_), with its square; with left preconditioning M^-1 (b -
/// A x) replaces it.
template <class T>
typename ColumnSolve<T>::ResidualNorms ColumnSolve<T>::norms_of_residual(double square) {
    const std::span<T> residual = method().residual(c_);
    ResidualNorms norms;
    norms.true_norm = norms.method_norm = shared_->norm.without_underflow(residual, square);
    if (shared_->left) {
        copy(context(), std::span<const T>(residual), work());
        preconditioner()->apply(context(), work(), residual);
        norms.method_norm = shared_->norm.without_underflow(residual);
    }
    return norms;
}

/// Computes x^T x and the residual of the method, in method().residual(c_).
template <class T>
typename ColumnSolve<T>::ResidualNorms ColumnSolve<T>::residual_norms(std::span<const T> x) {
    compute_residual(x);
    const auto [square, square_of_x] = shared_->norm.squares(method().residual(c_), x);
    square_of_x_ = square_of_x;
    return norms_of_residual(square);
}

template <class T>
std::optional<Status> ColumnSolve<T>::status_at_start(const ResidualNorms& norms) {
    state_.residual_norm = T(norms.method_norm);
    report_.residuals = {norms.method_norm / method_norm_b_};
    if (!std::isfinite(norms.true_norm) || !std::isfinite(norms.method_norm))
        return Status::non_finite;
    if (norms.true_norm <= target_) return Status::converged;
    if (norms.method_norm == 0) {
        state_.cause = BreakdownCause::singular_preconditioner;
        return Status::breakdown;
    }
    if (options().max_iterations == 0) return Status::max_iterations;
    return std::nullopt;
}

/// Whether the preconditioner, found not to be positive definite, has changed itself.
template <class T>
bool ColumnSolve<T>::recovered() {
    if (state_.cause != BreakdownCause::indefinite_preconditioner) return false;
    if (!preconditioner()->recover(context(), known_recoveries_)) return false;
    shared_->known_recoveries = preconditioner()->recoveries();
    shared_->recovered = true;
    ++report_.recoveries;
    return true;
}

/// Whether the recursion may go on from an x whose residual has grown though the recursion has
/// converged: a factor with tiny pivots gives x = M^-1 u in which digits cancel, but its error is
/// one that further runs correct. gmres:50 with ilu:8,fill=1, residuals after each run:
///   nnc261    5e8, 6e5, 6e-3, 4e-3, 7e-6
///   lnsp3937  3e2, 9e3, 1e5, 1e3, 2e-2, 2e-3, as small as rounding allows
template <class T>
bool ColumnSolve<T>::may_overshoot(const ResidualNorms& now) {
    const bool grew = now.true_norm > 2 * norms_.true_norm;
    if (shared_->left || preconditioner() == nullptr || !grew) return false;
    return overshoots_++ < max_overshoots;
}

/// The status after one run of the recursion from `norms_`; none: restart from the true residual.
/// `other_preconditioner`: the run ended because another column changed the preconditioner.
template <class T>
std::optional<Status> ColumnSolve<T>::status_after_run(const ResidualNorms& now,
                                                       bool other_preconditioner) {
    if (now.true_norm <= target_) return Status::converged;
    if (!std::isfinite(now.true_norm) || !std::isfinite(now.method_norm)) return Status::non_finite;
    if (host_status_) return host_status_;
    if (now.method_norm == 0) {  // The left preconditioner annihilated r; no restart can continue.
        state_.cause = BreakdownCause::singular_preconditioner;
        return Status::breakdown;
    }
    // With left preconditioning the preconditioned residual that the recursion reduces may differ
    // from the true one for many iterations.
    const bool gained = is_reduced(now.true_norm, norms_.true_norm) ||
                        is_reduced(now.method_norm, norms_.method_norm);
    // The recursive residual decreased but the true residual did not.
    const bool drifted = double(state_.residual_norm) < now.method_norm / 2;
    // Without a preconditioner r^T M^-1 r <= 0 means that r^T r underflowed.
    if (preconditioner() == nullptr && state_.cause == BreakdownCause::indefinite_preconditioner) {
        state_.cause = BreakdownCause::symmetric_breakdown;
    }
    switch (state_.outcome) {
        case Outcome::non_finite:
            return Status::non_finite;
        case Outcome::stagnated:
            return drifted ? Status::accuracy_lost : Status::stagnated;
        case Outcome::max_iterations:
            return Status::max_iterations;
        case Outcome::least_squares:
            // Beside a large start the limit of rounding is reached earlier, and 0 is better.
            if (now.true_norm <= 1.01 * norm_b_) return Status::least_squares;
            if (!gained) return Status::accuracy_lost;
            break;
        case Outcome::breakdown: {
            if (recovered()) break;
            const bool is_final = state_.cause == BreakdownCause::indefinite_matrix ||
                                  state_.cause == BreakdownCause::indefinite_preconditioner;
            if (!gained || is_final) return drifted ? Status::accuracy_lost : Status::breakdown;
            break;
        }
        case Outcome::running:
        case Outcome::converged:
            if (gained || other_preconditioner) break;
            if (!may_overshoot(now)) return Status::accuracy_lost;
            break;
    }
    if (state_.iterations >= options().max_iterations) return Status::max_iterations;
    // Ranks, whose clocks differ, agree on the end after the next iterations.
    const bool alone = rank_sums(context()) == nullptr;
    if (alone && tessera::now() - start_time_ >= options().max_seconds) return Status::max_seconds;
    return std::nullopt;
}

/// Starts the recursion from `norms_`.
template <class T>
void ColumnSolve<T>::start() {
    // A restart aims at half of the missing reduction: rounding errors alone move the true residual
    // across a threshold that is barely met, and with left preconditioning the preconditioned
    // residual may be small while the true one is not.
    if (norms_.method_norm <= threshold_ || attempt_ > 0) {
        threshold_ = std::min(threshold_, 0.5 * norms_.method_norm * target_ / norms_.true_norm);
    }
    T threshold = T(threshold_);
    if (double(threshold) > threshold_) threshold = std::nextafter(threshold, T(0));
    Recurrence<T> fresh{};
    fresh.iterations = state_.iterations;
    fresh.max_iterations = options().max_iterations;
    fresh.stagnation_window = options().stagnation_window;
    fresh.best_iteration = state_.iterations;
    fresh.best_norm = fresh.residual_norm = T(norms_.method_norm);
    fresh.threshold = threshold;
    fresh.recovered_norm = T(norms_.method_norm);
    fresh.spike_norm = std::max(threshold / (T(spike_margin) * std::numeric_limits<T>::epsilon()),
                                fresh.recovered_norm);
    state_ = fresh;
    run_start_ = state_.iterations;
    known_recoveries_ = shared_->known_recoveries;
    report_.restarts = attempt_;
    shared_->restarted = true;
    // Need not wait: state_ does not change before read_state has waited.
    detail::copy_bytes(context(), &state_, method().recurrence(c_), sizeof state_, false);
    if (shared_->left || attempt_ == 0 || norms_.true_norm <= saved_norms_.true_norm) {
        copy(context(), std::span<const T>(x()), saved());
        saved_norms_ = norms_;
    }
    method().start(c_, attempt_);
}

template <class T>
void ColumnSolve<T>::read_state() {
    const Offset before = state_.iterations;
    copy_to_host(context(), std::span<const Recurrence<T>>(method().recurrence(c_), 1),
                 std::span<Recurrence<T>>(&state_, 1));
    for (Offset k = before; k < state_.iterations; ++k) {
        report_.residuals.push_back(double(state_.history[k % Recurrence<T>::history_size]) /
                                    method_norm_b_);
    }
}

template <class T>
void ColumnSolve<T>::observe() {
    if (!options().observer && std::isinf(options().max_seconds)) return;
    const double seconds = now() - start_time_;
    if (options().observer) {
        Progress progress{state_.iterations, double(state_.residual_norm) / method_norm_b_,
                          threshold_ / method_norm_b_, seconds, index_};
        if (method().keeps_x()) {
            progress.copy_x = [this](void* to) { copy_x(static_cast<T*>(to)); };
        }
        if (!options().observer(progress)) host_status_ = Status::interrupted;
    }
    if (!host_status_ && state_.running() && seconds >= options().max_seconds) {
        host_status_ = Status::max_seconds;
    }
    if (rank_sums(context()) != nullptr) agree_on_end();
}

template <class T>
void ColumnSolve<T>::agree_on_end() {
    const bool by_time = host_status_ == Status::max_seconds;
    const T mine[2] = {T(host_status_ && !by_time), T(by_time)};
    const Scratch<T> votes(context(), 2);
    copy_from_host<T>(context(), mine, votes.view());
    sum_over_ranks(context(), votes.data(), 2);
    T all[2];
    copy_to_host<T>(context(), votes.view(), all);
    if (all[0] != 0) {
        host_status_ = Status::interrupted;
    } else if (all[1] != 0) {
        host_status_ = Status::max_seconds;
    }
}

/// x as the caller knows it.
template <class T>
void ColumnSolve<T>::copy_x(T* to) const {
    const std::span<T> result(to, x().size());
    copy(context(), std::span<const T>(x()), result);
    scaling_.unscale(result);
    context().synchronize();
}

template <class T>
std::optional<SolveReport> ColumnSolve<T>::proceed(bool period_start) {
    const bool other_preconditioner = known_recoveries_ != shared_->known_recoveries;
    if (state_.running() && !host_status_ && !other_preconditioner) {
        // Rounding errors cause a gap of about u max ||r|| between the recursive residual and b - A
        // x. If that exceeds the target, the residual is computed anew once it has decreased.
        if (method().replaces() && period_start && state_.spike_over != 0) {
            report_.operator_applications += method().replace_residual(c_);
        }
        return std::nullopt;
    }
    method().finish(c_);
    report_.operator_applications += method().products(state_.iterations - run_start_);
    ResidualNorms now = residual_norms(x());
    const int overshoots = overshoots_;
    status_ = status_after_run(now, other_preconditioner);
    if (!status_) {
        // After iterations with a bad preconditioner. From the left it may reduce another norm.
        const bool overshot = overshoots_ > overshoots;
        if (!shared_->left && !overshot && now.true_norm > norms_.true_norm) {
            copy(context(), std::span<const T>(saved()), x());
            now = residual_norms(x());
        }
        norms_ = now;
        ++attempt_;
        start();
        return std::nullopt;
    }
    if (now.true_norm <= saved_norms_.true_norm) {
        norms_ = now;
    } else {
        copy(context(), std::span<const T>(saved()), x());
        norms_ = saved_norms_;
        square_of_x_.reset();
    }
    return finish();
}

template <class T>
SolveReport ColumnSolve<T>::make_report(Status status, double true_norm) {
    context().synchronize();
    report_.status = status;
    report_.iterations = state_.iterations;
    report_.relative_residual =
        method_norm_b_ == 0 ? 0 : double(state_.residual_norm) / method_norm_b_;
    report_.true_relative_residual = norm_b_ == 0 ? true_norm : true_norm / norm_b_;
    report_.seconds = now() - start_time_;
    report_.message =
        status_message(report_, state_.cause, norm_b_ == 0 ? 0 : target_ / norm_b_,
                       preconditioner() == nullptr ? 0 : preconditioner()->singular_blocks());
    return std::move(report_);
}

/// x = 0 for b = 0.
template <class T>
SolveReport ColumnSolve<T>::solve_zero() {
    fill(context(), T(0), x());
    report_.residuals = {0};
    shared_->matrix.apply(context(), x(), work());
    ++report_.operator_applications;
    const double length = shared_->norm(work());  // NaN if there is one, or infinity, in A.
    copy(context(), std::span<const T>(x()), caller_x_);
    return make_report(length == 0 ? Status::converged : Status::non_finite, length);
}

template <class T>
std::optional<int> ColumnSolve<T>::matrix_exponent() {
    using limits = std::numeric_limits<T>;
    const double low = std::sqrt(double(limits::min())) / double(limits::epsilon());
    const Scratch<T> v(context(), Offset(b().size()));
    // If the squares leave the range, again with a shorter or a longer vector.
    for (const int length : {0, -limits::max_exponent / 2, 3 * limits::max_exponent / 4}) {
        copy(context(), std::span<const T>(b()), v.view());
        multiply_by_power(context(), v.view(), length - std::ilogb(norm_b_));
        shared_->matrix.apply(context(), v.view(), work());
        ++report_.operator_applications;
        const double norm = shared_->norm(work());
        if (norm > low && std::isfinite(norm)) return std::ilogb(norm) - length;
    }
    return std::nullopt;
}

template <class T>
std::optional<SolveReport> ColumnSolve<T>::open(int column, int index, std::span<const T> b,
                                                std::span<T> x) {
    c_ = column;
    index_ = index;
    caller_x_ = x;
    attempt_ = overshoots_ = 0;
    start_time_ = now();
    report_ = {};
    state_ = {};
    host_status_.reset();
    status_.reset();
    copy(context(), b, this->b());
    copy(context(), std::span<const T>(x), this->x());
    const auto norm = [this](std::span<const T> v) { return shared_->norm(v); };
    compute_residual(this->x());  // Before ||b|| is known: both are read with one wait.
    const auto [square, square_of_x, square_of_b] =
        shared_->norm.squares(method().residual(c_), this->x(), this->b());
    norm_b_ = scaling_.scale(std::sqrt(square_of_b), norm, this->b(), this->x(),
                             shared_->scaled.exponent());
    method_norm_b_ = norm_b_;
    if (norm_b_ == 0) return solve_zero();
    if (!std::isfinite(norm_b_)) {
        report_.residuals = {norm_b_};
        return make_report(Status::non_finite, norm_b_);
    }
    if (is_unusual<T>(std::ilogb(norm_b_) - scaling_.b_exponent())) shared_->unusual_b = true;
    if (singular_preconditioner()) {
        const double unknown = std::numeric_limits<double>::quiet_NaN();
        state_.residual_norm = T(unknown);
        report_.residuals = {unknown};
        return make_report(Status::singular_block, unknown);
    }
    set_targets();
    if (scaling_.scales()) {
        norms_ = residual_norms(this->x());
    } else {
        square_of_x_ = square_of_x;
        norms_ = norms_of_residual(square);
    }
    at_start_ = norms_;
    const bool may_leave =
        is_far_start<T>(norms_.true_norm, norm_b_) && options().max_iterations > 0;
    if (may_leave && shared_->norm.all_finite(caller_x_, work())) {
        at_start_.true_norm = std::numeric_limits<double>::infinity();
        fill(context(), T(0), this->x());
        norms_ = residual_norms(this->x());
    }
    status_ = status_at_start(norms_);
    if (status_) return finish();
    start();
    return std::nullopt;
}

/// Writes x, unless the start is better, and computes its residual.
template <class T>
SolveReport ColumnSolve<T>::finish() {
    double true_norm = scaling_.undo(
        x(), norms_.true_norm, caller_x_, at_start_.true_norm, target_, *status_, saved(),
        [this](std::span<const T> scaled) { return residual_norms(scaled).true_norm; });
    // The residual can be finite though x is not: an element of x whose column of A is empty is in
    // no product. So x is checked itself, unless x^T x is known to be finite.
    const bool known_finite = !scaling_.scales() && square_of_x_ && std::isfinite(*square_of_x_),
               finite = known_finite || shared_->norm.all_finite(x(), work());
    if (!finite) *status_ = Status::non_finite;
    if (finite && true_norm <= at_start_.true_norm) {
        copy(context(), std::span<const T>(x()), caller_x_);
    } else {  // It is the start still.
        true_norm = at_start_.true_norm;
    }
    return make_report(*status_, true_norm);
}

template class ColumnSolve<float>;
template class ColumnSolve<double>;

}  // namespace tessera
