#pragma once

#include <functional>
#include <limits>
#include <memory>
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
    accuracy_lost,   ///< The recursive residual met the tolerance, the true one cannot.
    stagnated,       ///< No progress within `stagnation_window` iterations.
    breakdown,       ///< A quantity the method divides by vanished, also after a restart.
    non_finite,      ///< NaN or infinity appeared.
    singular_block,  ///< The preconditioner has singular blocks and the policy is to stop.
    interrupted,
};
TESSERA_API const char* to_string(Status status);

enum class Side : std::uint8_t { right, left };

/// Where a solve stands; given to the observer.
struct Progress {
    Offset iterations = 0;
    double relative_residual = 0;  ///< Recursive residual norm over the norm of b.
    double target = 0;             ///< The relative residual that ends the solve.
    double seconds = 0;
};

struct SolveOptions {
    /// Stop when ||b - A x|| <= max(rtol ||b||, atol) (2-norms); with Side::left the recursion
    /// watches M^-1 (b - A x), and the true residual is still what must hold at exit.
    double rtol = 1e-8;
    double atol = 0;
    /// In the unit of `SolveReport::iterations`.
    Offset max_iterations = 10000;
    double max_seconds = std::numeric_limits<double>::infinity();
    Side side = Side::right;
    /// Stop as stagnated when the smallest residual has not fallen by 1 % in so many iterations;
    /// 0 never does.
    Offset stagnation_window = 2000;
    /// The host looks at the residual every so many iterations, at most 256; 0: 1 on the CPU, 16 on
    /// a GPU, fewer where they take long. The result does not depend on it.
    int check_interval = 0;
    /// Called at every look; returning false ends the solve as interrupted.
    std::function<bool(const Progress&)> observer;
};

struct SolveReport {
    Status status = Status::converged;
    std::string message;  ///< One sentence for people when the status is not converged.
    /// idr(s): cycles of s + 1 products; gmres: inner steps; otherwise loop passes.
    Offset iterations = 0;
    Offset operator_applications = 0;
    double relative_residual = 0;       ///< From the recursion, over ||b||.
    double true_relative_residual = 0;  ///< ||b - A x|| / ||b||, computed at exit.
    std::vector<double> residuals;      ///< Relative recursive residuals; [0] is the initial one.
    Offset restarts = 0;                ///< From the true residual.
    Offset recoveries = 0;              ///< Of the preconditioner, after r^T M^-1 r <= 0 was seen.
    double seconds = 0;
};

// Every solver: solves A x = b from the start in x (x0), vectors in the memory of `context`.
// `preconditioner` nullptr: none. A must be square; preconditioner of the same size. b = 0 gives
// x = 0. Waits. Never allocates inside an iteration. At exit the true residual is computed; when
// only the recursive one met the tolerance, the method restarts from the true one, and says
// accuracy_lost when such restarts gain nothing. NaN and breakdown end with a status. x is never
// worse than where the last restart began, whatever the end. Those for symmetric matrices throw
// InvalidArgument with Side::left.

/// Preconditioned conjugate gradients: A and M symmetric positive definite.
template <class T>
TESSERA_API SolveReport cg(const Context& context, const Operator<T>& matrix,
                           PreconditionerPointer<T> preconditioner, ReadVector<T> b,
                           WriteVector<T> x, const SolveOptions& options = {});

/// Flexible conjugate gradients (Polak-Ribiere beta): the preconditioner may change a little from
/// one application to the next.
template <class T>
TESSERA_API SolveReport fcg(const Context& context, const Operator<T>& matrix,
                            PreconditionerPointer<T> preconditioner, ReadVector<T> b,
                            WriteVector<T> x, const SolveOptions& options = {});

/// BiCGSTAB (van der Vorst 1992); two products an iteration.
template <class T>
TESSERA_API SolveReport bicgstab(const Context& context, const Operator<T>& matrix,
                                 PreconditionerPointer<T> preconditioner, ReadVector<T> b,
                                 WriteVector<T> x, const SolveOptions& options = {});

/// Restarted GMRES: classical Gram-Schmidt, twice; Givens rotations.
template <class T>
TESSERA_API SolveReport gmres(const Context& context, const Operator<T>& matrix,
                              PreconditionerPointer<T> preconditioner, ReadVector<T> b,
                              WriteVector<T> x, int restart, const SolveOptions& options = {});

/// Minimal residuals (Paige and Saunders 1975) for a symmetric, also indefinite or singular
/// consistent A; M symmetric positive definite. Minimises the norm of the residual in M^-1, which
/// never grows; without a preconditioner that is the 2-norm.
template <class T>
TESSERA_API SolveReport minres(const Context& context, const Operator<T>& matrix,
                               PreconditionerPointer<T> preconditioner, ReadVector<T> b,
                               WriteVector<T> x, const SolveOptions& options = {});

