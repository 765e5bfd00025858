#pragma once

#include <memory>
#include <optional>
#include <string>

#include "commands/commands.hpp"
#include "system/right_hand_side.hpp"
#include "system/system.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {

/// What the words of a solve mean, read once.
struct SolveChoice {
    Spec solver;                           ///< As text: the name may be auto.
    std::unique_ptr<SolverConfig> config;  ///< Null for auto and refinement.
    std::optional<RefinementOptions> refinement;
    std::unique_ptr<PreconditionerConfig> preconditioner;
    FormatOptions format;  ///< Of the matrix in products.
    RightHandSide right_hand_side;

    /// Takes `name` in the place of auto.
    void resolve_solver(const char* name);
};

/// Throws what can be known to be wrong before anything large is read.
SolveChoice check_arguments(const SolveArguments& arguments);

/// The Context of --device, and why auto fell back to the CPU, where it did. Throws
/// DeviceUnavailable.
Context open_context(const std::string& device, int threads, std::string& why_not_cuda);

/// Tells that on stderr: once all arguments and files are in order, so that an error stands alone.
void note_fallback(const std::string& why_not_cuda, bool quiet);

/// Refuses what no solver can do, and warns about what a solver can hardly do.
template <class T>
void check_system(const System<T>& system, bool allow_singular, bool quiet);

}  // namespace tessera::cli
