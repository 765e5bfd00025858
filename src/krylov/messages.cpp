#include "krylov/messages.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/checks.hpp"

namespace tessera {

namespace {

std::string breakdown_message(BreakdownCause cause) {
    switch (cause) {
        case BreakdownCause::indefinite_matrix:
            return "The matrix is not positive definite; use minres, sqmr, idr, gmres or "
                   "bicgstab.";
        case BreakdownCause::indefinite_preconditioner:
            return "The preconditioner is not positive definite; use another one (of a polynomial "
                   "an even degree, or bound=gershgorin; block_ldlt with the option "
                   "positive_definite), or "
                   "sqmr, idr, gmres or bicgstab.";
        case BreakdownCause::shadow_orthogonal:
            return "The residual became orthogonal to the shadow space; use gmres, or idr with "
                   "another s or seed.";
        case BreakdownCause::no_descent:
            return "The stabilising step vanished (the matrix may be singular or close to skew); "
                   "use gmres, or idr with an angle.";
        case BreakdownCause::singular_projection:
            return "The matrix projected on the Krylov space is singular, and so may be the "
                   "matrix; check it for empty rows and for a right-hand side outside its range.";
        case BreakdownCause::symmetric_breakdown:
            return "p^T A p or r^T M^-1 r vanished, as indefinite matrices and preconditioners "
                   "allow; use gmres, or minres with a positive definite preconditioner.";
        case BreakdownCause::singular_preconditioner:
            return "The preconditioner maps a residual that is not zero to zero; use another one.";
        case BreakdownCause::none:
            break;
    }
    return "The method broke down; use another one.";
}

/// Whether residuals grew by far more than by rounding before they stopped being finite.
bool has_diverged(const std::vector<double>& residuals) {
    const double bound = residuals.empty() ? 0 : 1e8 * residuals.front();
    return std::ranges::any_of(residuals, [&](double r) { return std::isfinite(r) && r > bound; });
}

}  // namespace

std::string message_number(double value) {
    const bool has_no_sign = value == 0 || std::isnan(value);
    return number_text(has_no_sign ? std::abs(value) : value, std::chars_format::scientific, 2);
}

const char* to_string(Status status) {
    static constexpr const char* names[] = {
        "converged",      "max_iterations", "max_seconds",    "accuracy_lost", "stagnated",
        "breakdown",      "non_finite",     "singular_block", "interrupted",   "unbalanced",
        "rounding_limit", "least_squares",  "singular"};
    return names[int(status)];
}

std::string status_message(const SolveReport& report, BreakdownCause cause, double target,
                           Offset singular_blocks) {
    const auto reached = [&] {
        std::string text =
            "the relative residual is " + message_number(report.true_relative_residual);
        if (!std::isnan(target)) text += ", the target " + message_number(target);
        return text;
    };
    switch (report.status) {
        case Status::converged:
            return "";
        case Status::max_iterations:
            return "Not converged in the iterations allowed (" + reached() +
                   "); allow more, or use a stronger preconditioner or another method.";
        case Status::max_seconds:
            return "Out of time (" + reached() + "); allow more, or use a stronger preconditioner.";
        case Status::accuracy_lost:
            if (report.true_relative_residual <= target) {
                return "x has such large elements that the rounding errors of A x are a share of "
                       "b: its residual says nothing (" +
                       reached() +
                       "); the matrix is singular to working precision for this b, or it needs a "
                       "higher precision.";
            }
            // Rounding error alone leaves much less than that.
            if (report.true_relative_residual > 0.01) {
                return "The recursive residual fell, the true one did not (" + reached() +
                       "); the matrix is probably singular, and b not in its range (are supports "
                       "missing?), or it needs a higher precision.";
            }
            return "Rounding error limits the true residual (" + reached() +
                   "); use a larger rtol, a higher precision or a better scaled matrix.";
        case Status::stagnated:
            return "The residual no longer decreases (" + reached() +
                   "); use a stronger preconditioner or another method, such as gmres with a "
                   "longer restart.";
        case Status::breakdown:
            return breakdown_message(cause);
        case Status::non_finite:
            if (has_diverged(report.residuals)) {
                return "The residual grew beyond all bounds (" + reached() +
                       "); use another method or preconditioner.";
            }
            return "NaN or infinity appeared (" + reached() +
                   "); check the matrix, the right-hand side and the start for such numbers and "
                   "for values near the limits of the precision, or use another method.";
        case Status::singular_block:
            return "The preconditioner has " + std::to_string(singular_blocks) +
                   (singular_blocks == 1 ? " singular block" : " singular blocks") +
                   "; replace them with singular=shift or singular=identity.";
        case Status::unbalanced:
            return "||b - A x|| is small (" + reached() + "), but in row " +
                   std::to_string(report.worst_row) + " the residual is " +
                   message_number(report.backward_error) +
                   " of the sum of its terms: other rows are so much larger that they alone decide "
                   "the norm; scale the equations to one size, or replace penalties by conditions "
                   "that hold exactly.";
        case Status::rounding_limit:
            return "Solved to working accuracy (" + reached() +
                   ", which is below what rounding "
                   "allows; the componentwise backward error is " +
                   message_number(report.backward_error) + ").";
        case Status::least_squares:
            return "Solved in the sense of least squares: to working precision A is singular, b is "
                   "not in its range, and no x has a smaller residual (the relative residual is " +
                   message_number(report.true_relative_residual) +
                   "); are supports missing, or does it need a higher precision?";
        case Status::singular:
            return "The matrix is singular (" + reached() + "); are supports or equations missing?";
        case Status::interrupted:
            return "Interrupted after " + std::to_string(report.iterations) +
                   (report.iterations == 1 ? " iteration (" : " iterations (") + reached() + ").";
    }
    return "";
}

template <class T>
void check_apart(Vectors<const T> b, Vectors<const T> x) {
    const auto begin = [](const Vectors<const T>& vectors, Offset j) {
        return reinterpret_cast<std::uintptr_t>(vectors.data) +
               std::uintptr_t(j * vectors.leading) * sizeof(T);
    };
    const std::uintptr_t bytes = std::uintptr_t(b.size) * sizeof(T);
    if (begin(b, b.count - 1) + bytes <= begin(x, 0) ||
        begin(x, x.count - 1) + bytes <= begin(b, 0)) {
        return;  // All of one before all of the other.
    }
    for (Offset i = 0; i < x.count; ++i) {
        for (Offset j = 0; j < b.count; ++j) {
            const std::uintptr_t first = begin(b, j), second = begin(x, i);
            require_argument("x", std::max(first, second) - std::min(first, second) >= bytes,
                             "solve: x overlaps b, which is read until the end; give x an array of "
                             "its own");
        }
    }
}

template <class T>
void check_solve(const Context& context, const Operator<T>& matrix, Vectors<const T> b,
                 Vectors<T> x, const SolveOptions& options) {
    context.state().require_no_capture("a solve, which waits, cannot be recorded");
    check_square("solve", matrix.rows(), matrix.columns());
    check_vectors("solve", "b", b, matrix.rows());
    check_vectors("solve", "x", x, matrix.rows());
    require(b.count == x.count, "solve: b has ", b.count, " vectors, x has ", x.count);
    check_memory(context, "solve", "b", b.data);
    check_memory(context, "solve", "x", x.data);
    check_apart<T>(b, x);
    const double rtol = options.rtol.value_or(0);
    require(std::isfinite(rtol) && rtol >= 0, "solve: rtol must be 0 or more");
    require(std::isfinite(options.atol) && options.atol >= 0, "solve: atol must be 0 or more");
    require(options.max_iterations >= 0, "solve: max_iterations must be 0 or more");
    require(options.max_seconds >= 0, "solve: max_seconds must be 0 or more");
    require(options.stagnation_window >= 0, "solve: stagnation_window must be 0 (off) or more");
    require(
        options.check_interval >= 0 && options.check_interval <= Recurrence<double>::history_size,
        "solve: check_interval must be within 0..256");
}

template decltype(check_apart<float>) check_apart<float>;
template decltype(check_apart<double>) check_apart<double>;
template decltype(check_solve<float>) check_solve<float>;
template decltype(check_solve<double>) check_solve<double>;

}  // namespace tessera
