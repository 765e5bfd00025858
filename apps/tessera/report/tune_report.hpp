#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "commands/commands.hpp"
#include "tessera/krylov.hpp"
#include "tessera/precond.hpp"

namespace tessera::cli {

/// One preconditioner and solver on the system.
struct Trial {
    std::string preconditioner;
    std::string solver;   ///< Normalised.
    std::string storage;  ///< Options of `preconditioner` that leave its blocks as they are.
    std::shared_ptr<const PreconditionerConfig> preconditioner_config;  ///< The same, parsed.
    std::shared_ptr<const SolverConfig> solver_config;
    Offset blocks = 0;
    Offset largest_block = 0;
    std::vector<Index> block_offsets;  ///< Offsets of the blocks of block_jacobi, else empty.
    double setup = 0;                  ///< Seconds: finding blocks included.
    std::vector<double> totals;        ///< Seconds of setup and solve, of each run.
    SolveReport solve;
    std::string same_as;        ///< The preconditioner tried before that has the same blocks.
    bool cut_short = false;     ///< Stopped when it could not be the fastest any more.
    bool does_not_fit = false;  ///< In memory.

    Trial(const std::string& with, const std::string& by)
        : preconditioner(with),
          solver(by),
          preconditioner_config(parse_preconditioner(with)),
          solver_config(parse_solver(by)) {}
    bool converged() const { return !totals.empty() && solve.status == Status::converged; }
    /// Seconds of the fastest run: disturbances only make a run longer.
    double seconds() const { return *std::ranges::min_element(totals); }
};

/// The result of `tessera tune`.
struct TuneReport {
    const SolveArguments& given;
    std::string matrix;
    Index rows = 0;
    Offset nonzeros = 0;
    std::string device;
    double budget = 0;  ///< Seconds.
    double seconds = 0;
    std::vector<Trial> trials;
    std::vector<Trial> untried;  ///< For which there was no time.
    bool interrupted = false;
};

/// The fastest that converged; where none did, that with the smallest residual. nullptr: none ran.
const Trial* best_of(const std::vector<Trial>& trials);

/// How a trial ended, in a few words.
std::string outcome_text(const Trial& trial);

/// A table for people, the fastest first, and the command that solves with it.
std::string to_table(const TuneReport& report);

/// Schema "tessera-tune/1".
std::string to_json(const TuneReport& report);

}  // namespace tessera::cli
