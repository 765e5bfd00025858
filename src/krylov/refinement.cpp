#include "krylov/refinement.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "base/dispatch.hpp"
#include "base/phases.hpp"
#include "krylov/at_work.hpp"
#include "krylov/norms.hpp"
#include "krylov/range_scaling.hpp"
#include "krylov/messages.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

namespace {

/// Status after a correction (residual norms before, now); nullopt: continue.
std::optional<Status> status_after(double before, double now, double target,
                                   const SolveReport& inner, Offset corrections,
                                   bool iterations_left) {
    if (now <= target) return Status::converged;
    switch (inner.status) {
        case Status::singular_block:
        case Status::breakdown:
        case Status::interrupted:
        case Status::max_seconds:
            return inner.status;
        default:
            break;
    }
    if (!std::isfinite(now)) return Status::non_finite;
    if (!iterations_left) return Status::max_iterations;
    if (is_reduced(now, before)) return std::nullopt;
    // If earlier corrections reduced the residual, the rest is rounding error.
    return corrections > 1 ? Status::accuracy_lost : Status::stagnated;
}

std::string message(const SolveReport& report, const SolveReport& inner, double target,
                    Offset singular_blocks) {
    if (report.status == Status::singular_block || report.status == Status::breakdown) {
        return inner.message;
    }
    if (report.status == Status::stagnated) {
        return "Corrections in single precision no longer reduce the residual: the matrix is too "
               "ill-conditioned for them; use another solver in double precision.";
    }
    return status_message(report, BreakdownCause::none, target, singular_blocks);
}

/// The solver of refinement(); its vectors stay from solve to solve.
class Refinement final : public IterativeSolver<double> {
  public:
    Refinement(const Context& context, const Operator<double>& matrix,
               const Operator<float>& low_matrix, const Operator<float>* preconditioner,
               const RefinementOptions& options)
        : context_(context),
          matrix_(matrix),
          preconditioner_(preconditioner),
          inner_rtol_(options.inner_rtol),
          inner_solver_(
              (options.inner ? options.inner : std::shared_ptr<SolverConfig>(parse_solver("cg")))
                  ->make(context_, low_matrix, preconditioner)),
          scaling_(context_),
          norm_(context_),
          b_(context_, matrix.rows()),
          x_(context_, matrix.rows()),
          residual_(context_, matrix.rows()),
          saved_(context_, matrix.rows()),
          low_residual_(context_, matrix.rows()),
          low_correction_(context_, matrix.rows()) {}

    SolveReport solve(std::span<const double> b, std::span<double> x,
                      const SolveOptions& options) override;
    std::vector<SolveReport> solve(Vectors<const double> b, Vectors<double> x,
                                   const SolveOptions& options) override;
    void operators_changed() override {
        AtWork::check(at_work_);
        inner_solver_->operators_changed();
    }

  private:
    double residual_norm(std::span<const double> x);
    double start(std::span<const double> b, std::span<const double> x);
    std::optional<Status> status_at_start(double length) const;
    void correct(double before);

    const Context context_;
    const Operator<double>& matrix_;
    const Operator<float>* preconditioner_;
    const double inner_rtol_;
    const std::unique_ptr<IterativeSolver<float>> inner_solver_;
    RangeScaling<double> scaling_;
    Norms<double> norm_;
    Buffer<double> b_, x_;  ///< Copies of the caller's, perhaps scaled.
    Buffer<double> residual_, saved_;
    Buffer<float> low_residual_, low_correction_;
    // The solve at work.
    bool at_work_ = false;
    const SolveOptions* options_ = nullptr;  ///< Of the caller.
    double start_ = 0;
    double norm_b_ = 0;
    double target_ = 0;
    SolveReport report_, inner_;
};

}  // namespace

RefinementOptions parse_refinement(Spec spec) {
    if (spec.name() != "refinement") {
        throw InvalidArgument("'" + spec.name() + "' is not refinement");
    }
    RefinementOptions options;
    options.inner = parse_solver(spec.word(0, "cg"));
    options.inner_rtol = spec.real("rtol", options.inner_rtol, 1e-6, 0.9);
    spec.finish();
    return options;
}

