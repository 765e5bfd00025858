#pragma once

#include "base/dispatch.hpp"
#include "base/host_device.hpp"
#include "tessera/factor.hpp"

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
    Factorisation factorisation = Factorisation::ldu;
    const Plan* plan = nullptr;  ///< Null for batches of one size.
};

/// The threshold tau of matrix b, whose largest magnitude is `largest`; 0 where there is none.
template <class T>
TESSERA_HOST_DEVICE inline T threshold_of(const FactorOptions<T>& options, Offset b, T largest) {
    T tau = options.threshold;
    if (options.thresholds != nullptr) tau = options.thresholds[b * options.threshold_stride];
    if (options.relative) tau *= largest;
    return tau > T(0) ? tau : T(0);
}

/// A_b(p, q) = L D U, A_b(p, p) = L L^T or A_b(p, p) = L D L^T; see tessera/factor.hpp. No wait.
///   ldu   Partial pivoting exchanges positions s and r in step s, r the position of the pivot.
///   ldlt  Step s exchanges positions s and r, r the position of the pivot; Bunch-Kaufman and rook
///         pivoting start their search at the row in position s. A 2 x 2 pivot takes positions s
///         and s + 1: Bunch-Kaufman and rook pivoting put the index where their search ended first,
///         full pivoting the smaller original index. If all candidates are below the threshold, the
///         pivot is 1 x 1: the search's candidate (full pivoting: the largest diagonal element).
TESSERA_BACKENDS(template <class T>
                 void factorise(const Context& context, const FactorJob<T>& job);)

namespace cuda {

/// LDU and LL^T of all sizes; each instance is compiled in a file of its own.
template <Factorisation kind, Pivoting pivoting, class T>
void factorise_as(const Context& context, const FactorJob<T>& job);

/// LDL^T of all sizes.
template <Pivoting pivoting, class T>
void factorise_ldlt(const Context& context, const FactorJob<T>& job);

/// Small matrices of one size, LDU with static or partial pivoting or LL^T with static
/// pivoting; returns false and does nothing for others.
template <Factorisation kind, Pivoting pivoting, class T>
bool factorise_per_thread(const Context& context, const FactorJob<T>& job);

}  // namespace cuda

}  // namespace tessera::batched
