#include <algorithm>
#include <cmath>
#include <optional>

#include "base/dispatch.hpp"
#include "base/phases.hpp"
#include "krylov/driver.hpp"
#include "krylov/messages.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

namespace {

/// A correction is worth another one when it takes this share off the residual.
constexpr double worthwhile = 0.1;

class Refinement {
  public:
    Refinement(const Context& context, const Operator<double>& matrix,
               const Operator<float>& low_matrix, const Operator<float>* preconditioner,
               std::span<const double> b, std::span<double> x, const RefinementOptions& wanted,
               const SolveOptions& options)
        : context_(context),
          matrix_(matrix),
          low_matrix_(low_matrix),
          preconditioner_(preconditioner),
          b_(b),
          x_(x),
          wanted_(wanted),
          options_(options),
          square_(context, 1),
          residual_(context, Offset(b.size())),
          saved_(context, Offset(b.size())),
          narrow_residual_(context, Offset(b.size())),
          narrow_correction_(context, Offset(b.size())) {}

    SolveReport solve() {
        norm_b_ = norm(b_);
        if (norm_b_ == 0) {
            fill(context_, 0.0, x_);
            report_.residuals = {0};
            return conclude(Status::converged, 0);
        }
        target_ = std::max(options_.rtol * norm_b_, options_.atol);
        double now = residual_norm();
        report_.residuals = {now / norm_b_};
        std::optional<Status> verdict = judge_start(now);
        while (!verdict) {
            copy(context_, std::span<const double>(x_), saved_.view());
            const SolveReport inner = correct(now);
            const double before = now;
            now = residual_norm();
            verdict = judge(before, now, inner);
            if (!(now <= before)) {  // Or NaN.
                copy(context_, std::span<const double>(saved_.view()), x_);
                now = before;
            }
        }
        return conclude(*verdict, now);
    }

  private:
    double norm(std::span<const double> v) {
        dot<double>(context_, v, v, square_.data());
        double square = 0;
        copy_to_host(context_, std::span<const double>(square_.view()),
                     std::span<double>(&square, 1));
        return std::sqrt(square);
    }

    /// Of b - A x, which stays in residual_, as its square does in square_.
    double residual_norm() {
        matrix_.apply(context_, x_, residual_.view());
        axpby<double>(context_, 1.0, b_, -1.0, residual_.view());
        ++report_.operator_applications;
        return norm(residual_.view());
    }

    std::optional<Status> judge_start(double now) const {
        if (!std::isfinite(norm_b_) || !std::isfinite(now)) return Status::non_finite;
        if (now <= target_) return Status::converged;
        if (options_.max_iterations == 0) return Status::max_iterations;
        return std::nullopt;
    }

    /// x += s c; the report of the inner solver.
    SolveReport correct(double now) {
        const std::span<const double> square = square_.view();
        narrow<double, float>(context_, {}, std::as_const(residual_).view(), square.data(),
                              narrow_residual_.view());
        fill(context_, 0.0F, narrow_correction_.view());
        SolveReport inner = tessera::solve<float>(
            context_, Spec::parse(wanted_.inner), low_matrix_, preconditioner_,
            std::as_const(narrow_residual_).view(), narrow_correction_.view(), inner_options(now));
        // The residual is not needed any more: its place takes the correction.
        widen<float, double>(context_, {}, std::as_const(narrow_correction_).view(), square.data(),
                             residual_.view());
        axpby<double>(context_, 1.0, std::as_const(residual_).view(), 1.0, x_);
        report_.iterations += inner.iterations;
        report_.operator_applications += inner.operator_applications;
        report_.mends += inner.mends;
        for (std::size_t k = 1; k < inner.residuals.size(); ++k) {
            report_.residuals.push_back(inner.residuals[k] * now / norm_b_);
        }
        ++corrections_;
        return inner;
    }

    SolveOptions inner_options(double now) const {
        SolveOptions inner = options_;
        inner.side = Side::right;
        inner.rtol = std::max(wanted_.inner_rtol, 0.5 * target_ / now);
        inner.atol = 0;
        inner.max_iterations = options_.max_iterations - report_.iterations;
        inner.max_seconds = std::max(0.0, options_.max_seconds - (tessera::now() - start_));
        if (options_.observer) {
            inner.observer = [this, now](const Progress& progress) {
                return options_.observer({report_.iterations + progress.iterations,
                                          progress.relative_residual * now / norm_b_,
                                          target_ / norm_b_, tessera::now() - start_});
            };
        }
        return inner;
    }

