#pragma once

#include "batched/factor_job.hpp"

namespace tessera::batched::cuda {

/// ldu with static and partial pivoting and static llt by one thread a matrix; false where these
/// kernels do not take the job.
template <Pivoting pivoting, class T>
bool ldu_by_lanes(const Context& context, const FactorJob<T>& job);
template <class T>
bool llt_by_lanes(const Context& context, const FactorJob<T>& job);

/// The same by groups of a few lanes a matrix.
template <Pivoting pivoting, class T>
bool ldu_by_groups(const Context& context, const FactorJob<T>& job);
template <class T>
bool llt_by_groups(const Context& context, const FactorJob<T>& job);

}  // namespace tessera::batched::cuda
