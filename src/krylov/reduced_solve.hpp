#pragma once

#include "krylov/reduced_system.hpp"

namespace tessera {

/// Solves A x = b of the given matrix by `solver`, which solves the reduced system: corrections of
/// x from the residuals of A until these meet the tolerance, or no longer fall by half
/// (accuracy_lost). The tolerance is relative to the right-hand side without what the fixed
/// unknowns contribute. x is never worse than at the start, unless
/// its residuals are small by rows.
template <class T>
SolveReport solve_reduced(const Context& context, const ReducedSystem<T>& system,
                          IterativeSolver<T>& solver, std::span<const T> b, std::span<T> x,
                          const SolveOptions& options);

}  // namespace tessera
