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
    std::string solver;   ///< Normalised text.
    std::string storage;  ///< Storage options of `preconditioner`, which do not change its blocks.
    std::shared_ptr<const PreconditionerConfig> preconditioner_config;  ///< Parsed.
    std::shared_ptr<const SolverConfig> solver_config;
    Offset blocks = 0;
    Offset largest_block = 0;
    std::vector<Index> block_offsets;  ///< Offsets of the blocks of block_jacobi, else empty.
    double setup = 0;                  ///< Seconds, including finding blocks.
    std::vector<double> totals;        ///< Seconds of setup and solve of each run.
    SolveReport solve;
    std::string same_as;        ///< An earlier preconditioner with equal blocks.
    bool cut_short = false;     ///< Stopped because it could not be the fastest.
    bool does_not_fit = false;  ///< It does not fit into memory.

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
    double budget = 0;  ///< Time limit in seconds.
    double seconds = 0;
    std::vector<Trial> trials;
    std::vector<Trial> untried;  ///< Trials without time left.
    bool interrupted = false;
};

/// The fastest converged trial; if none converged, that with the smallest residual. nullptr: none
/// ran.
const Trial* best_of(const std::vector<Trial>& trials);

/// How a trial ended, in a few words.
std::string outcome_text(const Trial& trial);

/// A table, the fastest first, and the command for it.
std::string to_table(const TuneReport& report);

/// Schema "tessera-tune/1".
std::string to_json(const TuneReport& report);

}  // namespace tessera::cli
