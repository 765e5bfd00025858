#include "checks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "memory.hpp"
#include "tessera/tessera.hpp"
#include "text.hpp"

namespace tessera::cli {

namespace {

void check_name(const char* what, const std::string& name, std::vector<std::string> valid,
                const char* also) {
    if (std::find(valid.begin(), valid.end(), also) == valid.end()) valid.emplace_back(also);
    if (std::find(valid.begin(), valid.end(), name) != valid.end()) return;
    throw InvalidArgument(unknown_word_message(what, name, valid));
}

/// Throws what is wrong with the options of the solver and the preconditioner, which both read
/// their own: tried on a system of one row, before minutes go into reading a large one.
void try_options(Spec solver, const Spec& preconditioner) {
    const Context host = Context::cpu(1);
    CsrMatrix<double> one(host, 1, 1, 1);
    one.row_offsets().data()[0] = 0;
    one.row_offsets().data()[1] = 1;
    one.column_indices().data()[0] = 0;
    one.values().data()[0] = 1;
    const CsrOperator<double> matrix(host, one.view());
    const std::vector<double> b(1);
    std::vector<double> x(1);
    if (solver.name() == "auto") {
        solver.finish();
    } else if (solver.name() == "refinement") {
        parse_refinement(solver);
    } else {
        tessera::solve<double>(host, solver, matrix, nullptr, b, x);
    }
    if (is_polynomial(preconditioner.name())) {
        parse_polynomial(preconditioner);  // Ends that are given fit their own matrix only.
        return;
    }
    // A file of blocks fits its own matrix only.
    const std::string blocks = Spec(preconditioner).word("blocks", "");
    std::error_code error;
    if (!std::filesystem::exists(blocks, error)) {
        make_preconditioner<double>(host, preconditioner, one.view());
    }
}

void check_files(const SolveArguments& arguments) {
    const std::vector<std::string> inputs = {
        arguments.matrix, arguments.right_hand_side, arguments.start,
        Spec::parse(arguments.preconditioner).word("blocks", "")};
    check_output("--json", arguments.json, inputs);
    check_output("--out", arguments.out, inputs);
    check_output("--vtu", arguments.mesh.vtu, inputs);
    if (arguments.out.empty()) return;
    check_ending("--out", arguments.out);
    if (arguments.out == arguments.json) {
        throw InvalidArgument("--out and --json name the same file");
    }
}

/// None: beyond the rows.
template <class T>
Index first_empty_row(const CsrView<T>& matrix) {
    const auto offsets = matrix.row_offsets_span();
    return Index(std::adjacent_find(offsets.begin(), offsets.end()) - offsets.begin());
}

}  // namespace

void check_arguments(const SolveArguments& arguments) {
    if (!std::isfinite(arguments.rtol) || !std::isfinite(arguments.atol)) {
        throw InvalidArgument("--rtol and --atol must be finite");
    }
    std::vector<std::string> solvers = solver_names();
    solvers.emplace_back("refinement");
    const std::string solver = Spec::parse(arguments.solver).name();
    check_name("solver", solver, solvers, "auto");
    if (solver == "refinement" && arguments.precision == "f32") {
        throw InvalidArgument(
            "--solver refinement needs --precision f64: its corrections are in f32 already");
    }
    if (solver == "refinement" && arguments.side == "left") {
        throw InvalidArgument("--solver refinement knows no --side left");
    }
    check_name("preconditioner", Spec::parse(arguments.preconditioner).name(),
               preconditioner_names(), "none");
    check_mesh_arguments(arguments.mesh);
    const MeshArguments& mesh = arguments.mesh;
    if (!arguments.right_hand_side.empty() &&
        !(mesh.load.empty() && mesh.traction.empty() && mesh.body_force.empty())) {
        throw InvalidArgument(
            "--rhs takes the place of the loads: leave out --load, --traction and --body-force, or "
            "--rhs");
    }
    try_options(Spec::parse(arguments.solver), Spec::parse(arguments.preconditioner));
    if (parse_format(Spec::parse(arguments.format)).values != ValueFormat::working) {
        throw InvalidArgument("--format " + arguments.format +
                              ": with rounded values this would solve another system; leave out "
                              "values=");
    }
    check_files(arguments);
}

Context open_context(const std::string& device, int threads, std::string& why_not_cuda) {
    try {
        return Context::from_name(device, threads, &why_not_cuda);
    } catch (const DeviceError& error) {
        throw DeviceUnavailable(error.what());
    } catch (const NotBuilt& error) {
        throw DeviceUnavailable(error.what());
    }
}

void note_fallback(const std::string& why_not_cuda, bool quiet) {
    if (why_not_cuda.empty() || quiet) return;
    std::fprintf(stderr, "tessera: running on the CPU: %s\n", why_not_cuda.c_str());
}

template <class T>
void check_system(const System<T>& system, bool allow_singular, bool quiet) {
    const CsrView<T> matrix = system.matrix.view();
    if (matrix.rows != matrix.columns) {
        throw InvalidArgument("'" + system.name + "' is " + std::to_string(matrix.rows) + " x " +
                              std::to_string(matrix.columns) +
                              "; only square systems can be solved");
    }
    const auto values = matrix.values_span();
    if (matrix.rows > 0 && std::all_of(values.begin(), values.end(), [](T a) { return a == 0; })) {
        throw InvalidArgument("'" + system.name +
                              "' has no nonzeros, so it can be solved with for b = 0 alone; check "
                              "how it was written");
    }
    if (const Index empty = first_empty_row(matrix); empty < matrix.rows && !quiet) {
        std::fprintf(
            stderr,
            "tessera: row %d (counted from 0) of '%s' is empty, so the matrix is singular; "
            "there is a solution only if b is 0 in empty rows\n",
            empty, system.name.c_str());
    }
    if (!system.known_singular) return;
    if (!allow_singular && system.structure) {
        throw InvalidArgument(can_move_message(system.name, *system.structure));
    }
    if (!allow_singular) {
        throw InvalidArgument("'" + system.name +
                              "' is singular (nothing holds the body) and is meant for kernels "
                              "and benchmarks; add --allow-singular to solve it all the same");
    }
    if (!quiet) {
        std::fprintf(stderr, "tessera: '%s' is singular; the solve may not converge\n",
                     system.name.c_str());
    }
}

template void check_system<float>(const System<float>&, bool, bool);
template void check_system<double>(const System<double>&, bool, bool);

}  // namespace tessera::cli
