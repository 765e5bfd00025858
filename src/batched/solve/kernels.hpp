#pragma once

#include "base/dispatch.hpp"
#include "tessera/factor.hpp"

namespace tessera::batched {

/// One call of solve or inverse_from_factors, checked.
template <class T>
struct SolveJob {
    BatchView<const T> f;
    PermutationsView<const Index> permutations;
    VectorsView<const T> b;
    VectorsView<T> x;
    BatchView<T> inverse;  ///< Replaces b and x in inverse_from_factors.
    Factorisation factorisation = Factorisation::ldu;
    Transpose transpose = Transpose::no;
    const Plan* plan = nullptr;  ///< Null for batches of one size.
};

/// Solves with, and inverses from, the factors of a batch; see tessera/factor.hpp. No wait.
TESSERA_BACKENDS(template <class T> void solve(const Context& context, const SolveJob<T>& job);
                 template <class T>
                 void inverse_from_factors(const Context& context, const SolveJob<T>& job);)

}  // namespace tessera::batched
