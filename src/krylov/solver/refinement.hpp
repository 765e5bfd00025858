#pragma once

#include <optional>

#include "tessera/krylov.hpp"
#include "tessera/solution_errors.hpp"

namespace tessera {

/// Iterative refinement with exact factors, x += M^-1 (b - A x): the solver richardson where M is
/// `direct`. It looks at the residual of each row, not at its norm alone, and ends as converged, or
/// where the componentwise backward error no longer falls by half, or is that of rounding an x that
/// is not huge (accuracy_lost): x is then as accurate as the factors make it, though it may be so
/// large that rounding its elements alone leaves a residual larger than b. Where b is 0, or its
/// norm near the limits of T, the solver that `config` makes solves, which scales b. Source: M.
/// Arioli, J. W. Demmel, I. S. Duff, "Solving sparse linear systems with sparse backward error",
/// SIAM J. Matrix Anal. Appl. 10 (1989), pp. 165-190.
template <class T>
class Refinement final : public IterativeSolver<T> {
  public:
    Refinement(const Context& context, const CsrView<T>& matrix, const Operator<T>& product,
               const Operator<T>& factors, std::shared_ptr<const SolverConfig> config)
        : context_(context),
          matrix_(matrix),
          product_(product),
          factors_(factors),
          config_(std::move(config)) {}

    SolveReport solve(std::span<const T> b, std::span<T> x, const SolveOptions& options) override;
    std::vector<SolveReport> solve(Vectors<const T> b, Vectors<T> x,
                                   const SolveOptions& options) override;
    void operators_changed() override {}
    /// The errors of the solutions of the latest solve, where they are known.
    const std::vector<std::optional<SolutionErrors>>& errors() const { return errors_; }

  private:
    /// What is known of x after some steps.
    struct Look {
        Offset step = 0;
        double relative = 0, target = 0, seconds = 0;
        double before = std::numeric_limits<double>::infinity();  ///< The last backward error.
        SolutionErrors errors;
        SolutionErrors errors_before;  ///< The errors before the last step.
        int vector = 0;
        bool is_in_range = true, starts_at_zero = false;
    };
    static bool has_risen(const Look& look);
    static bool is_at_rounding(const Look& look);
    bool look_at(std::span<const T> b, std::span<T> x, std::span<T> residual, double start,
                 Look& look, const SolveOptions& options, SolveReport& report);
    bool ends(const Look& look, std::span<T> x, const SolveOptions& options, SolveReport& report);
    std::vector<SolveReport> refine(Vectors<const T> b, Vectors<T> x, const SolveOptions& options,
                                    int first);

    Context context_;
    CsrView<T> matrix_;
    const Operator<T>& product_;
    const Operator<T>& factors_;
    const std::shared_ptr<const SolverConfig> config_;
    std::vector<std::optional<SolutionErrors>> errors_;
};

}  // namespace tessera
