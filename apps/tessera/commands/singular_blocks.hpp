#pragma once

#include <string>
#include <vector>

#include "tessera/krylov.hpp"

namespace tessera::cli {

/// The report of a solve that was not started because the preconditioner cannot be used.
SolveReport unsolved_report(const PreconditionerReport& setup);

/// A message with the first singular blocks, their rows, and the command to try next.
std::string singular_blocks_message(const PreconditionerReport& setup, Offset singular,
                                    const std::vector<std::string>& command_line);

/// The command line with singular=shift in its preconditioner.
std::string shifted_command(std::vector<std::string> command_line);

}  // namespace tessera::cli
