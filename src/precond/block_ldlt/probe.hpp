#pragma once

#include <functional>
#include <span>

#include "tessera/csr.hpp"

namespace tessera::block_ldlt {

/// Steps of GMRES that tell whether a preconditioner is any good.
constexpr int probe_steps = 25;

/// The relative residual ||b - A x|| / ||b||, from the recursion, after at most probe_steps steps
/// of right-preconditioned GMRES from x = 0 with a random b (standard normal); ends earlier at
/// `target`. Infinity where a number is not finite. `precondition(r, z)` is z = M^-1 r. `products`
/// grows by the steps. Allocates; waits.
template <class T>
double probe(const Context& context, const CsrView<T>& matrix, const SpmvPlan& plan,
             const std::function<void(const T*, T*)>& precondition, double target,
             Offset& products);

}  // namespace tessera::block_ldlt
