#include "krylov/solver/refinement.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/phases.hpp"
#include "base/scratch/scratch.hpp"
#include "krylov/messages.hpp"
#include "krylov/norms.hpp"
#include "tessera/solution_errors.hpp"

namespace tessera {

namespace {

constexpr Offset max_steps = 10;
constexpr int max_together = 8;

/// Whether the squares of b, and those of residuals, are in the range of T.
template <class T>
bool is_in_range(double norm_b) {
    using limits = std::numeric_limits<T>;
    constexpr double epsilon = double(limits::epsilon());
    return norm_b > std::sqrt(double(limits::min())) / (epsilon * epsilon) &&
           norm_b < std::sqrt(double(limits::max()) * epsilon);
}

/// The errors of x = 0, in host memory.
template <class T>
SolutionErrors errors_of_zero(const Context& cpu, std::span<const T> b) {
    SolutionErrors errors;
    errors.residual = errors.right_hand_side = std::sqrt(double(dot_to_host<const T>(cpu, b, b)));
    const auto first = std::ranges::find_if(b, [](T value) { return value != T(0); });
    if (first == b.end()) return errors;
    errors.backward_error = 1;
    errors.row = Index(first - b.begin());
    return errors;
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
    errors_.assign(std::size_t(b.count), {});
    for (int first = 0; first < b.count; first += max_together) {
        const int count = std::min(max_together, b.count - first);
        const Vectors<const T> right(b.data + first * b.leading, b.size, count, b.leading);
        const Vectors<T> left(x.data + first * x.leading, x.size, count, x.leading);
        for (SolveReport& report : refine(right, left, options, first)) {
            reports.push_back(std::move(report));
        }
    }
    return reports;
}

/// Whether each row's residual is as large as rounding x makes it, and their norm far from the
/// target: another step cannot reach it. Of an x so huge that it may be the sign of a singular
/// matrix further steps tell more.
template <class T>
bool Refinement<T>::is_at_rounding(const Look& look) {
    constexpr double rounding = 2 * double(std::numeric_limits<T>::epsilon());
    constexpr double max_relative = 1e-3;
    return look.step > 0 && look.errors.backward_error <= rounding &&
           look.relative > 10 * look.target && look.relative <= max_relative;
}

/// Writes what is known of x to the report; whether the solve ends with it, by the status.
template <class T>
bool Refinement<T>::ends(const Look& look, std::span<T> x, const SolveOptions& options,
                         SolveReport& report) {
    report.residuals.push_back(look.relative);
    report.relative_residual = report.true_relative_residual = look.relative;
    report.backward_error = look.errors.backward_error;
    report.worst_row = look.errors.row;
    report.iterations = look.step;
    const auto end = [&](Status status) {
        report.status = status;
        return true;
    };
    const bool is_balanced = look.errors.backward_error <= 100 * look.target || look.target >= 0.01;
    // Nothing is expected of the start, nor of the first solve.
    const bool no_longer_falls = look.step > 1 && !(look.errors.backward_error <= look.before / 2);
    if (look.relative <= look.target && is_balanced) {
        // A step costs little: x becomes as accurate as the factors allow.
        constexpr double epsilon = double(std::numeric_limits<T>::epsilon());
        const bool is_accurate = look.errors.backward_error <= 1000 * epsilon || look.step >= 3;
        if (look.step == 0 || is_accurate || no_longer_falls) return end(Status::converged);
    }
    if (!std::isfinite(look.relative)) return end(Status::non_finite);
    if (no_longer_falls || is_at_rounding(look)) return end(Status::accuracy_lost);
    if (look.step == max_steps) return end(Status::accuracy_lost);
    if (look.step >= options.max_iterations) return end(Status::max_iterations);
    if (look.seconds >= options.max_seconds) return end(Status::max_seconds);
    if (!options.observer) return false;
    Progress progress{look.step, look.relative, look.target, look.seconds, look.vector};
    progress.copy_x = [this, &x](void* to) {
        copy(context_, std::span<const T>(x), std::span<T>(static_cast<T*>(to), x.size()));
    };
    return options.observer(progress) ? false : end(Status::interrupted);
}

/// Looks at x, which is the one of the report at the end, and finds its residual; whether its solve
/// ends with it.
template <class T>
bool Refinement<T>::look_at(std::span<const T> b, std::span<T> x, std::span<T> residual,
                            double start, Look& look, const SolveOptions& options,
                            SolveReport& report) {
    const SolutionErrors& errors = look.errors;
    if (look.step == 0) {
        look.starts_at_zero = !context_.on_gpu() && std::ranges::count(x, T(0)) == Offset(x.size());
    }
    const double rtol = options.rtol.value_or(default_rtol<T>);
    if (look.step == 0 && look.starts_at_zero) {
        copy(context_, b, residual);
        look.errors = errors_of_zero<T>(context_, b);
    } else {
        const auto measure = [&](double tolerance) {
            look.errors = solution_errors<T>(context_, matrix_, b, x, tolerance, residual);
        };
        // Rounding errors in sums of an x that a step did not make small are likely to matter.
        measure(look.step > 1 && look.relative > look.target ? 0 : rtol);
        const bool may_leave = look.step == 0 && options.max_iterations > 0;
        if (may_leave && is_far_start<T>(errors.residual, errors.right_hand_side) &&
            std::isfinite(norm(context_, std::span<const T>(x)))) {
            fill(context_, T(0), x);
            measure(rtol);
        }
    }
    look.is_in_range = is_in_range<T>(errors.right_hand_side);
    if (!look.is_in_range) return true;
    look.target = std::max(rtol, options.atol / errors.right_hand_side);
    look.relative = errors.residual / errors.right_hand_side;
    look.seconds = tessera::now() - start;
    if (ends(look, x, options, report)) return true;
    if (look.step > 0) look.before = look.errors.backward_error;
    look.errors_before = look.errors;
    ++look.step;
    ++report.operator_applications;
    return false;
}

/// Whether the last step made x worse than the one before, which is not the start.
template <class T>
bool Refinement<T>::has_risen(const Look& look) {
    return look.step > 1 && !(look.errors.backward_error <= look.before);
}

/// Several right-hand sides together, so that the factors are read once for all.
template <class T>
std::vector<SolveReport> Refinement<T>::refine(Vectors<const T> b, Vectors<T> x,
                                               const SolveOptions& options, int first) {
    const double start = tessera::now();
    const Scratch<T> work(context_, 4 * b.size * b.count);
    const auto vectors = [&](int k) {
        return Vectors<T>(work.data() + k * b.size * b.count, b.size, b.count, b.size);
    };
    const Vectors<T> now = vectors(0), residual = vectors(1), change = vectors(2);
    const Vectors<T> before = vectors(3);
    std::vector<SolveReport> reports(std::size_t(b.count));
    std::vector<Look> looks(reports.size());
    std::vector<bool> has_ended(reports.size(), false);
    for (int j = 0; j < b.count; ++j) {
        looks[j].vector = first + j;
        copy(context_, std::span<const T>(x[j]), now[j]);
    }
    while (true) {
        for (int j = 0; j < b.count; ++j) {
            if (has_ended[j]) continue;
            has_ended[j] = look_at(b[j], now[j], residual[j], start, looks[j], options, reports[j]);
        }
        if (std::ranges::find(has_ended, false) == has_ended.end()) break;
        factors_.apply_vectors(context_, residual, change);
        for (int j = 0; j < b.count; ++j) {
            if (has_ended[j]) continue;
            copy(context_, std::span<const T>(now[j]), before[j]);
            axpby<T>(context_, T(1), std::span<const T>(change[j]), T(1), now[j]);
        }
    }
    for (int j = 0; j < b.count; ++j) {
        SolveReport& report = reports[j];
        if (!looks[j].is_in_range) {
            report = config_->make(context_, product_, &factors_)->solve(b[j], x[j], options);
            continue;
        }
        if (has_risen(looks[j])) {
            copy(context_, std::span<const T>(before[j]), now[j]);
            Look last = looks[j];
            last.errors = looks[j].errors_before;
            last.relative = last.errors.residual / last.errors.right_hand_side;
            last.before = std::numeric_limits<double>::infinity();
            last.step = max_steps;  // Only to be judged.
            report.residuals.pop_back();
            ends(last, now[j], options, report);
            report.iterations = looks[j].step;
            looks[j].errors = last.errors;
        }
        // An x that is worse than the start, by rows and in norm, is of no use.
        const bool is_worse = !(report.true_relative_residual <= report.residuals.front());
        if (!is_worse || report.backward_error <= 0.1 * default_rtol<T>) {
            copy(context_, std::span<const T>(now[j]), x[j]);
            errors_[std::size_t(first + j)] = looks[j].errors;
        }
        report.seconds = tessera::now() - start;
        report.message = status_message(report, {}, looks[j].target, 0);
    }
    context_.synchronize();
    return reports;
}

template class Refinement<float>;
template class Refinement<double>;

}  // namespace tessera
