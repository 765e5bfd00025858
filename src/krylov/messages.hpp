#pragma once

#include <string>

#include "krylov/recurrence.hpp"
#include "tessera/krylov.hpp"

namespace tessera {

/// The sentence that says how a solve ended and what to try next; empty when it converged. `target`
/// is the relative residual asked for, `singular_blocks` what the preconditioner reports.
std::string sentence(const SolveReport& report, Cause cause, double target, Offset singular_blocks);

/// Throws InvalidArgument for sizes that do not agree and options that cannot be.
void check_solve(Index rows, Index columns, std::size_t b_size, std::size_t x_size,
                 const SolveOptions& options);

}  // namespace tessera
