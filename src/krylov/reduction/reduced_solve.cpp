#include "krylov/reduced_solve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/scratch/scratch.hpp"
#include "krylov/attempts.hpp"
#include "krylov/messages.hpp"
#include "krylov/norms.hpp"
#include "tessera/solution_errors.hpp"

namespace tessera {

namespace {

/// One solve: the vectors and norms that its passes share.
template <class T>
class Passes {
  public:
    Passes(const Context& context, const ReducedSystem<T>& system, IterativeSolver<T>& solver,
           std::span<const T> b, std::span<T> x, const SolveOptions& options)
        : context_(context),
          system_(system),
          solver_(solver),
          b_(b),
          x_(x),
          options_(options),
          start_(context, Offset(x.size())),
          residual_(context, Offset(x.size())),
          right_(context, system.rows()),
          correction_(context, system.rows()) {}

    SolveReport run() {
        size_b_ = size_of(b_);
        if (size_b_ == 0) {
            fill(context_, T(0), x_);
            return {};
        }
        target_ = std::max(options_.rtol.value_or(default_rtol<T>), options_.atol / size_b_);
        copy<T>(context_, x_, start_.view());
        system_.residual(b_, x_, residual_.view());
        const double start = size_of(residual_.view());
        const double limit = target_ * reference();
        try {
            improve(limit);
        } catch (...) {  // What the observer throws leaves x as it was.
            copy<T>(context_, start_.view(), x_);
            throw;
        }
        finish(start);
        return std::move(report_);
    }

  private:
    double size_of(std::span<const T> v) const { return norm<T>(context_, v); }

    /// ||b - A x|| of the kept rows for x = 0 but for the fixed unknowns: the norm that the
    /// tolerance is relative to. It is at most that of b.
    double reference() {
        if (system_.reduction().fixed.empty()) return size_b_;
        // The start was measured already.
        fill(context_, T(0), x_);
        system_.fix_unknowns(b_, x_);
        system_.residual(b_, x_, residual_.view());
        system_.take_kept(residual_.view(), right_.view());
        const double result = std::min(size_b_, size_of(right_.view()));
        copy<T>(context_, start_.view(), x_);
        system_.residual(b_, x_, residual_.view());
        return result;
    }

    /// Corrects x until the residual of the kept rows is at most `limit` or no longer falls by
    /// half.
    void improve(double limit) {
        double before = 0;
        for (int pass = 0;; ++pass) {
            now_ = kept_residual();
            const bool is_stalled = pass > 0 && !(now_ <= before / 2);
            if (now_ <= limit || is_stalled || !is_solved(report_.status)) break;
            const SolveOptions remaining = attempt_options(options_, Attempt{}, report_);
            if (pass > 0 && (remaining.max_iterations == 0 || remaining.max_seconds == 0)) {
                report_.status =
                    remaining.max_seconds == 0 ? Status::max_seconds : Status::max_iterations;
                break;
            }
            before = now_;
            correct(remaining, limit / now_ * (pass > 0 ? 0.5 : 1));
        }
    }

    /// Sets the fixed unknowns; the norm of the residual of the other rows.
    double kept_residual() {
        if (!system_.reduction().fixed.empty()) {
            system_.fix_unknowns(residual_.view(), x_);
            system_.residual(b_, x_, residual_.view());
        }
        system_.take_kept(residual_.view(), right_.view());
        return size_of(right_.view());
    }

    /// One solve of the reduced system, whose residual shall fall to `factor` of what it is.
    void correct(SolveOptions options, double factor) {
        constexpr double smallest = 4 * double(std::numeric_limits<T>::epsilon());
        options.rtol = std::isfinite(factor) ? std::clamp(factor, smallest, 0.5) : 0.5;
        options.atol = 0;
        const double scale = now_ / size_b_;
        if (options.observer) {
            options.observer = [this, scale, observer = options.observer](Progress progress) {
                progress.relative_residual *= scale;
                progress.target *= scale;
                if (progress.copy_x) progress.copy_x = copy_of_x(std::move(progress.copy_x));
                return observer(progress);
            };
        }
        system_.restrict_residual(residual_.view(), right_.view());
        fill(context_, T(0), correction_.view());
        SolveReport pass = solver_.solve(right_.view(), correction_.view(), options);
        system_.add(correction_.view(), x_);
        system_.residual(b_, x_, residual_.view());
        pass.relative_residual *= scale;
        for (double& one : pass.residuals) one *= scale;
        report_ = joined(report_, std::move(pass));
    }

    /// x with the correction so far, from a function that copies the correction.
    std::function<void(void*)> copy_of_x(std::function<void(void*)> take) {
        return [this, take = std::move(take)](void* to) {
            const Scratch<T> correction(context_, system_.rows());
            take(correction.data());
            const std::span<T> x(static_cast<T*>(to), x_.size());
            copy<T>(context_, x_, x);
            system_.add(correction.view(), x);
            context_.synchronize();
        };
    }

    /// Whether the residuals are small by rows: where x is large, rounding its elements alone may
    /// leave a residual larger than b.
    bool is_small_by_rows() const {
        const SolutionErrors errors = solution_errors<T>(context_, system_.given().matrix(), b_,
                                                         std::span<const T>(x_), default_rtol<T>);
        return errors.backward_error <= 0.1 * default_rtol<T>;
    }

    /// Completes the report, and takes the start back if x is worse.
    void finish(double start) {
        double size = size_of(residual_.view());
        if (!(size <= start) && !is_small_by_rows()) {
            copy<T>(context_, start_.view(), x_);
            size = start;
        }
        report_.true_relative_residual = size / size_b_;
        const bool is_small = report_.true_relative_residual <= 1.01 * target_;
        if (is_small) {
            report_.status = Status::converged;
        } else if (is_solved(report_.status)) {
            report_.status = Status::accuracy_lost;
        }
        report_.message = status_message(report_, {}, target_, 0);
    }

    const Context& context_;
    const ReducedSystem<T>& system_;
    IterativeSolver<T>& solver_;
    const std::span<const T> b_;
    const std::span<T> x_;
    const SolveOptions& options_;
    const Scratch<T> start_, residual_, right_, correction_;
    double size_b_ = 0, target_ = 0;
    double now_ = 0;  ///< The norm of the residual of the kept rows.
    SolveReport report_;
};

}  // namespace

template <class T>
SolveReport solve_reduced(const Context& context, const ReducedSystem<T>& system,
                          IterativeSolver<T>& solver, std::span<const T> b, std::span<T> x,
                          const SolveOptions& options) {
    return Passes<T>(context, system, solver, b, x, options).run();
}

template SolveReport solve_reduced(const Context&, const ReducedSystem<float>&,
                                   IterativeSolver<float>&, std::span<const float>,
                                   std::span<float>, const SolveOptions&);
template SolveReport solve_reduced(const Context&, const ReducedSystem<double>&,
                                   IterativeSolver<double>&, std::span<const double>,
                                   std::span<double>, const SolveOptions&);

}  // namespace tessera
