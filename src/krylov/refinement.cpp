#include <algorithm>
#include <cmath>
#include <optional>

#include "base/dispatch.hpp"
#include "base/phases.hpp"
#include "krylov/messages.hpp"
#include "krylov/norms.hpp"
#include "krylov/range_scaling.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

namespace {

/// Minimum relative residual reduction of a correction to continue.
constexpr double min_reduction = 0.1;

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
    if (now <= (1 - min_reduction) * before) return std::nullopt;
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

/// The vectors of iterative refinement.
struct Workspace {
    Workspace(const Context& where, Offset n)
        : context(where),
          norm(where),
          residual(where, n),
          saved(where, n),
          low_residual(where, n),
          low_correction(where, n) {}

    /// ||b - A x||; leaves b - A x in `residual`.
    double residual_norm(const Operator<double>& matrix, std::span<const double> b,
                         std::span<const double> x) {
        matrix.apply(context, x, residual.view());
        axpby<double>(context, 1.0, b, -1.0, residual.view());
        return norm.without_underflow(residual.view());
    }

    /// x += s c; the correction overwrites the residual.
    SolveReport correct(const SolverConfig& solver, const Operator<float>& low_matrix,
                        const Operator<float>* preconditioner, const SolveOptions& options,
                        std::span<double> x) {
        copy(context, std::span<const double>(x), saved.view());
        convert<double, float>(context, residual.view(), low_residual.view(), norm.square());
        fill(context, 0.0F, low_correction.view());
        SolveReport report =
            solver.solve(context, low_matrix, preconditioner, std::as_const(low_residual).view(),
                         low_correction.view(), options);
        convert<float, double>(context, low_correction.view(), residual.view(), norm.square());
        axpby<double>(context, 1.0, std::as_const(residual).view(), 1.0, x);
        return report;
    }

    const Context& context;
    Norms<double> norm;
    Buffer<double> residual, saved;
    Buffer<float> low_residual, low_correction;
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

SolveReport refinement(const Context& context, const Operator<double>& matrix,
                       const Operator<float>& low_matrix, const Operator<float>* preconditioner,
                       std::span<const double> b, std::span<double> x,
                       const RefinementOptions& refinement_options, const SolveOptions& options) {
    check_solve<double>(context, matrix, b, x, options);
    require(low_matrix.rows() == matrix.rows() && low_matrix.columns() == matrix.rows(),
            "refinement: the matrix in single precision must have the size of that in double");
    const double inner_rtol = refinement_options.inner_rtol;
    require(inner_rtol > 0 && inner_rtol < 1, "refinement: inner_rtol must be within (0, 1)");
    const auto solver = refinement_options.inner ? refinement_options.inner : parse_solver("cg");

    const double start = now();
    Workspace work(context, Offset(b.size()));
    SolveReport report, inner;
    RangeScaling<double> scaling(context);
    const double norm_b =
        scaling.scale([&work](std::span<const double> v) { return work.norm(v); }, b, x);
    const double target = std::max(options.rtol * norm_b, scaling.scaled(options.atol));
    if (norm_b == 0) fill(context, 0.0, x);
    const double at_start = work.residual_norm(matrix, b, x);
    double length = at_start;
    report.operator_applications = 1;
    report.residuals = {norm_b == 0 ? 0 : length / norm_b};
    std::optional<Status> status;
    if (!std::isfinite(norm_b) || !std::isfinite(length)) {
        status = Status::non_finite;
    } else if (length <= target) {
        status = Status::converged;
    } else if (options.max_iterations == 0) {
        status = Status::max_iterations;
    }

    SolveOptions inner_options = options;
    inner_options.left_preconditioning = false;
    inner_options.atol = 0;
    if (options.observer) {
        inner_options.observer = [&](const Progress& progress) {
            return options.observer({report.iterations + progress.iterations,
                                     progress.relative_residual * length / norm_b, target / norm_b,
                                     now() - start});
        };
    }
    Offset corrections = 0;
    for (; !status; ++corrections) {
        inner_options.rtol = std::max(inner_rtol, 0.5 * target / length);
        inner_options.max_iterations = options.max_iterations - report.iterations;
        inner_options.max_seconds = std::max(0.0, options.max_seconds - (now() - start));
        inner = work.correct(*solver, low_matrix, preconditioner, inner_options, x);
        report.iterations += inner.iterations;
        report.operator_applications += inner.operator_applications + 1;
        report.recoveries += inner.recoveries;
        for (std::size_t k = 1; k < inner.residuals.size(); ++k) {
            report.residuals.push_back(inner.residuals[k] * length / norm_b);
        }
        const double before = length;
        length = work.residual_norm(matrix, b, x);
        status = status_after(before, length, target, inner, corrections + 1,
                              report.iterations < options.max_iterations);
        if (!(length <= before)) {  // Or NaN.
            copy(context, std::span<const double>(work.saved.view()), x);
            length = before;
        }
    }
    length = scaling.undo(
        x, length, at_start, target, *status, work.saved.view(),
        [&](std::span<const double> from) { return work.residual_norm(matrix, b, from); });
    if (status == Status::converged && !work.norm.all_finite(x, work.residual.view())) {
        status = Status::non_finite;
    }
    context.synchronize();
    report.status = *status;
    report.restarts = std::max<Offset>(0, corrections - 1);
    report.true_relative_residual = norm_b == 0 ? length : length / norm_b;
    report.relative_residual = report.true_relative_residual;
    report.seconds = now() - start;
    report.message = message(report, inner, norm_b == 0 ? 0 : target / norm_b,
                             preconditioner == nullptr ? 0 : preconditioner->singular_blocks());
    return report;
}

}  // namespace tessera
