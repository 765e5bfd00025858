#pragma once

#include "tessera/factor.hpp"

// What the factorisations of a batch have in common between their public entries and their kernels.

namespace tessera::batched {

/// One call of ldu, llt or ldlt, checked.
template <class T>
struct FactorJob {
    BatchView<const T> a;
    BatchView<T> f;
    PermutationsView<Index> permutations;
    FactorResults<T> results;
    FactorOptions<T> options;
    Pivoting pivoting = Pivoting::fixed;
    const Plan* plan = nullptr;  ///< Null for batches of one size.

    /// The matrices with n rows are `count(n)` from first(n) on, in the order of the plan.
    Index first(Index n) const { return plan == nullptr ? 0 : plan->begin(n); }
    Index count(Index n) const {
        if (plan != nullptr) return plan->begin(n + 1) - plan->begin(n);
        return a.size == n ? a.count : 0;
    }
    Index largest() const { return plan != nullptr ? plan->largest() : a.size; }
};

}  // namespace tessera::batched
