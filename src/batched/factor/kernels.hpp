#pragma once

#include "base/dispatch.hpp"
#include "batched/factor/factor_job.hpp"

namespace tessera::batched {

/// A_b(p, q) = L D U, A_b(p, p) = L L^T and A_b(p, p) = L D L^T; see tessera/factor.hpp. No wait.
///   ldu   Partial pivoting exchanges positions s and that of the pivot in step s.
///   ldlt  Step s exchanges position s with that of the pivot (Bunch-Kaufman and rook start their
///         search at what is in position s then). Of a 2 x 2 pivot the index where the search of
///         Bunch-Kaufman and rook stood goes to s, its partner to s + 1; with full pivoting the
///         smaller original index goes to s. Where all that the search has met is below the
///         threshold, the pivot is the 1 x 1 one at hand (the largest diagonal element for full).
TESSERA_BACKENDS(template <class T> void ldu(const Context& context, const FactorJob<T>& job);
                 template <class T> void llt(const Context& context, const FactorJob<T>& job);
                 template <class T> void ldlt(const Context& context, const FactorJob<T>& job);)

namespace cuda {

/// Each compiled in a file of its own for every pivoting and type.
template <Pivoting pivoting, class T>
void ldu_with(const Context& context, const FactorJob<T>& job);
template <Pivoting pivoting, class T>
void llt_with(const Context& context, const FactorJob<T>& job);
template <Pivoting pivoting, class T>
void ldlt_with(const Context& context, const FactorJob<T>& job);

/// Batches of 8 or 16 rows in one run of memory, static or partial pivoting; false, and nothing
/// done, for others.
template <Pivoting pivoting, class T>
bool ldu_by_groups(const Context& context, const FactorJob<T>& job);
template <class T>
bool llt_by_groups(const Context& context, const FactorJob<T>& job);
/// The matrices of 17 .. 32 rows with full pivoting, FP32; false, and nothing done, where more than
/// factors, permutations and info is asked for.
template <class T>
bool ldu_by_compaction(const Context& context, const FactorJob<T>& job);

}  // namespace cuda

}  // namespace tessera::batched
