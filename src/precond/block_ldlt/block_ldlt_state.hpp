#pragma once

#include "precond/block_ldlt/solve/factor_solver.hpp"

namespace tessera {

template <class T>
struct BlockLdlt<T>::State {
    BlockLdltOptions options;
    BlockLdltReport report;
    Buffer<T> scale;
    SpmvPlan plan;  ///< Of the matrix.
    block_ldlt::NumericFactor<T> factor;
    std::optional<block_ldlt::FactorSolver<T>> solver;
    BlockLdltStage stage = BlockLdltStage::none;

    void load(const Context& context, const CsrView<T>& matrix) {
        factor.load(context, std::as_const(scale).view(), matrix, options.epsilon_unit);
    }
    /// z = M^-1 r with the stage.
    void apply(const Context& context, const T* r, T* z) const;
    /// Computes what the stage applies from the loaded values of `matrix`; false where its
    /// reconstruction error is too large to go on with.
    bool run(const Context& context, const CsrView<T>& matrix, BlockLdltStage next);
    bool run_sweeps(const Context& context, const CsrView<T>& matrix);
    double reconstruction_error(const Context& context, const CsrView<T>& matrix) const;
    /// Makes of what run computed what the options ask for. Probes come before: with |D| they
    /// would tell as little as half as many steps with D do.
    void finish(const Context& context);
    /// So many sweeps, or the level factor.
    void run_first(const Context& context, int sweeps);
    /// Outer pivoting; `grid` is the first one.
    void order_bad_rows_last(const Context& context, const block_ldlt::Grid& grid,
                             const CsrView<T>& matrix, const CsrView<T>& on_host);
    void describe_pattern();
    /// The stage of the options and, with the safeguard, those that it gives way to.
    void choose(const Context& context, const CsrView<T>& matrix);
};

}  // namespace tessera
