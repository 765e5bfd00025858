#pragma once

#include <string>

#include "commands/commands.hpp"
#include "run/output.hpp"
#include "system/memory.hpp"
#include "system/right_hand_side.hpp"
#include "system/system.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {

/// The parsed arguments of a solve.
struct ParsedSolve {
    MethodConfig method;
    RightHandSide right_hand_side;
};

/// The arguments with the saved options of --config in place of words that are not given.
SolveArguments with_saved_options(SolveArguments arguments);

/// Throws InvalidArgument for all errors that can be found before a large file is read.
/// `saved_options` is the file that tune --save writes; empty: none.
ParsedSolve check_arguments(const SolveArguments& arguments, const std::string& saved_options = "");

/// The Context of --device, and, if auto fell back to the CPU, the reason. Throws
/// DeviceUnavailable.
Context open_context(const std::string& device, int threads, std::string& why_not_cuda);

/// With --device auto a matrix with fewer entries is solved on the CPU: the start of a GPU takes
/// 0.4 s, in which a CPU solves most of them.
inline constexpr Offset min_nonzeros_for_gpu = 2'000'000;
/// The Context of --device auto for a matrix. `why_not_cuda`: as for open_context; where there may
/// be a GPU also that the matrix is small.
Context open_context_for(Offset nonzeros, int threads, std::string& why_not_cuda);

/// The options that the arguments give; an interrupt ends the solve.
SolveOptions solve_options(const SolveArguments& arguments);

/// "cg with jacobi, format csr, at most 500 iterations".
std::string attempt_text(const Attempt& attempt);

/// Prints the reason on stderr; called after all arguments and files were checked, so that an error
/// is the only message.
void note_fallback(const std::string& why_not_cuda, bool quiet);

/// Whether --rhs replaces the loads of a mesh.
bool replaces_load(const SolveArguments& arguments);

/// Prints the warnings of the model on stderr.
void print_warnings(const Context& host, Structure& structure);

/// Throws InvalidArgument for a system that cannot be solved; warns of one that may not have a
/// solution.
template <class T>
void check_system(const System<T>& system, bool allow_singular, bool quiet);

/// The system of a solve, the Contexts it is solved with, and its vectors.
template <class T>
class SolveProblem {
  protected:
    SolveProblem(const SolveArguments& arguments, ParsedSolve parsed)
        : parsed_(std::move(parsed)),
          context_(open_context(arguments.device == "auto" ? "cpu" : arguments.device,
                                arguments.threads, why_not_cuda_)),
          host_(context_.on_gpu() ? Context::cpu(arguments.threads) : context_) {}

    void read_system(const SolveArguments& arguments) {
        bool was_opened = arguments.device != "auto";
        const auto open_for = [&](Offset nonzeros) {
            if (!std::exchange(was_opened, true)) {
                context_ = open_context_for(nonzeros, arguments.threads, why_not_cuda_);
                if (!context_.on_gpu()) context_ = host_;
            }
            return context_;
        };
        system_ = load_system<T>(host_, arguments.matrix, arguments.allow_empty_rows,
                                 &arguments.mesh, !replaces_load(arguments), open_for);
        check_system(system_, arguments.allow_singular, arguments.quiet);
        const bool is_automatic = parsed_.right_hand_side.kind == RightHandSide::Kind::automatic;
        if (is_automatic && !system_.file.right_hand_side.empty() && !arguments.quiet) {
            print_note("b is the right-hand side in '" + system_.name + "'; --rhs gives another");
        }
        if (system_.structure && !arguments.quiet) print_warnings(host_, *system_.structure);
        matrix_ = system_.matrix.view();
        open_for(matrix_.nonzeros);
    }
    /// Copies the matrix to the GPU, if that solves and it is not there, and frees it on the host.
    /// Throws OutOfMemory where the matrix and what the method needs beside it do not fit.
    void upload_matrix() {
        if (!context_.on_gpu()) return;
        const MethodConfig& method = parsed_.method;
        MemoryEstimate need;
        if (!method.is_automatic()) {
            need = estimate_memory(matrix_.rows, matrix_.nonzeros, sizeof(T), *method.solver,
                                   *method.preconditioner, *method.format);
        }
        if (system_.is_on_gpu) return check_memory(need, context_.free_memory(), true);
        need.matrix +=
            Offset(matrix_.row_offsets_span().size_bytes() +
                   matrix_.column_indices_span().size_bytes() + matrix_.values_span().size_bytes());
        check_memory(need, context_.free_memory(), true);
        uploaded_ = copy_to(context_, matrix_);
        matrix_ = uploaded_.view();
        system_.matrix = {};
    }

    ParsedSolve parsed_;
    std::string why_not_cuda_;
    Context context_;  ///< With --device auto the CPU until the matrix is read.
    Context host_;
    System<T> system_;
    CsrView<T> matrix_;  ///< After upload_matrix in the memory of context_.
    Vectors<T> vectors_;
    Buffer<T> x_;

  private:
    CsrMatrix<T> uploaded_;
};

}  // namespace tessera::cli
