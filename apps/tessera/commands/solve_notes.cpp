#include "commands/solve_notes.hpp"

#include "commands/checks.hpp"
#include "report/text.hpp"
#include "run/output.hpp"

namespace tessera::cli {

ExitCode exit_code_of(Status status) {
    switch (status) {
        case Status::converged:
        case Status::rounding_limit:
            return exit_converged;
        case Status::breakdown:
        case Status::non_finite:
        case Status::singular_block:
            return exit_breakdown;
        case Status::interrupted:
            return exit_interrupted;
        case Status::max_iterations:
        case Status::max_seconds:
        case Status::accuracy_lost:
        case Status::stagnated:
        case Status::unbalanced:
        case Status::least_squares:
        case Status::singular:
            return exit_not_converged;
    }
    return exit_internal;
}

std::string singular_system_message(const SolveReport& solve, bool has_known_solution) {
    return "The matrix is singular (the relative residual is " +
           format("%.2e", solve.true_relative_residual) + "); " +
           (has_known_solution ? "b is in its range only up to rounding: use a larger --rtol"
                               : "most right-hand sides have no solution, one made by "
                                 "--rhs solution:random has") +
           ".";
}

std::vector<std::string> explained(const MatrixFacts& facts, const std::vector<Attempt>& attempts) {
    std::vector<std::string> lines;
    lines.push_back(format("auto sees: %d rows, %.1f entries per row, %ssymmetric, diagonal %s",
                           facts.rows, facts.entries_per_row(), facts.symmetric ? "" : "not ",
                           facts.positive_diagonal ? "positive" : "not positive everywhere"));
    if (facts.blocks > 0) {  // Else facts of the rows determine the first attempt.
        lines.back() +=
            format(", %d unknowns per node%s, blocks of up to %d equal rows", facts.rows_per_node,
                   facts.has_coordinates ? " with coordinates" : "", facts.largest_block);
    }
    for (const Attempt& attempt : attempts) {
        lines.push_back((lines.size() == 1 ? "first " : "then ") + attempt_text(attempt) + ": " +
                        attempt.reason);
    }
    return lines;
}

void note_null_space_part(double part) {
    if (!(part > 1e-10)) return;
    print_note("A is singular: a part of b of " + format("%.1e", part) +
               " of its norm is in the null space and was left out");
}

double copy_bandwidth_if_known(const Context& context) {
    try {
        return context.copy_bandwidth();
    } catch (const OutOfMemory&) {
        return 0;
    }
}

void note_error_estimate(double relative) {
    constexpr double large = 0.05;
    if (!(relative > large)) return;
    print_note("the mesh is coarse: its stresses have an estimated error of " +
               format("%.2g %%", 100 * relative) +
               " in the energy norm; refine it where the "
               "cell field 'error' of --vtu FILE is large, or mesh with elements of second order");
}

void note_rounding_error(double relative) {
    constexpr double large = 0.01;
    if (!(relative > large)) return;
    print_note("rounded to 32 bits this structure is another one: its displacements are wrong by " +
               format("%.2g %%", 100 * relative) +
               " or more of the largest one; leave out --precision f32");
}

void note_unconverged_solution(const SolveArguments& arguments, bool is_drawn) {
    const std::string& vtu = arguments.mesh.vtu;
    const std::string results = is_drawn ? "; displacements and stresses are those of this x"
                                         : "; " + vtu + " was not written";
    print_note(
        std::string("x is never worse than the start; it was ") +
        (arguments.out.empty() ? "not written (--out FILE)" : "written to " + arguments.out) +
        (vtu.empty() && !is_drawn ? "" : results));
}

}  // namespace tessera::cli
