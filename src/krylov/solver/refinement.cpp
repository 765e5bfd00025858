#include "krylov/solver/refinement.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/phases.hpp"
#include "krylov/at_work.hpp"
#include "krylov/messages.hpp"
#include "tessera/solution_errors.hpp"

namespace tessera {

namespace {

constexpr Offset max_steps = 10;

/// Whether the squares of b, and those of residuals, are in the range of T.
template <class T>
bool is_in_range(double norm_b) {
    using limits = std::numeric_limits<T>;
    constexpr double epsilon = double(limits::epsilon());
    return norm_b > std::sqrt(double(limits::min())) / (epsilon * epsilon) &&
           norm_b < std::sqrt(double(limits::max()) * epsilon);
}

}  // namespace

template <class T>
SolveReport Refinement<T>::solve(std::span<const T> b, std::span<T> x,
                                 const SolveOptions& options) {
    return std::move(solve(one_vector(b), one_vector(x), options).front());
}

template <class T>
std::vector<SolveReport> Refinement<T>::solve(Vectors<const T> b, Vectors<T> x,
                                              const SolveOptions& options) {
    check_solve<T>(context_, product_, b, x, options);
    std::vector<SolveReport> reports;
    for (int j = 0; j < b.count; ++j) reports.push_back(refine(b[j], x[j], options, j));
    return reports;
}

/// Writes what is known of x to the report; whether the solve ends with it, by the status.
template <class T>
bool Refinement<T>::ends(const Look& look, const SolveOptions& options, SolveReport& report) {
    report.residuals.push_back(look.relative);
    report.relative_residual = report.true_relative_residual = look.relative;
    report.backward_error = look.backward_error;
    report.worst_row = look.row;
    report.iterations = look.step;
    const auto end = [&](Status status) {
        report.status = status;
        return true;
    };
    const bool is_balanced = look.backward_error <= 100 * look.target || look.target >= 0.01;
    // Nothing is expected of the start, nor of the first solve.
    const bool no_longer_falls = look.step > 1 && !(look.backward_error <= look.before / 2);
    if (look.relative <= look.target && is_balanced) {
        // A step costs little: x becomes as accurate as the factors allow.
        constexpr double epsilon = double(std::numeric_limits<T>::epsilon());
        const bool is_accurate = look.backward_error <= 1000 * epsilon || look.step == 3;
        if (look.step == 0 || is_accurate || no_longer_falls) return end(Status::converged);
    }
    if (!std::isfinite(look.relative)) return end(Status::non_finite);
    if (no_longer_falls) return end(Status::accuracy_lost);
    if (look.step == max_steps) return end(Status::accuracy_lost);
    if (look.step >= options.max_iterations) return end(Status::max_iterations);
    if (look.seconds >= options.max_seconds) return end(Status::max_seconds);
    if (!options.observer) return false;
    Progress progress{look.step, look.relative, look.target, look.seconds, look.vector};
    progress.copy_x = [this](void* to) {
        copy(context_, std::as_const(now_).view(), std::span<T>(static_cast<T*>(to), now_.size()));
    };
    return options.observer(progress) ? false : end(Status::interrupted);
}

template <class T>
SolveReport Refinement<T>::refine(std::span<const T> b, std::span<T> x, const SolveOptions& options,
                                  int vector) {
    const double start = tessera::now();
    SolveReport report;
    Look look;
    look.vector = vector;
    copy(context_, std::span<const T>(x), now_.view());
    for (;; ++look.step) {
        const SolutionErrors errors =
            solution_errors<T>(context_, matrix_, b, std::as_const(now_).view());
        if (!is_in_range<T>(errors.right_hand_side)) return plain_->solve(b, x, options);
        look.target =
            std::max(options.rtol.value_or(default_rtol<T>), options.atol / errors.right_hand_side);
        look.relative = errors.residual / errors.right_hand_side;
        look.backward_error = errors.backward_error;
        look.row = errors.row;
        look.seconds = tessera::now() - start;
        if (ends(look, options, report)) break;
        if (look.step > 0) look.before = look.backward_error;
        product_.apply(context_, std::as_const(now_).view(), residual_.view());
        axpbypcz<T>(context_, T(1), b, T(-1), std::as_const(residual_).view(), T(0),
                    residual_.view());
        factors_.apply(context_, std::as_const(residual_).view(), change_.view());
        axpby<T>(context_, T(1), std::as_const(change_).view(), T(1), now_.view());
        ++report.operator_applications;
    }
    // An x that is worse than the start, by rows and in norm, is of no use.
    const bool is_worse = !(report.true_relative_residual <= report.residuals.front());
    if (!is_worse || report.backward_error <= 0.1 * default_rtol<T>) {
        copy(context_, std::as_const(now_).view(), x);
    }
    context_.synchronize();
    report.seconds = tessera::now() - start;
    report.message = status_message(report, {}, look.target, 0);
    return report;
}

template class Refinement<float>;
template class Refinement<double>;

}  // namespace tessera
