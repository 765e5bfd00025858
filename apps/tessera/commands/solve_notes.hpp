#pragma once

#include <string>
#include <vector>

#include "commands/commands.hpp"
#include "tessera/solver.hpp"

namespace tessera::cli {

ExitCode exit_code_of(Status status);

/// Why a singular system was not solved.
std::string singular_system_message(const SolveReport& solve, bool has_known_solution);

/// What --explain prints.
std::vector<std::string> explained(const MatrixFacts& facts, const std::vector<Attempt>& attempts);

/// Says which part of b was left out, if that is more than rounding.
void note_null_space_part(double part);

/// Bytes per second of a large copy; 0, unknown, if its buffers do not fit into memory beside the
/// system.
double copy_bandwidth_if_known(const Context& context);

/// Prints what a large estimated error of a mesh means.
void note_error_estimate(double relative);

/// Says on stderr where the rounding of a structure to float spoils it.
void note_rounding_error(double relative);

/// Prints which x an unconverged solve returned, and where it was written; `is_drawn`: results of a
/// mesh were found of it.
void note_unconverged_solution(const SolveArguments& arguments, bool is_drawn);

}  // namespace tessera::cli
