#pragma once

#include <string>
#include <vector>

#include "tessera/solver.hpp"

namespace tessera::cli {

/// A message with the first singular blocks, their rows, and the command to try next.
std::string singular_blocks_message(const PreconditionerReport& setup, Offset singular,
                                    const std::vector<std::string>& command_line);

/// The command line with singular=shift in its preconditioner.
std::string shifted_command(std::vector<std::string> command_line);

}  // namespace tessera::cli
