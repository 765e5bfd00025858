#pragma once

#include "batched/factor_job.hpp"

namespace tessera::batched::cuda {

/// ldu, llt and ldlt, each compiled in a file of its own for every pivoting and type.
template <Pivoting pivoting, class T>
void ldu_with(const Context& context, const FactorJob<T>& job);
template <Pivoting pivoting, class T>
void llt_with(const Context& context, const FactorJob<T>& job);
template <Pivoting pivoting, class T>
void ldlt_with(const Context& context, const FactorJob<T>& job);

}  // namespace tessera::batched::cuda
