#include "krylov/attempts.hpp"

#include <algorithm>
#include <limits>

#include "base/concat.hpp"

namespace tessera {

bool has_name(std::string_view words, std::string_view name) {
    return words.substr(0, words.find_first_of(":,")) == name;
}

bool worth_another(const SolveReport& report, Offset attempt_limit) {
    switch (report.status) {
        case Status::breakdown:
        case Status::stagnated:
        case Status::singular_block:
        case Status::unbalanced:
        case Status::accuracy_lost:  // bloweya: minres 1.2e-8, block LDL^T converges.
            return true;
        case Status::max_iterations:
            return attempt_limit > 0;
        case Status::non_finite:  // Numbers grew too large, unless they were given.
            return report.iterations > 0;
        default:
            return false;
    }
}

bool worth_another(const Error& error) {
    return dynamic_cast<const InvalidArgument*>(&error) != nullptr ||
           dynamic_cast<const OutOfMemory*>(&error) != nullptr;
}

SolveReport unsolved_report(const PreconditionerReport& setup) {
    const double unknown = std::numeric_limits<double>::quiet_NaN();
    SolveReport report;
    report.relative_residual = unknown;
    report.true_relative_residual = unknown;
    if (setup.first_non_finite_row >= 0) {
        report.status = Status::non_finite;
        report.message = "row " + std::to_string(setup.first_non_finite_row) +
                         " of the matrix has a NaN or infinity, so the solve was not started";
        return report;
    }
    report.status = Status::singular_block;
    report.message =
        setup.unusable + (setup.blocks > 0
                              ? ", so the solve was not started; use singular=shift"
                              : " and the solve was not started; use the solver idr with the "
                                "preconditioner block_jacobi");
    return report;
}

SolveOptions attempt_options(const SolveOptions& options, const Attempt& attempt,
                             const SolveReport& before) {
    SolveOptions result = options;
    result.max_iterations = std::max<Offset>(options.max_iterations - before.iterations, 0);
    if (attempt.max_iterations > 0) {
        result.max_iterations = std::min(result.max_iterations, attempt.max_iterations);
    }
    const Offset window = attempt.stagnation_window;
    if (window > 0 && (options.stagnation_window == 0 || window < options.stagnation_window)) {
        result.stagnation_window = window;
    }
    result.max_seconds = std::max(options.max_seconds - before.seconds - before.setup_seconds, 0.0);
    if (options.observer && (before.iterations > 0 || before.seconds > 0)) {
        result.observer = [observer = options.observer, iterations = before.iterations,
                           seconds = before.seconds](const Progress& progress) {
            Progress all = progress;
            all.iterations += iterations;
            all.seconds += seconds;
            return observer(all);
        };
    }
    return result;
}

SolveReport joined(const SolveReport& before, SolveReport last) {
    last.iterations += before.iterations;
    last.operator_applications += before.operator_applications;
    last.restarts += before.restarts;
    last.recoveries += before.recoveries;
    last.seconds += before.seconds;
    last.setup_seconds += before.setup_seconds;
    if (before.residuals.empty()) return last;
    if (last.residuals.empty()) {
        last.residuals = before.residuals;
    } else {  // Its first residual belongs to the x of the attempt before.
        last.residuals.insert(last.residuals.begin(), before.residuals.begin(),
                              before.residuals.end() - 1);
    }
    return last;
}

std::string outcome_of(const SolveReport& attempt) {
    if (attempt.iterations == 0) return attempt.message;
    return std::string(to_string(attempt.status)) + ", relative residual " +
           number_text(attempt.true_relative_residual, std::chars_format::scientific, 1);
}

}  // namespace tessera
