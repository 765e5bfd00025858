#pragma once

#include <string>

#include "krylov/recurrence.hpp"
#include "tessera/krylov.hpp"

namespace tessera {

/// A number of a message: in scientific notation; zero and NaN have no sign.
std::string message_number(double value);

/// How a solve ended and what to try next, in one sentence; empty when it converged. `target`:
/// requested relative residual; `singular_blocks`: number of them in the preconditioner.
std::string status_message(const SolveReport& report, BreakdownCause cause, double target,
                           Offset singular_blocks);

/// Throws InvalidArgument where a vector of x overlaps one of b, which solves read to their end.
template <class T>
void check_apart(Vectors<const T> b, Vectors<const T> x);

/// Throws InvalidArgument for sizes that do not agree, vectors that are null, overlap or are not in
/// the memory of the Context, and invalid options.
template <class T>
void check_solve(const Context& context, const Operator<T>& matrix, Vectors<const T> b,
                 Vectors<T> x, const SolveOptions& options);

}  // namespace tessera