    /// What a correction that took the residual from `before` to `now` means; nothing: go on.
    std::optional<Status> judge(double before, double now, const SolveReport& inner) {
        if (now <= target_) return Status::converged;
        switch (inner.status) {
            case Status::singular_block:
            case Status::breakdown:
                message_ = inner.message;
                return inner.status;
            case Status::interrupted:
            case Status::max_seconds:
                return inner.status;
            default:
                break;
        }
        if (!std::isfinite(now)) return Status::non_finite;
        if (report_.iterations >= options_.max_iterations) return Status::max_iterations;
        if (now > (1 - worthwhile) * before) {
            // Those before gained: what is left is rounding.
            if (corrections_ > 1) return Status::accuracy_lost;
            message_ =
                "Corrections in single precision no longer shorten the residual: the matrix is too "
                "ill-conditioned for them; take another solver in double precision.";
            return Status::stagnated;
        }
        return std::nullopt;
    }

    SolveReport conclude(Status status, double now) {
        context_.synchronize();
        report_.status = status;
        report_.restarts = std::max<Offset>(0, corrections_ - 1);
        report_.true_relative_residual = norm_b_ == 0 ? 0 : now / norm_b_;
        report_.relative_residual = report_.true_relative_residual;
        report_.seconds = tessera::now() - start_;
        const auto* blocks = dynamic_cast<const Preconditioner<float>*>(preconditioner_);
        report_.message = !message_.empty()
                              ? message_
                              : sentence(report_, Cause::none, norm_b_ == 0 ? 0 : target_ / norm_b_,
                                         blocks == nullptr ? 0 : blocks->singular_blocks());
        return report_;
    }

    const Context& context_;
    const Operator<double>& matrix_;
    const Operator<float>& low_matrix_;
    const Operator<float>* preconditioner_;
    std::span<const double> b_;
    std::span<double> x_;
    const RefinementOptions& wanted_;
    const SolveOptions& options_;
    Buffer<double> square_, residual_, saved_;
    Buffer<float> narrow_residual_, narrow_correction_;

    double start_ = tessera::now();
    double norm_b_ = 0;
    double target_ = 0;
    Offset corrections_ = 0;
    std::string message_;
    SolveReport report_;
};

}  // namespace

CsrMatrix<float> rounded_to_float(const Context& context, const CsrView<double>& matrix) {
    CsrMatrix<float> rounded(context, matrix.rows, matrix.columns, matrix.nonzeros);
    copy(context, matrix.row_offsets_span(), rounded.row_offsets().view());
    copy(context, matrix.column_indices_span(), rounded.column_indices().view());
    convert<double, float>(context, matrix.values_span(), rounded.values().view());
    return rounded;
}

RefinementOptions parse_refinement(Spec spec) {
    RefinementOptions options;
    if (spec.name() != "refinement") {
        throw InvalidArgument("'" + spec.name() + "' is not refinement");
    }
    options.inner = spec.word(std::size_t(0), options.inner);
    options.inner_rtol = spec.real("rtol", options.inner_rtol, 1e-6, 0.9);
    spec.finish();
    const auto names = solver_names();
    if (std::find(names.begin(), names.end(), options.inner) == names.end()) {
        throw InvalidArgument(unknown_word_message("solver", options.inner, names));
    }
    return options;
}

SolveReport refinement(const Context& context, const Operator<double>& matrix,
                       const Operator<float>& low_matrix, const Operator<float>* preconditioner,
                       std::span<const double> b, std::span<double> x,
                       const RefinementOptions& refinement_options, const SolveOptions& options) {
    check_solve(matrix.rows(), matrix.columns(), b.size(), x.size(), options);
    require(low_matrix.rows() == matrix.rows() && low_matrix.columns() == matrix.rows(),
            "refinement: the matrix in single precision must have the size of that in double");
    require(refinement_options.inner_rtol > 0 && refinement_options.inner_rtol < 1,
            "refinement: inner_rtol must be within (0, 1)");
    return Refinement(context, matrix, low_matrix, preconditioner, b, x, refinement_options,
                      options)
        .solve();
}

}  // namespace tessera
