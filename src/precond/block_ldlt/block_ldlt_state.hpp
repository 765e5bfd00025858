#pragma once

#include "precond/block_ldlt/numeric/block_factor.hpp"
#include "tessera/symmetry.hpp"

namespace tessera {

template <class T>
struct BlockLdlt<T>::State {
    BlockLdltOptions options;
    BlockLdltReport report;
    Buffer<T> scale;
    block_ldlt::BlockFactor<T> factor;
    SymmetryCheck<T> symmetry;
    BlockLdltStage stage = BlockLdltStage::none;

    /// z = M^-1 r with the stage.
    void apply(const Context& context, const T* r, T* z) const;
    /// Computes what the stage applies from the loaded values; false where its reconstruction error
    /// is too large to go on with.
    bool run(const Context& context, BlockLdltStage next);
    /// Makes of what run computed what the options ask for. Probes come before: with |D| they
    /// would tell as little as half as many steps with D do.
    void finish(const Context& context);
    /// So many sweeps, or the level factor.
    void run_first(const Context& context, int sweeps);
    void push_back(const Context& context, const block_ldlt::Grid& grid,
                   const block_ldlt::BlockRows& blocks, const CsrView<T>& matrix,
                   const CsrView<T>& on_host);
    void describe_pattern();
    bool run_sweeps(const Context& context);
    /// The stage of the options and, with the safeguard, those that it gives way to.
    void choose(const Context& context, const CsrView<T>& matrix);
    std::vector<double> probe(const Context& context, const CsrView<T>& matrix,
                              const SpmvPlan& plan, std::span<const double> leader, double same);
};

}  // namespace tessera