/// Symmetric quasi-minimal residuals (Freund and Nachtigal 1994, without look-ahead): A and M
/// symmetric, both may be indefinite. May break down where gmres does not.
template <class T>
TESSERA_API SolveReport sqmr(const Context& context, const Operator<T>& matrix,
                             PreconditionerPointer<T> preconditioner, ReadVector<T> b,
                             WriteVector<T> x, const SolveOptions& options = {});

struct IdrOptions {
    int s = 4;               ///< Dimension of the shadow space, 1..16.
    std::uint64_t seed = 1;  ///< Of the shadow space: Philox normals, orthonormalised.
    double angle = 0.7;      ///< Of the "maintaining the convergence" strategy; 0: off.
    /// Residual smoothing; the smoothed x is returned, and the angle is then applied with the
    /// smoothed norm, which leaves the steps in a spike of the residual as they are.
    bool smoothing = false;
};

/// IDR(s), biorthogonal variant (van Gijzen and Sonneveld, ACM TOMS 38, 2011, Algorithm 913). When
/// the residual has been so large that its rounding would hide the target, it is computed anew
/// from x (one more product, two with smoothing) once it is back below where it started.
template <class T>
TESSERA_API SolveReport idr(const Context& context, const Operator<T>& matrix,
                            PreconditionerPointer<T> preconditioner, ReadVector<T> b,
                            WriteVector<T> x, const IdrOptions& idr_options,
                            const SolveOptions& options = {});

/// x += M^-1 (b - A x): with block Jacobi the stationary iteration x = D^-1 b + (I - D^-1 A) x.
template <class T>
TESSERA_API SolveReport richardson(const Context& context, const Operator<T>& matrix,
                                   PreconditionerPointer<T> preconditioner, ReadVector<T> b,
                                   WriteVector<T> x, const SolveOptions& options = {});

/// A solver and its options, read once from a text; solver_help lists them.
class TESSERA_API SolverConfig {
  public:
    virtual ~SolverConfig() = default;
    virtual SolveReport solve(const Context& context, const Operator<float>& matrix,
                              const Operator<float>* preconditioner, std::span<const float> b,
                              std::span<float> x, const SolveOptions& options) const = 0;
    virtual SolveReport solve(const Context& context, const Operator<double>& matrix,
                              const Operator<double>* preconditioner, std::span<const double> b,
                              std::span<double> x, const SolveOptions& options) const = 0;
    /// About the numbers that it keeps for n rows, b and x among them.
    virtual Offset numbers(Offset rows) const = 0;
};

/// Throws InvalidArgument for another name or option.
TESSERA_API std::unique_ptr<SolverConfig> parse_solver(Spec text);

/// The solver named by a text: "cg", "idr:4,smoothing".
template <class T>
SolveReport solve(const Context& context, Spec solver, const Operator<T>& matrix,
                  PreconditionerPointer<T> preconditioner, ReadVector<T> b, WriteVector<T> x,
                  const SolveOptions& options = {}) {
    return parse_solver(std::move(solver))->solve(context, matrix, preconditioner, b, x, options);
}

/// The names that parse_solver knows, and a line of help or more for each.
TESSERA_API std::vector<std::string> solver_names();
TESSERA_API std::string solver_help();

struct RefinementOptions {
    /// Works in single precision; null: cg.
    std::shared_ptr<const SolverConfig> inner;
    double inner_rtol = 1e-3;  ///< Of the inner residual, for each correction.
};

/// Iterative refinement (Cao, Zhang et al., sbell-polynomial-pcg-elasticity, Algorithm 5):
///   r = b - A x,  L c = r / s to inner_rtol in single precision,  x += s c,
/// s the power of two next below ||r||; residuals and corrections in double. `low_matrix` is L,
/// A rounded_to_float; `preconditioner` that of L. It converges where the condition number of L
/// is well below 2^24; else it ends as stagnated where the first correction does not take 10 % off
/// the residual, and as accuracy_lost where a later one does not. `iterations` and `residuals` are
/// those of the inner solver, whose products count with those of A as operator_applications;
/// `restarts` counts the corrections after the first one. b^T b must be within the range of
/// double. Each correction allocates; Side::left does not apply.
TESSERA_API SolveReport refinement(const Context& context, const Operator<double>& matrix,
                                   const Operator<float>& low_matrix,
                                   const Operator<float>* preconditioner, std::span<const double> b,
                                   std::span<double> x, const RefinementOptions& refinement_options,
                                   const SolveOptions& options = {});

/// Options from a text: refinement[:SOLVER][,rtol=1e-3]. Throws InvalidArgument for another one.
TESSERA_API RefinementOptions parse_refinement(Spec spec);

}  // namespace tessera
