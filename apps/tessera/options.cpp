#include "options.hpp"

#include <limits>

#include "report/text.hpp"
#include "tessera/krylov.hpp"
#include "tessera/precond.hpp"

namespace tessera::cli {

CLI::Validator one_of(const std::vector<std::string>& words) {
    std::string name;
    for (const std::string& word : words) name += (name.empty() ? "" : "|") + word;
    const auto check = [words](const std::string& text) -> std::string {
        if (std::find(words.begin(), words.end(), text) != words.end()) return {};
        return unknown_word_message("value", text, words);
    };
    return {check, name};
}

namespace {

constexpr const char* problems_help =
    R"(Generated problems (defaults after =; docs/guide/options.md has the equations):
  poisson2d:N  poisson3d:N  tridiagonal:N        N points along each axis
  convection3d:N[,strength=10][,scheme=upwind]   N points along each axis, or central
  convection2d:N[,strength=10][,scheme=upwind], recirculation:N[,peclet=1000][,scheme=upwind]
  euler2d:N[,cfl=10][,mach=0.3]  euler3d:N[,cfl=10][,mach=0.3]
                           a step of compressible flow in N cells along each axis
  diffusion3d:N[,checkerboard=1][,anisotropy=1]  N points along each axis; checkerboard: coefficient
                           in every other of 4 x 4 x 4 cubes; anisotropy: its factor along z
  elasticity2d:N[,element=q4|t3][,jitter=0][,grading=1][,seed=1][,poisson=0.3][,contrast=1]
                [,stretch=1:1][,free]            N cells along each edge of a square
  elasticity3d:N[,element=hex8|tet4][,stretch=1:1:1] and the others of elasticity2d
                           N cells along each edge of a cube; jitter 0..0.99: random shifts of
                           inner nodes; grading 1e-6..1e6: length of the last cell over that of
                           the first along each axis; contrast: Young's modulus of the half with
                           the larger x over that of the other; stretch: factors of the lengths
                           along x, y, z; free: no support, the matrix is singular
  cantilever2d:N[,length=8]  cantilever3d:N[,length=8] and the options of elasticity but free
                           N cells along each edge of the section, length * N along the beam
  plate_hole:N[,element=q4|t3]                   N cells from the hole to the rim
  arrow:N                                        N rows
  block_diagonal:N,K[,seed=1]                    N rows in dense blocks of K
  random_blocks:N[,sizes=1-32][,condition=10][,seed=1]     N blocks
Symmetric indefinite (except circuit, and shell without shift):
  kkt:N[,spread=4][,delta=0][,entries=3][,seed=1]          interior point method, N variables
  qpband:N  bordered:N[,rows=20][,density=0.3][,spread=3][,seed=1]
                           quadratic programs of N variables
  stokes:N[,beta=0]  darcy:N[,contrast=4][,seed=1]         N x N cells; beta: stabilization
  helmholtz:N[,kh=0.6]  shell:N[,thickness=0.01][,shift=0]           N x N points
  schroedinger:N[,atoms=6][,shift=0.6][,seed=1]            N x N x N points
  circuit:N[,spread=2][,leak=0.001][,seed=1]               N x N points
)";

/// Solvers and preconditioners describe themselves.
std::string methods_help() {
    return "Solvers (--solver):\n" + solver_help() + "Preconditioners (--precond):\n" +
           preconditioner_help();
}

constexpr const char* formats_help =
    R"(Formats (--format):
  csr
  ell                      ELLPACK with row lengths
  sell[:HEIGHT][,sort_window=N|all]              slices of HEIGHT rows
  bell[:B], bcsr[:B]       blocks of B x B, B 1, 2, 3, 4, 6 (default: fewest bytes read)
  sbell[:B][,slice=HEIGHT][,sort_window=N|all]   blocks, in slices of HEIGHT block rows
                           sort_window (sell, sbell): rows are sorted by length within windows
                           of N; index=auto|16|32 (sell, sbell): bits of a column index; auto: 16
                           if each slice spans few columns
)";

constexpr const char* exit_codes_help =
    R"(Exit codes:
  0 converged, or done                3 not converged
  1 internal error (compare: slower)  4 breakdown, or a singular block
  2 wrong usage or input, or output   5 the device is not available
    that cannot be written            6 out of memory              130 interrupted
)";

