#pragma once

#include "precond/block_ldlt/solve/factor_solver.hpp"

namespace tessera {

template <class T>
struct BlockLdlt<T>::State {
    BlockLdltOptions options;
    BlockLdltReport report;
    Buffer<T> scale;
    SpmvPlan plan;  ///< Plan of products with the matrix.
    block_ldlt::NumericFactor<T> factor;
    BlockLdltStage stage = BlockLdltStage::none;

    void load(const Context& context, const CsrView<T>& matrix) {
        factor.load(context, std::as_const(scale).view(), matrix);
    }
    /// z = M^-1 r.
    void apply(const Context& context, const T* r, T* z) const;
    /// Computes the factor of a stage from the loaded values of `matrix`; false if its
    /// reconstruction error is too large.
    bool compute_stage(const Context& context, const CsrView<T>& matrix, BlockLdltStage next);
    bool compute_sweeps(const Context& context, const CsrView<T>& matrix);
    double reconstruction_error(const Context& context, const CsrView<T>& matrix) const;
    /// Replaces D by |D| if requested; after the probes, which need the signs of D.
    void apply_sign_option(const Context& context);
    /// Runs `sweeps` sweeps, or the level factorisation, for outer pivoting.
    void compute_for_pivots(const Context& context, int sweeps);
    /// Outer pivoting; `grid`: that before any block row was moved.
    void delay_bad_rows(const Context& context, const block_ldlt::Grid& grid,
                        const CsrView<T>& matrix, const CsrView<T>& host_matrix);
    void describe_pattern();
    /// Chooses the stage: that of the options or, with the safeguard, the best one probed.
    void choose_stage(const Context& context, const CsrView<T>& matrix);
};

}  // namespace tessera
