#pragma once

#include "base/dispatch.hpp"
#include "tessera/factor.hpp"

namespace tessera::batched {

/// Solves with, and inverses from, the factors of a batch; see tessera/factor.hpp. `plan` is null
/// for batches of one size. No wait.
TESSERA_BACKENDS(template <class T> void solve(const Context& context, Factorisation factorisation,
                                               Transpose transpose, const BatchView<const T>& f,
                                               const PermutationsView<const Index>& permutations,
                                               const VectorsView<const T>& b,
                                               const VectorsView<T>& x, const Plan* plan);
                 template <class T>
                 void inverse_from_factors(const Context& context, Factorisation factorisation,
                                           const BatchView<const T>& f,
                                           const PermutationsView<const Index>& permutations,
                                           const BatchView<T>& x, const Plan* plan);
                 template <class T>
                 void take_absolute_pivots(const Context& context, const BatchView<T>& f,
                                           const Plan* plan);)

}  // namespace tessera::batched