const char* const matrix_help = "A matrix file, a mesh (.msh), or a problem such as poisson2d:200";
const char* const threads_help = "Number of CPU threads; 0: all available";
constexpr std::int64_t max_threads = std::numeric_limits<int>::max();
const char* const empty_rows_help =
    "Accept files whose header declares many more rows than entries";
const char* const json_help = "Write JSON to FILE; -: to stdout, which then gets nothing else";

// Replace CLI11's own checks by messages that say what to do. Numbers are rewritten (transform), as
// CLI11 reads 010 as octal and does not read 1d-8.
CLI::Validator whole_number(std::int64_t most = std::numeric_limits<std::int64_t>::max(),
                            std::int64_t least = 0) {
    const auto check = [most, least](std::string& text) -> std::string {
        std::int64_t number = 0;
        const std::string reason = parse_integer(text, number);
        if (reason.empty() && number >= least && number <= most) {
            text = std::to_string(number);
            return {};
        }
        if (!text.starts_with("-") && (reason == "out of range" || number > most)) {
            return "'" + text + "' is too large; the maximum is " + std::to_string(most);
        }
        return "give a whole number that is " + std::to_string(least) + " or more, not '" + text +
               "'";
    };
    return {check, "N"};
}

CLI::Validator number() {
    const auto check = [](std::string& text) -> std::string {
        double value = 0;
        if (text == "inf") return {};
        const std::string reason = parse_real(text, value);
        if (reason == "out of range" && !text.starts_with("-")) {
            return "'" + text + "' is too large";
        }
        if (!reason.empty() || value < 0) {
            return "give a number that is 0 or more, not '" + text + "'";
        }
        text = format("%.17g", value);
        return {};
    };
    return {check, "X"};
}

CLI::Validator file_name() {
    const auto check = [](const std::string& text) -> std::string {
        return text.empty() ? "the name of the file is empty; give one" : "";
    };
    return {check, "FILE"};
}

/// An empty text, such as a variable of the shell that is not set, is not the default.
CLI::Validator not_empty() {
    const auto check = [](const std::string& text) -> std::string {
        return text.empty() ? "the text is empty; give one, or leave it out" : "";
    };
    return {check, ""};
}

/// Common options of solve and tune.
void add_system(CLI::App& command, SolveArguments& to) {
    command.add_option("A", to.matrix, matrix_help)->required();
    const char* const rhs_help =
        "ones, load, random[:SEED], solution:ones, solution:random[:SEED] (b = A x*, reports the "
        "error of x), or a file; default: the problem's load, that of the file of A, else ones";
    auto* const b = command.add_option("b", to.right_hand_side, "Right-hand side, as with --rhs")
                        ->check(not_empty());
    command.add_option("--rhs", to.right_hand_side, rhs_help)->check(not_empty())->excludes(b);
    command.add_option("--seed", to.seed, "Seed of a random right-hand side")
        ->transform(whole_number());
    std::string solvers;
    for (const std::string& name : solver_names()) solvers += ", " + name;
    command.add_option(
        "--solver", to.solver,
        "auto" + solvers + ", with options; auto: chosen for the matrix, see --explain");
    std::string names;
    for (const std::string& name : preconditioner_names()) {
        names += (names.empty() ? "" : ", ") + name;
    }
    command.add_option("--precond", to.preconditioner,
                       "auto, " + names + ", with options; see below");
    command.add_option("--format", to.format,
                       "Matrix format in products: auto, csr, sbell:3, sell:32, ...; see below");
    command.add_option("--side", to.side, "Side of the preconditioner")
        ->check(one_of({"right", "left"}));
    command
        .add_option("--rtol", to.rtol,
                    "Stop at ||b - A x|| <= max(rtol ||b||, atol) [1e-8; f32: 1e-4]")
        ->transform(number());
    command.add_option("--atol", to.atol, "See --rtol")->transform(number());
    command.add_option("--max-iterations", to.max_iterations, "Maximum number of iterations")
        ->transform(whole_number());
    command
        .add_option("--stagnation-window", to.stagnation_window,
                    "Maximum number of iterations without progress; 0: no limit")
        ->transform(whole_number());
    command.add_option(
        "--device", to.device,
        "auto (a GPU for matrices of two million entries and more), cpu, cuda, cuda:K");
    command.add_option("--threads", to.threads, threads_help)->transform(whole_number(max_threads));
    command.add_option("--precision", to.precision, "Floating-point type of the solve")
        ->check(one_of({"f64", "f32"}));
    command.add_option("--json", to.json, json_help)->check(file_name());
    command.add_flag("--quiet", to.quiet, "Print errors only: no notes, progress or table");
    command.add_flag("--allow-singular", to.allow_singular, "Allow matrices known to be singular");
    command.add_flag("--allow-empty-rows", to.allow_empty_rows, empty_rows_help);
}

