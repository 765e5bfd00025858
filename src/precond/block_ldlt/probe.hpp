#pragma once

#include <functional>
#include <span>
#include <vector>

#include "tessera/csr.hpp"

namespace tessera::block_ldlt {

/// Steps of GMRES that tell whether a preconditioner is any good, and those after which one that
/// follows another may be given up.
constexpr int probe_steps = 25;
constexpr int fewest_steps = 10;

/// The relative residuals ||b - A x|| / ||b||, from the recursion, after each of at most
/// probe_steps steps of right-preconditioned GMRES from x = 0 with a random b (standard normal);
/// the last one counts. Ends earlier at `target`, and from fewest_steps on where it is three times
/// `leader`, the residuals of an earlier probe, or cannot be told from it: where those are below a
/// half and it is within `same` times them. Ends with infinity where a number is not finite; { 0 }
/// for b = 0.
/// `precondition(r, z)` is z = M^-1 r. `products` grows by the steps. Allocates; waits.
template <class T>
std::vector<double> probe(const Context& context, const CsrView<T>& matrix, const SpmvPlan& plan,
                          const std::function<void(const T*, T*)>& precondition, double target,
                          std::span<const double> leader, double same, Offset& products);

}  // namespace tessera::block_ldlt
