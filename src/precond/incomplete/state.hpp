#pragma once

#include "precond/incomplete/solve/factor_solver.hpp"

namespace tessera::incomplete {

/// A scaling in the memory of `context`, rounded to T and clamped to its range. No wait.
template <class T>
Buffer<T> scaling_in(const Context& context, const Buffer<double>& scaling);

/// Throws InvalidArgument, in the name of `who`, for numbers out of range that all have.
void check_common_options(const char* who, const BlockLdltOptions& options);

/// Symbolic factorisation of `matrix` with this pattern, and buffers for the numeric one. Throws
/// OutOfMemory if the Context does not have the memory, and as arrange_by_levels.
template <class T>
NumericFactor<T> make_factor(const Context& context, const Grid& grid, const GroupPattern& pattern,
                             const CsrView<T>& matrix, bool symmetric,
                             const BlockLdltOptions& options, Index max_levels = 0);

/// The pivot threshold of the first sweep, or of the level factorisation.
template <class T>
double initial_epsilon(const BlockLdltOptions& options);

/// An incomplete factor with its safeguard: the state of BlockLdlt and Ilu, whose options are a
/// subset.
template <class T>
struct State {
    BlockLdltOptions options;
    BlockLdltReport report;
    Buffer<T> row_scale, column_scale;  ///< The latter is empty where they are equal.
    SpmvPlan plan;                      ///< Plan of products with the matrix.
    NumericFactor<T> factor;
    BlockLdltStage stage = BlockLdltStage::none;
    /// The level factor, if it was computed elsewhere, as take_factor has it; only during set_up.
    struct Taken {
        std::vector<T> l, u_transposed, f;
        PivotSummary pivots;
    };
    std::optional<Taken> taken = {};

    Scaling<T> scaling() const {
        return {row_scale.view(), column_scale.empty() ? row_scale.view() : column_scale.view()};
    }
    /// z = M^-1 r, or M^-T r.
    void apply(const Context& context, const T* r, T* z, bool transposed = false) const;
    /// Bytes that an application moves.
    double bytes_of_apply() const;
    /// Chooses and computes the stage. `grid`: that of the factor before its block rows were
    /// numbered by levels; `pattern`: that of the matrix.
    void set_up(const Context& context, const CsrView<T>& matrix, const Grid& grid,
                const GroupPattern& pattern);
    /// Factors new values in the current stage.
    void update(const Context& context, const CsrView<T>& matrix);

  private:
    /// Computes the factor of a stage from the values of `matrix`; false if its reconstruction
    /// error is too large.
    bool compute_stage(const Context& context, const CsrView<T>& matrix, BlockLdltStage next);
    bool compute_sweeps(const Context& context, const CsrView<T>& matrix);
    /// Replaces D by |D| if requested; after the probes, which need the signs of D.
    void apply_sign_option(const Context& context);
    /// Runs `sweeps` sweeps, or the level factorisation, for outer pivoting.
    void compute_for_pivots(const Context& context, const CsrView<T>& matrix, int sweeps);
    /// Outer pivoting; `grid`: that before any block row was moved.
    void delay_bad_rows(const Context& context, const Grid& grid, const CsrView<T>& matrix,
                        const GroupPattern& pattern);
    void describe_pattern();
    /// Whether the factor gives finite numbers for a random vector. Waits.
    bool is_finite(const Context& context) const;
    /// Chooses the stage: that of the options or, with the safeguard, the best one probed.
    void choose_stage(const Context& context, const CsrView<T>& matrix);
};

/// The group of values of a report.
ReportValue report_values(const char* name, const BlockLdltReport& details);

}  // namespace tessera::incomplete