void add_solve(CLI::App& app, SolveArguments& to) {
    CLI::App& solve = *app.add_subcommand("solve", "Solve A x = b");
    solve.footer(problems_help + methods_help() + formats_help + exit_codes_help);
    add_system(solve, to);
    add_mesh(solve, to.mesh);
    solve
        .add_option("--vtu", to.mesh.vtu,
                    "Write displacements, stresses and von Mises stresses to a .vtu file")
        ->check(file_name())
        ->group("Meshes");
    solve
        .add_option("--devices", to.devices,
                    "Solve on several GPUs together: their number, all, or a list such as "
                    "cuda:0,cuda:1; with --device cpu a number of groups of threads")
        ->check(not_empty());
    solve.add_option("--x0", to.start, "File with the initial guess; default: zero")
        ->check(not_empty());
    solve
        .add_option("--nullspace", to.null_space,
                    "Vectors z with A z = 0, left out of b and x: constant, rigid_body or a file "
                    "with an n x k array; default: those of constants and motions that auto finds")
        ->check(not_empty());
    solve.add_flag("--explain", to.explain,
                   "Print which properties of the matrix auto uses, what it chooses, and why");
    solve
        .add_option(
            "--config", to.config,
            "Use the solver, preconditioner, format and side that tessera tune --save NAME wrote; "
            "options on the command line override them")
        ->check(not_empty())
        ->type_name("NAME");
    solve.add_option("--max-seconds", to.max_seconds, "Maximum time of setup and solve in seconds")
        ->transform(number());
    solve.add_option("--out", to.out, "Write x to a .mtx, .mtx.gz or .petsc file")
        ->check(file_name());
    solve
        .add_option("--monitor", to.monitor,
                    "Progress on stderr: bar, table, none; default: bar on a terminal")
        ->check(one_of({"bar", "table", "none"}));
}

void add_tune(CLI::App& app, TuneArguments& to) {
    CLI::App& tune = *app.add_subcommand(
        "tune", "Find the solver, preconditioner and format that solve A x = b fastest");
    tune.footer(problems_help + methods_help() + formats_help + exit_codes_help);
    add_system(tune, to.solve);
    add_mesh(tune, to.solve.mesh);
    tune.add_option("--seconds", to.seconds, "Time limit of all trials together")
        ->transform(number());
    tune.add_option("--save", to.save,
                    "Save the options of the fastest trial for tessera solve --config NAME, in "
                    "~/.config/tessera, or in a file (a NAME with a slash)")
        ->check(not_empty())
        ->type_name("NAME");
}

