#pragma once

#include "batched/factor_job.hpp"

namespace tessera::batched {

/// A_b(p, p) = L L^T; see tessera/factor.hpp. No wait.
namespace cpu {
template <class T>
void llt(const Context& context, const FactorJob<T>& job);
}
namespace cuda {
template <class T>
void llt(const Context& context, const FactorJob<T>& job);
}

}  // namespace tessera::batched