namespace {

/// ||b - A x||; leaves b - A x in residual_.
double Refinement::residual_norm(std::span<const double> x) {
    matrix_.apply(context_, x, residual_.view());
    axpby<double>(context_, 1.0, b_.view(), -1.0, residual_.view());
    return norm_.without_underflow(residual_.view());
}

/// Copies and scales the system; returns ||b - A x||.
double Refinement::start(std::span<const double> b, std::span<const double> x) {
    copy(context_, b, b_.view());
    copy(context_, x, x_.view());
    const auto norm = [this](std::span<const double> v) { return norm_(v); };
    norm_b_ = scaling_.scale(norm_(b_.view()), norm, b_.view(), x_.view());
    target_ = std::max(options_->rtol * norm_b_, scaling_.scaled(options_->atol));
    if (norm_b_ == 0) fill(context_, 0.0, x_.view());
    const double length = residual_norm(x_.view());
    report_.operator_applications = 1;
    report_.residuals = {norm_b_ == 0 ? 0 : length / norm_b_};
    return length;
}

std::optional<Status> Refinement::status_at_start(double length) const {
    if (!std::isfinite(norm_b_) || !std::isfinite(length)) return Status::non_finite;
    if (length <= target_) return Status::converged;
    if (options_->max_iterations == 0) return Status::max_iterations;
    return std::nullopt;
}

/// x += s c; the correction c overwrites the residual. `before` is the norm of the residual.
void Refinement::correct(double before) {
    SolveOptions options = *options_;
    options.left_preconditioning = false;
    options.atol = 0;
    options.rtol = std::max(inner_rtol_, 0.5 * target_ / before);
    options.max_iterations = options_->max_iterations - report_.iterations;
    options.max_seconds = std::max(0.0, options_->max_seconds - (now() - start_));
    if (options_->observer) {
        options.observer = [this, before](const Progress& progress) {
            return options_->observer({report_.iterations + progress.iterations,
                                       progress.relative_residual * before / norm_b_,
                                       target_ / norm_b_, now() - start_});
        };
    }
    copy(context_, x_.view(), saved_.view());
    convert<double, float>(context_, residual_.view(), low_residual_.view(), norm_.square());
    fill(context_, 0.0F, low_correction_.view());
    inner_ = inner_solver_->solve(low_residual_.view(), low_correction_.view(), options);
    convert<float, double>(context_, low_correction_.view(), residual_.view(), norm_.square());
    axpby<double>(context_, 1.0, residual_.view(), 1.0, x_.view());
    report_.iterations += inner_.iterations;
    report_.operator_applications += inner_.operator_applications + 1;
    report_.recoveries += inner_.recoveries;
    for (std::size_t k = 1; k < inner_.residuals.size(); ++k) {
        report_.residuals.push_back(inner_.residuals[k] * before / norm_b_);
    }
}

SolveReport Refinement::solve(std::span<const double> b, std::span<double> x,
                              const SolveOptions& options) {
    check_solve<double>(context_, matrix_, one_vector(b), one_vector(x), options);
    const AtWork guard(at_work_);
    options_ = &options;
    start_ = now();
    report_ = {};
    inner_ = {};
    const double at_start = start(b, x);
    double length = at_start;
    std::optional<Status> status = status_at_start(length);
    Offset corrections = 0;
    while (!status) {
        ++corrections;
        const double before = length;
        correct(before);
        length = residual_norm(x_.view());
        status = status_after(before, length, target_, inner_, corrections,
                              report_.iterations < options_->max_iterations);
        if (!(length <= before)) {  // Or NaN.
            copy(context_, saved_.view(), x_.view());
            length = before;
        }
    }
    length = scaling_.undo(x_.view(), length, x, at_start, target_, *status, saved_.view(),
                           [this](std::span<const double> from) { return residual_norm(from); });
    const bool finite = norm_.all_finite(x_.view(), residual_.view());
    if (finite) {
        copy(context_, x_.view(), x);
    } else {  // It is the start still.
        status = Status::non_finite;
        length = at_start;
    }
    context_.synchronize();
    report_.status = *status;
    report_.restarts = std::max<Offset>(0, corrections - 1);
    report_.true_relative_residual = norm_b_ == 0 ? length : length / norm_b_;
    report_.relative_residual = report_.true_relative_residual;
    report_.seconds = now() - start_;
    report_.message = message(report_, inner_, norm_b_ == 0 ? 0 : target_ / norm_b_,
                              preconditioner_ == nullptr ? 0 : preconditioner_->singular_blocks());
    return report_;
}

/// One after the other.
std::vector<SolveReport> Refinement::solve(Vectors<const double> b, Vectors<double> x,
                                           const SolveOptions& options) {
    check_solve<double>(context_, matrix_, b, x, options);
    std::vector<SolveReport> reports;
    for (int j = 0; j < b.count; ++j) {
        SolveOptions own = options;
        if (options.observer) {
            own.observer = [&options, j](Progress progress) {
                progress.vector = j;
                return options.observer(progress);
            };
        }
        reports.push_back(solve(b[j], x[j], own));
    }
    return reports;
}

}  // namespace

std::unique_ptr<IterativeSolver<double>> make_refinement(const Context& context,
                                                         const Operator<double>& matrix,
                                                         const Operator<float>& low_matrix,
                                                         const Operator<float>* preconditioner,
                                                         const RefinementOptions& options) {
    require(matrix.rows() == matrix.columns(), "refinement: the matrix must be square");
    require(low_matrix.rows() == matrix.rows() && low_matrix.columns() == matrix.rows(),
            "refinement: the matrix in single precision must have the size of that in double");
    require(options.inner_rtol > 0 && options.inner_rtol < 1,
            "refinement: inner_rtol must be within (0, 1)");
    return std::make_unique<Refinement>(context, matrix, low_matrix, preconditioner, options);
}

SolveReport refinement(const Context& context, const Operator<double>& matrix,
                       const Operator<float>& low_matrix, const Operator<float>* preconditioner,
                       std::span<const double> b, std::span<double> x,
                       const RefinementOptions& refinement_options, const SolveOptions& options) {
    return make_refinement(context, matrix, low_matrix, preconditioner, refinement_options)
        ->solve(b, x, options);
}

}  // namespace tessera