void add_plot(CLI::App& app, PlotArguments& to) {
    CLI::App& plot = *app.add_subcommand("plot", "Draw what solve, tune and info wrote");
    plot.footer(
        "Draws, of a solve: residuals, condition numbers of blocks, times of phases, multigrid\n"
        "levels; of tune: times of the trials; of info: blocks and formats; of a matrix: its\n"
        "pattern; of the VTU file of a mesh: the deformed part, coloured by stresses.\n"
        "Needs Python: pip install . matplotlib, in a copy of Tessera's repository.\n" +
        std::string(exit_codes_help));
    plot.add_option(
            "FILE", to.files,
            "JSON of tessera solve, tune or info, several to compare runs; a matrix (.mtx); or "
            "results of a structure (.vtu)")
        ->required();
    plot.add_option("-o,--output", to.output, "Picture to write: .html, .svg, .png or .pdf")
        ->required()
        ->check(file_name());
    plot.add_option("--label", to.labels,
                    "Name of a run, in the order of the files; may be repeated")
        ->type_name("TEXT")
        ->allow_extra_args(false);
    plot.add_option(
        "--only", to.only,
        "Draw only these, separated by commas: residuals, phases, conditions, hierarchy, "
        "trials, blocks, formats, spy, part");
    plot.add_option("--blocks", to.blocks, "File of block sizes, drawn over the matrix")
        ->check(file_name());
    plot.add_option("--rows", to.rows, "Draw these rows and columns of the matrix only")
        ->type_name("FIRST:END");
    plot.add_option("--field", to.field,
                    "Field that colours a part, as stress:xx (default: von_mises)")
        ->type_name("NAME[:COMPONENT]");
    plot.add_option("--deformation", to.deformation,
                    "How many times displacements of a part are drawn")
        ->type_name("FACTOR");
    plot.add_option("--view", to.view, "Degrees from where a part is seen (default: -60,25)")
        ->type_name("AZIMUTH,ELEVATION");
}

void add_others(CLI::App& app, Arguments& to) {
    CLI::App& info =
        *app.add_subcommand("info", "Describe a matrix or a mesh, and suggest a solver");
    info.footer(std::string(problems_help) + exit_codes_help);
    info.add_option("A", to.info.matrix, matrix_help)->required();
    info.add_option("--json", to.info.json, json_help)->check(file_name());
    info.add_option("--threads", to.info.threads, threads_help)
        ->transform(whole_number(max_threads));
    info.add_flag("--allow-empty-rows", to.info.allow_empty_rows, empty_rows_help);
    add_mesh(info, to.info.mesh);

    CLI::App& convert = *app.add_subcommand("convert", "Write a matrix in another format");
    convert.add_option("A", to.convert.matrix, matrix_help)->required();
    convert.add_option("OUT", to.convert.out, "A .mtx, .mtx.gz or .petsc file")
        ->required()
        ->check(file_name());
    convert
        .add_option("--symmetry", to.convert.symmetry,
                    "auto: one triangle of a symmetric matrix; general: every entry")
        ->check(one_of({"auto", "general"}));
    convert.add_option("--threads", to.convert.threads, threads_help)
        ->transform(whole_number(max_threads));
    convert.add_flag("--allow-empty-rows", to.convert.allow_empty_rows, empty_rows_help);
    convert
        .add_option(
            "--rhs", to.convert.right_hand_side,
            "Also write the right-hand side, that of the file or the load of the mesh, to a "
            ".mtx, .mtx.gz or .petsc file")
        ->check(file_name());
    convert
        .add_option("--coordinates", to.convert.coordinates,
                    "Also write the coordinates of the nodes, in the order of their rows, for "
                    "amg,coordinates=FILE")
        ->check(file_name());
    add_mesh(convert, to.convert.mesh);

    CLI::App& devices = *app.add_subcommand("devices", "List the devices");
    devices.add_flag("--test", to.devices.test, "Run small solves and inversions on each device");
    devices.add_option("--json", to.devices.json, json_help)->check(file_name());

    CLI::App& compare =
        *app.add_subcommand("compare", "Compare two results of tessera-bench row by row");
    compare.add_option("OLD", to.compare.before, "Earlier result file of tessera-bench")
        ->required();
    compare.add_option("NEW", to.compare.after, "Later result file of tessera-bench")->required();
    compare.footer(
        "SAME: the times differ by at most 3 %. UNCLEAR: by more, but by less than half the sum\n"
        "of their interquartile ranges. Exit code 1 if a row is SLOWER.\n" +
        std::string(exit_codes_help));

    app.add_subcommand("bench", "Run tessera-bench; tessera bench --help lists its benchmarks");
}

}  // namespace

void add_commands(CLI::App& app, Arguments& to) {
    app.footer(exit_codes_help);  // Also of commands without a footer of their own.
    add_solve(app, to.solve);
    add_tune(app, to.tune);
    add_plot(app, to.plot);
    add_others(app, to);
}

}  // namespace tessera::cli
