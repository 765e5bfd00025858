#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/operator.hpp"
#include "tessera/spec.hpp"

namespace tessera {

/// How a solve ended.
enum class Status : std::uint8_t {
    converged,
    max_iterations,
    max_seconds,
    accuracy_lost,   ///< Only the recursive residual meets the tolerance, by rounding.
    stagnated,       ///< No progress within `stagnation_window` iterations.
    breakdown,       ///< A divisor of the method vanished, also after a restart.
    non_finite,      ///< NaN or infinity appeared.
    singular_block,  ///< The preconditioner has singular blocks and the policy is to stop.
    interrupted,
    unbalanced,      ///< ||b - A x|| is small, the residual of some row is not (Solver alone).
    rounding_limit,  ///< x is as accurate as T allows; the tolerance is below that (Solver alone).
    least_squares,   ///< x minimises ||b - A x||: A is singular, b not in its range.
    singular,        ///< Exact factors found that A has no inverse, and no x (Solver alone).
};
TESSERA_API const char* to_string(Status status);
/// Whether x solves the system: converged or rounding_limit.
constexpr bool is_solved(Status status) {
    return status == Status::converged || status == Status::rounding_limit;
}

/// Progress of a solve, passed to the observer.
struct Progress {
    Offset iterations = 0;
    double relative_residual = 0;  ///< Recursive residual norm over the norm of b.
    double target = 0;             ///< The relative residual that ends the solve.
    double seconds = 0;
    int vector = 0;  ///< Index of the right-hand side, if there are several.
    /// Copies the current x to an array in the memory of the Context, of the type and size of x.
    /// Blocks until the work is complete. Valid during the call of the observer. Empty for methods
    /// without an x between restarts: gmres, idr with smoothing.
    std::function<void(void* to)> copy_x = {};
};

/// The relative residual of SolveOptions without rtol, near the square root of the unit roundoff of
/// T. Rounding errors of a residual grow with the condition number, and may exceed it.
template <class T>
inline constexpr double default_rtol = sizeof(T) == 8 ? 1e-8 : 1e-4;

struct SolveOptions {
    /// Stop when ||b - A x|| <= max(rtol ||b||, atol) (2-norms). With left preconditioning the
    /// recursive residual is M^-1 (b - A x); at exit the true residual is still checked.
    std::optional<double> rtol = {};  ///< Without: default_rtol<T>.
    double atol = 0;
    /// Counted as in SolveReport::iterations.
    Offset max_iterations = 10000;
    double max_seconds = std::numeric_limits<double>::infinity();
    bool left_preconditioning = false;  ///< For gmres, idr, bicgstab, richardson (allows_left).
    /// Stop as stagnated when the smallest residual has not fallen by 1 % in this many iterations;
    /// 0: never.
    Offset stagnation_window = 2000;
    /// Iterations between two convergence checks of the host, at most 256; 0: 1 on the CPU, about
    /// 16 on a GPU, depending on their time and the latest solves. No result depends on it.
    int check_interval = 0;
    /// Called at every convergence check; returning false ends the solve as interrupted.
    std::function<bool(const Progress&)> observer = {};
};

struct SolveReport {
    Status status = Status::converged;
    std::string message;  ///< One sentence if the status is not converged.
    /// idr(s): cycles of s + 1 products; gmres: inner steps; otherwise loop passes.
    Offset iterations = 0;
    Offset operator_applications = 0;
    double relative_residual = 0;       ///< Recursive residual norm over ||b||.
    double true_relative_residual = 0;  ///< ||b - A x|| / ||b|| of the returned x.
    /// The largest |b - A x|_i / (|A| |x| + |b|)_i, the componentwise backward error, and its row;
    /// NaN and -1 where it is unknown: Solver computes it for matrices in CSR.
    double backward_error = std::numeric_limits<double>::quiet_NaN();
    Offset worst_row = -1;
    /// ||Z Z^T b|| / ||b||, Z the null space of A that Solver knows: this part of b was left out,
    /// and residuals are relative to what remains.
    double null_space_part = 0;
    std::vector<double> residuals;  ///< Relative recursive residuals; [0] is the initial one.
    Offset restarts = 0;            ///< Restarts from the true residual.
    Offset recoveries = 0;          ///< Changes of M after r^T M^-1 r <= 0.
    double seconds = 0;
    /// Seconds within the solve for setups of the attempts of auto after the first; not in
    /// `seconds`.
    double setup_seconds = 0;
};

/// Calls f(name, value) with the name and the value of each field of a report: status and message
/// as texts, residuals as a std::vector<double>, the others as Offset or double.
template <class F>
void for_each_field(const SolveReport& report, F&& f) {
    f("status", std::string(to_string(report.status)));
    f("message", report.message);
    f("iterations", report.iterations);
    f("operator_applications", report.operator_applications);
    f("relative_residual", report.relative_residual);
    f("true_relative_residual", report.true_relative_residual);
    f("backward_error", report.backward_error);
    f("worst_row", report.worst_row);
    f("null_space_part", report.null_space_part);
    f("residuals", report.residuals);
    f("restarts", report.restarts);
    f("recoveries", report.recoveries);
    f("seconds", report.seconds);
    f("setup_seconds", report.setup_seconds);
}

/// A solver of systems with one matrix and one preconditioner, which must outlive it. Its vectors
/// and, on a GPU, its graphs are reused: solves after the first one, of the same number of
/// right-hand sides, allocate nothing in the memory of the Context.
template <class T>
class TESSERA_API IterativeSolver {
  public:
    virtual ~IterativeSolver() = default;
    /// As tessera::solve. x is written when the solve ends; an exception, such as one thrown by the
    /// observer, leaves it as it was, and the solver usable. The observer must not call the solver.
    virtual SolveReport solve(std::span<const T> b, std::span<T> x,
                              const SolveOptions& options) = 0;
    /// Solves A x_j = b_j for several right-hand sides, with one report each. cg, fcg and idr
    /// iterate on up to eight at once by Operator::apply_vectors, which may read a matrix once for
    /// several; each stops when it has converged. On the CPU each x_j is bitwise that of a separate
    /// solve, unless there are restarts. Other solvers solve one after the other. An observer that
    /// returns false ends the solve of one right-hand side (Progress::vector). x_j is written when
    /// its solve ends. Seconds, also those of max_seconds, count from the start of the group of
    /// right-hand sides that are iterated together.
    virtual std::vector<SolveReport> solve(Vectors<const T> b, Vectors<T> x,
                                           const SolveOptions& options) = 0;
    /// Call it after the matrix or the preconditioner has changed: the next solve then records its
    /// graphs anew.
    virtual void operators_changed() = 0;
};

/// A solver and its options, parsed from a text; docs/guide/options.md explains them, solver_help
/// lists them.
class TESSERA_API SolverConfig {
  public:
    virtual ~SolverConfig() = default;
    /// `preconditioner` nullptr: none.
    virtual std::unique_ptr<IterativeSolver<float>> make(
        const Context& context, const Operator<float>& matrix,
        const Operator<float>* preconditioner) const = 0;
    virtual std::unique_ptr<IterativeSolver<double>> make(
        const Context& context, const Operator<double>& matrix,
        const Operator<double>* preconditioner) const = 0;
    /// Approximate number of values that it stores for n rows, b and x included.
    virtual Offset numbers(Offset rows) const = 0;
    /// Whether SolveOptions::left_preconditioning is possible.
    virtual bool allows_left() const = 0;
    /// Whether the method is for symmetric matrices alone.
    virtual bool symmetric_only() const = 0;
    /// Whether it converges only if the spectral radius of I - M^-1 A is below 1.
    virtual bool is_stationary() const = 0;
};

/// Throws InvalidArgument for an unknown name or option.
TESSERA_API std::unique_ptr<SolverConfig> parse_solver(Spec text);

/// Solves A x = b by the solver that a text names; x holds the initial guess. Vectors are in the
/// memory of `context`. `preconditioner` nullptr: none. A must be square, the preconditioner of the
/// same size. b = 0 returns x = 0. Blocks until the work is complete. Never allocates inside an
/// iteration. At exit the true residual of the returned x is computed; if only the recursive one
/// met the tolerance, the method restarts from the true one, and ends as accuracy_lost if such
/// restarts do not help. The computed norm has the rounding errors of b - A x and of sums in T. A
/// solution outside the range of T is non_finite (too large), or accuracy_lost (its denormal
/// numbers miss the tolerance). NaN and breakdown end with a status. x is never worse than the
/// initial guess, and finite if that is, whatever the status. docs/guide/options.md has the uses
/// and the sources of the solvers, solver_help their options. Throws InvalidArgument for left
/// preconditioning with a solver that does not support it (cg, fcg, minres, sqmr).
template <class T>
SolveReport solve(const Context& context, Spec solver, const Operator<T>& matrix,
                  PreconditionerPointer<T> preconditioner, Input<T> b, WriteVector<T> x,
                  const SolveOptions& options = {}) {
    return parse_solver(std::move(solver))
        ->make(context, matrix, preconditioner)
        ->solve(b, x, options);
}

/// solve(context, "cg", ...).
template <class T>
SolveReport cg(const Context& context, const Operator<T>& matrix,
               PreconditionerPointer<T> preconditioner, Input<T> b, WriteVector<T> x,
               const SolveOptions& options = {}) {
    return solve(context, "cg", matrix, preconditioner, b, x, options);
}

/// The names that parse_solver knows, and their help text.
TESSERA_API std::vector<std::string> solver_names();
TESSERA_API std::string solver_help();

}  // namespace tessera
