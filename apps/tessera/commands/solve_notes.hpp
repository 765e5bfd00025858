#pragma once

#include <string>
#include <vector>

#include "commands/commands.hpp"
#include "tessera/solver.hpp"

namespace tessera::cli {

/// Why a singular system was not solved.
std::string singular_system_message(const SolveReport& solve, bool has_known_solution);

/// What --explain prints.
std::vector<std::string> explained(const MatrixFacts& facts, const std::vector<Attempt>& attempts);

/// Prints what a large estimated error of a mesh means.
void note_error_estimate(double relative);

/// Says on stderr where the rounding of a structure to float spoils it.
void note_rounding_error(double relative);

/// Prints which x an unconverged solve returned, and where it was written; `is_drawn`: results of a
/// mesh were found of it.
void note_unconverged_solution(const SolveArguments& arguments, bool is_drawn);

}  // namespace tessera::cli
