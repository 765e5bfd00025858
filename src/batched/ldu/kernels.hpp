#pragma once

#include "batched/factor_job.hpp"

namespace tessera::batched {

/// A_b(p, q) = L D U; see tessera/factor.hpp. Partial pivoting exchanges positions s and that of
/// the pivot in step s. No wait.
namespace cpu {
template <class T>
void ldu(const Context& context, const FactorJob<T>& job);
}
namespace cuda {
template <class T>
void ldu(const Context& context, const FactorJob<T>& job);
}

}  // namespace tessera::batched
