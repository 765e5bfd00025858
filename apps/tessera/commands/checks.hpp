#pragma once

#include <memory>
#include <optional>
#include <string>

#include "commands/commands.hpp"
#include "system/right_hand_side.hpp"
#include "system/system.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {

/// The parsed arguments of a solve.
struct ParsedSolve {
    Spec solver;                           ///< Solver as text; its name may be auto.
    std::unique_ptr<SolverConfig> config;  ///< Null for auto and refinement.
    std::optional<RefinementOptions> refinement;
    std::unique_ptr<PreconditionerConfig> preconditioner;
    FormatOptions format;  ///< Format of the matrix in products.
    RightHandSide right_hand_side;

    /// Replaces the solver auto by `name`.
    void resolve_solver(const char* name);
};

/// Throws InvalidArgument for all errors that can be found before a large file is read.
ParsedSolve check_arguments(const SolveArguments& arguments);

/// The Context of --device, and, if auto fell back to the CPU, the reason. Throws
/// DeviceUnavailable.
Context open_context(const std::string& device, int threads, std::string& why_not_cuda);

/// Prints the reason on stderr; called after all arguments and files were checked, so that an error
/// is the only message.
void note_fallback(const std::string& why_not_cuda, bool quiet);

/// Throws InvalidArgument for a system that cannot be solved; warns of one that may not have a
/// solution.
template <class T>
void check_system(const System<T>& system, bool allow_singular, bool quiet);

}  // namespace tessera::cli
