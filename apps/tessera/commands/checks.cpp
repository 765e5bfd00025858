#include "commands/checks.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "report/text.hpp"
#include "run/interrupt.hpp"
#include "run/output.hpp"
#include "run/saved_options.hpp"

namespace tessera::cli {

namespace {

/// All files that the command reads and writes; words of options may be no files.
void check_files(const SolveArguments& arguments, const std::string& saved_options) {
    std::vector<std::string> inputs = {arguments.matrix, arguments.right_hand_side,
                                       arguments.start};
    Spec preconditioner(arguments.preconditioner);
    for (const char* key : {"blocks", "coordinates", "near_null"}) {
        inputs.push_back(preconditioner.word(key, ""));
    }
    if (!arguments.config.empty()) inputs.push_back(saved_options_file(arguments.config));
    check_outputs({{"--out", arguments.out},
                   {"--json", arguments.json},
                   {"--vtu", arguments.mesh.vtu},
                   {"--save", saved_options}},
                  inputs);
    if (!arguments.out.empty()) check_ending("--out", arguments.out);
}

/// The first empty row, or the number of rows.
template <class T>
Index first_empty_row(const CsrView<T>& matrix) {
    const auto offsets = matrix.row_offsets_span();
    return Index(std::adjacent_find(offsets.begin(), offsets.end()) - offsets.begin());
}

}  // namespace

ParsedSolve check_arguments(const SolveArguments& arguments, const std::string& saved_options) {
    if (!std::isfinite(arguments.rtol.value_or(0)) || !std::isfinite(arguments.atol)) {
        throw InvalidArgument("--rtol and --atol must be finite");
    }
    ParsedSolve parsed{MethodConfig(arguments.solver, arguments.preconditioner, arguments.format),
                       RightHandSide::parse(arguments.right_hand_side, arguments.seed)};
    const MethodConfig& method = parsed.method;
    if (arguments.side == "left" && method.solver && !method.solver->allows_left()) {
        throw InvalidArgument("--side left: " + Spec(method.solver_text).name() +
                              " does not support left preconditioning; leave it out, or use gmres, "
                              "idr or bicgstab");
    }
    check_mesh_arguments(arguments.mesh);
    const std::string load_option = arguments.mesh.first_load_option();
    if (replaces_load(arguments) && !load_option.empty()) {
        throw InvalidArgument("--rhs replaces the loads, " + load_option +
                              " among them: leave out either --rhs or all loads");
    }
    if (method.format && method.format->values != ValueFormat::working) {
        throw InvalidArgument("--format " + arguments.format +
                              ": with rounded values this would solve another system; leave out "
                              "values=");
    }
    check_files(arguments, saved_options);
    return parsed;
}

SolveArguments with_saved_options(SolveArguments arguments) {
    if (arguments.config.empty()) return arguments;
    const SavedOptions saved = read_saved_options(arguments.config);
    const auto use = [](std::string& word, const std::string& usual, const std::string& other) {
        if (word == usual) word = other;
    };
    const SolveArguments usual;
    use(arguments.solver, usual.solver, saved.solver);
    use(arguments.preconditioner, usual.preconditioner, saved.preconditioner);
    use(arguments.format, usual.format, saved.format);
    use(arguments.side, usual.side, saved.side);
    arguments.config_device = saved.device;
    return arguments;
}

bool replaces_load(const SolveArguments& arguments) {
    return !arguments.right_hand_side.empty() && arguments.right_hand_side != "load";
}

void print_warnings(const Context& host, Structure& structure) {
    for (const std::string& warning : warnings_of_cases(host, structure)) {
        std::fprintf(stderr, "tessera: %s\n", warning.c_str());
    }
}

SolveOptions solve_options(const SolveArguments& arguments) {
    SolveOptions options;
    options.rtol = arguments.rtol;
    options.atol = arguments.atol;
    options.max_iterations = arguments.max_iterations;
    options.max_seconds = arguments.max_seconds;
    options.stagnation_window = arguments.stagnation_window;
    options.left_preconditioning = arguments.side == "left";
    options.observer = [](const Progress&) { return !interrupted(); };
    return options;
}

Context open_context(const std::string& device, int threads, std::string& why_not_cuda) {
    const InterruptNote note("starting device '" + device + "'");
    try {
        return Context::from_name(device, threads, &why_not_cuda);
    } catch (const DeviceError& error) {
        throw DeviceUnavailable(error.what());
    }
}

Context open_context_for(Offset nonzeros, int threads, std::string& why_not_cuda) {
    if (nonzeros >= min_nonzeros_for_gpu) return open_context("auto", threads, why_not_cuda);
    const auto exists = [](const char* path) { return access(path, F_OK) == 0; };
    if (exists("/dev/nvidiactl") || exists("/dev/dxg")) {  // The latter in Windows' Linux.
        why_not_cuda = "the matrix has fewer than " + std::to_string(min_nonzeros_for_gpu) +
                       " entries; --device cuda takes the GPU";
    }
    return Context::cpu(threads);
}

std::string attempt_text(const Attempt& attempt) {
    return attempt.solver + " with " + attempt.preconditioner + ", format " + attempt.format +
           (attempt.max_iterations > 0 ? ", at most " + plural(attempt.max_iterations, "iteration")
                                       : "") +
           (attempt.trial > 0 ? ", " + std::to_string(attempt.trial) + " on trial" : "");
}

void note_fallback(const std::string& why_not_cuda, bool quiet) {
    if (why_not_cuda.empty() || quiet) return;
    print_note("running on the CPU: " + why_not_cuda);
}

template <class T>
void check_system(const System<T>& system, bool allow_singular, bool quiet) {
    const CsrView<T> matrix = system.matrix.view();
    if (matrix.rows != matrix.columns) {
        throw InvalidArgument("'" + system.name + "' is " + std::to_string(matrix.rows) + " x " +
                              std::to_string(matrix.columns) +
                              "; only square systems can be solved");
    }
    const auto is_zero = [](std::span<const T> values) {
        return std::ranges::all_of(values, [](T value) { return value == 0; });
    };
    if (!system.is_on_gpu && matrix.rows > 0 && is_zero(matrix.values_span())) {
        throw InvalidArgument("'" + system.name +
                              "' has no nonzeros, so only b = 0 has a solution; check "
                              "how it was written");
    }
    const Index empty = system.is_on_gpu ? matrix.rows : first_empty_row(matrix);
    if (empty < matrix.rows && !quiet) {
        print_note("row " + std::to_string(empty) + " (counted from 0) of '" + system.name +
                   "' is empty, so the matrix is singular; there is a solution only if b is 0 in "
                   "empty rows");
    }
    if (system.file.symmetry != io::Symmetry::general && system.file.duplicates > 0 && !quiet) {
        print_note("'" + system.name + "' is a symmetric file, of which one triangle is enough: " +
                   std::to_string(system.file.duplicates) +
                   " of its entries repeat others, perhaps of the other triangle, and were added "
                   "to them");
    }
    if (!system.file.note.empty() && !quiet) print_note(system.file.note);
    if (!system.known_singular) return;
    if (!allow_singular && system.structure) {
        throw InvalidArgument(rigid_motion_message(system.name, *system.structure));
    }
    if (!allow_singular) {
        throw InvalidArgument("'" + system.name +
                              "' is singular (it has no fixed support) and is meant for kernels "
                              "and benchmarks; add --allow-singular to solve it anyway");
    }
    if (!quiet) {
        print_note("'" + system.name + "' is singular; the solve may not converge");
    }
}

template void check_system<float>(const System<float>&, bool, bool);
template void check_system<double>(const System<double>&, bool, bool);

}  // namespace tessera::cli
