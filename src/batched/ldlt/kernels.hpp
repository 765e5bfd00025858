#pragma once

#include "batched/factor_job.hpp"

namespace tessera::batched {

/// A_b(p, p) = L D L^T; see tessera/factor.hpp. Step s exchanges position s with that of the pivot
/// (Bunch-Kaufman and rook start their search at what is in position s then). Of a 2 x 2 pivot the
/// index where the search of Bunch-Kaufman and rook stood goes to s, its partner to s + 1; with
/// full pivoting the smaller original index goes to s. Where all that the search has met is below
/// the threshold, the pivot is the 1 x 1 one at hand (the largest diagonal element for full). No
/// wait.
namespace cpu {
template <class T>
void ldlt(const Context& context, const FactorJob<T>& job);
}
namespace cuda {
template <class T>
void ldlt(const Context& context, const FactorJob<T>& job);
}

}  // namespace tessera::batched
