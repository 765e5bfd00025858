#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "commands/commands.hpp"
#include "tessera/choice.hpp"

namespace tessera::cli {

/// One way to solve the system.
struct Trial {
    Attempt given;               ///< The words that class Solver was given.
    Attempt way;                 ///< The words in use; for auto those of its last attempt.
    bool is_auto = false;        ///< The words as the user gave them, with auto among them.
    double setup = 0;            ///< Seconds, of the fastest run; for auto with the choice.
    std::vector<double> totals;  ///< Seconds of setup and solve of each run.
    SolveReport solve;
    bool cut_short = false;  ///< Stopped because it could not be the fastest.
    std::string failure;     ///< Why it could not be run.

    explicit Trial(Attempt words) : given(words), way(std::move(words)) {}
    bool converged() const { return !totals.empty() && is_solved(solve.status); }
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

/// Schema "tessera-tune/2".
std::string to_json(const TuneReport& report);

}  // namespace tessera::cli
