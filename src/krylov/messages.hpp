#pragma once

#include <string>

#include "krylov/recurrence.hpp"
#include "tessera/krylov.hpp"

namespace tessera {

/// How a solve ended and what to try next, in one sentence; empty when it converged. `target`:
/// requested relative residual; `singular_blocks`: number of them in the preconditioner.
std::string status_message(const SolveReport& report, BreakdownCause cause, double target,
                           Offset singular_blocks);

/// Throws InvalidArgument for sizes that do not agree and invalid options.
void check_solve(Index rows, Index columns, std::size_t b_size, std::size_t x_size,
                 const SolveOptions& options);

}  // namespace tessera
