#pragma once

#include <vector>

#include "precond/block_ldlt/numeric/kernels.hpp"
#include "precond/block_ldlt/symbolic/block_pattern.hpp"
#include "tessera/factor.hpp"

namespace tessera::block_ldlt {

// On a GPU a level costs four launches at least. Levels with little work that follow each other are
// a run: one thread block does them all, one after the other.

/// The levels first .. last - 1; a run, or each by launches of its own.
struct LevelSpan {
    Index first, last;
    bool run;
};

/// All levels, runs as long as they can be.
std::vector<LevelSpan> level_spans(const BlockPattern& pattern, Index k);

/// Where a level begins.
struct LevelStart {
    Offset row, block;
};

/// What a level factor is computed from and in: V, W, F with its permutations, F^-1, thresholds and
/// results of all block rows.
template <class T>
struct LevelFactor {
    const LevelStart* levels = nullptr;  ///< One more than there are; in the memory of the Context.
    T* v = nullptr;
    T* w = nullptr;
    T* factors = nullptr;
    Index* permutations = nullptr;
    T* inverses = nullptr;
    const T* thresholds = nullptr;
    Index* perturbed = nullptr;
    T* smallest = nullptr;
    batched::Pivoting pivoting = batched::Pivoting::full;
};

/// The factor's levels first .. last - 1, none of which has a list that is cut, by one thread
/// block, bit for bit as schur_diagonals, batched::ldlt, batched::inverse_from_factors and
/// schur_blocks give it. On a GPU only. No wait.
template <class T>
void factor_run(const Context& context, const PatternView<T>& a, const LevelFactor<T>& factor,
                Index first, Index last);

namespace cuda {
template <class T>
void factor_run(const Context& context, const PatternView<T>& a, const LevelFactor<T>& factor,
                Index first, Index last);
/// With factor.pivoting.
template <batched::Pivoting pivoting, class T>
void factor_run_with(const Context& context, const PatternView<T>& a, const LevelFactor<T>& factor,
                     Index first, Index last);
}  // namespace cuda

}  // namespace tessera::block_ldlt
