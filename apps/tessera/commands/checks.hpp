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
    Spec solver;                           ///< As text; its name may be auto.
    std::unique_ptr<SolverConfig> config;  ///< Null for auto and refinement.
    std::optional<RefinementOptions> refinement;
    std::unique_ptr<PreconditionerConfig> preconditioner;
    FormatOptions format;  ///< Format of the matrix in products.
    RightHandSide right_hand_side;

    /// Replaces the solver auto by `name`.
    void resolve_solver(const char* name);
};

/// Throws InvalidArgument for everything that can be checked before a large file is read.
ParsedSolve check_arguments(const SolveArguments& arguments);

/// The Context of --device, and why auto fell back to the CPU, where it did. Throws
/// DeviceUnavailable.
Context open_context(const std::string& device, int threads, std::string& why_not_cuda);

/// The options that the arguments give; the observer ends a solve that was interrupted.
SolveOptions solve_options(const SolveArguments& arguments);

/// Prints that on stderr; called when all arguments and files are in order, so that an error is the
/// only message.
void note_fallback(const std::string& why_not_cuda, bool quiet);

/// The system of a solve, the Contexts it is solved with, and its vectors.
template <class T>
struct SolveProblem {
    SolveProblem(const SolveArguments& arguments, ParsedSolve parsed_arguments);
    /// Reads or generates the system. Throws InvalidArgument for one that cannot be solved; warns
    /// of one that may not have a solution.
    void load(const SolveArguments& arguments);
    /// Copies the matrix to the GPU, if that solves, and frees it on the host.
    void upload();

    ParsedSolve parsed;
    std::string why_not_cuda;
    Context context;
    Context host;
    System<T> system;
    CsrMatrix<T> uploaded;
    CsrView<T> matrix;  ///< After `upload` in the memory of `context`.
    Vectors<T> vectors;
    Buffer<T> x;
};

}  // namespace tessera::cli
