#pragma once

#include <string_view>

#include "tessera/choice.hpp"
#include "tessera/precond.hpp"

namespace tessera {

/// Whether normalised words of a solver or preconditioner begin with the name.
bool has_name(std::string_view words, std::string_view name);

/// Whether another attempt may succeed after a solve with this report; `attempt_limit` is its
/// Attempt::max_iterations.
bool worth_another(const SolveReport& report, Offset attempt_limit);
/// Whether another attempt may succeed after a setup that threw: the next one may allow other
/// matrices, such as indefinite ones, or take less memory.
bool worth_another(const Error& error);

/// The report of a solve that is not started because a preconditioner cannot be used.
SolveReport unsolved_report(const PreconditionerReport& setup);

/// The options of an attempt: its own limits, and at most the iterations and time that earlier
/// attempts (`before`, which may be empty) and their setups have left. The observer gets the
/// iterations and seconds of all attempts.
SolveOptions attempt_options(const SolveOptions& options, const Attempt& attempt,
                             const SolveReport& before);

/// The report of several attempts: counts, seconds and residuals are those of all attempts,
/// everything else is that of `last`.
SolveReport joined(const SolveReport& before, SolveReport last);

/// How an attempt ended, half a sentence; without iterations there is no residual to name.
std::string outcome_of(const SolveReport& attempt);

}  // namespace tessera
