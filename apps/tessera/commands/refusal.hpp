#pragma once

#include <string>
#include <vector>

#include "tessera/krylov.hpp"

namespace tessera::cli {

/// The report of a solve that is not started because of what the setup of the preconditioner found.
SolveReport refusal(const PreconditionerReport& setup);

/// For people: the first singular blocks with their rows, and the command to try next.
std::string refusal_text(const PreconditionerReport& setup, Offset singular,
                         const std::vector<std::string>& command_line);

/// The same command line with singular=shift in its preconditioner.
std::string shifted_command(std::vector<std::string> command_line);

}  // namespace tessera::cli
