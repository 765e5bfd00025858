#pragma once

#include <functional>
#include <span>
#include <vector>

#include "tessera/csr.hpp"

namespace tessera::incomplete {

/// Maximum number of GMRES steps of a probe, and the minimum before it may stop early.
constexpr int probe_steps = 25;
constexpr int min_probe_steps = 10;

/// The relative residuals ||b - A x|| / ||b||, from the recursion, after each of at most
/// probe_steps steps of right-preconditioned GMRES from x = 0 with a random b (standard normal);
/// the last one decides. Stops at `target`, and from min_probe_steps on if the residual is three
/// times `best_residuals`, those of an earlier probe, or within `tolerance` times these if they are
/// below 0.5. Ends with infinity if a number is not finite; { 0 } for b = 0. `precondition(r,
/// z)` is z = M^-1 r. `products` grows by the steps. Allocates; waits.
template <class T>
std::vector<double> probe(const Context& context, const CsrView<T>& matrix, const SpmvPlan& plan,
                          const std::function<void(const T*, T*)>& precondition, double target,
                          std::span<const double> best_residuals, double tolerance,
                          Offset& products);

}  // namespace tessera::incomplete
