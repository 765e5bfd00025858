#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "support/command_line.hpp"
#include "tessera/amg.hpp"
#include "tessera/problems.hpp"

namespace tessera::test {
namespace {

using cli_solve = CommandLineTest;

TEST_F(cli_solve, solves_and_says_so) {
    const Outcome outcome = solve({"poisson2d:12"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_TRUE(outcome.out.starts_with("converged in ")) << outcome.out;
    expect_contains(outcome.out, "poisson2d:12, 144 rows");
    expect_contains(outcome.out, "solver          richardson");
    expect_contains(outcome.out, "preconditioner  direct");
    expect_contains(outcome.out, "reason          exact factors take few operations");
}

TEST_F(cli_solve, json_alone_is_on_stdout) {
    const Outcome outcome =
        solve({"poisson2d:12", "--precond", "jacobi", "--json", "-", "--monitor", "table"});
    EXPECT_EQ(outcome.code, 0);
    const Json json = Json::parse(outcome.out);
    EXPECT_EQ(json["schema"], "tessera-run/2");
    EXPECT_EQ(json["status"], "converged");
    EXPECT_EQ(json["threads"], 2);
    EXPECT_EQ(json["matrix"]["rows"], 144);
    EXPECT_EQ(json["blocks"]["count"], 144);
    ASSERT_EQ(json["attempts"].size(), 1U);
    EXPECT_EQ(json["attempts"][0]["solver"], json["solver"]);
    EXPECT_EQ(json["attempts"][0]["preconditioner"], json["preconditioner"]);
    EXPECT_EQ(json["attempts"][0]["iterations"], json["iterations"]);
    EXPECT_EQ(json["residuals"][0], 1.0);
    EXPECT_LE(json["true_relative_residual"].get<double>(), 1e-8);
    EXPECT_GT(json["seconds"]["setup"].get<double>(), 0);
    EXPECT_GT(json["peak_memory_bytes"].get<Offset>(), 0);
    EXPECT_TRUE(json["forward_error"].is_null());
    expect_contains(outcome.err, "iteration");
}

TEST_F(cli_solve, json_goes_to_a_file_beside_the_table) {
    const Outcome outcome = solve({"poisson2d:6", "--json", "run.json"});
    EXPECT_TRUE(outcome.out.starts_with("converged"));
    EXPECT_EQ(Json::parse(text_of(path("run.json")))["status"], "converged");
}

TEST_F(cli_solve, quiet_says_nothing) {
    const Outcome outcome = solve({"poisson2d:6", "--quiet", "--monitor", "table"});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out + outcome.err, "");
}

/// A pipe can be opened and read once only.
TEST_F(cli_solve, files_that_options_name_are_opened_once) {
    const std::string nodes = path("nodes.pipe"), vectors = path("vectors.pipe");
    ASSERT_EQ(::mkfifo(nodes.c_str(), 0600), 0);
    ASSERT_EQ(::mkfifo(vectors.c_str(), 0600), 0);
    const auto problem = problems::generate<double>(Context::cpu(1), "elasticity2d:8");
    const std::string banner = "%%MatrixMarket matrix array real general\n";
    const auto array = [&](const NearNullSpace& from) {
        const std::size_t columns = std::size_t(from.columns), n = from.values.size() / columns;
        std::string text = banner + std::to_string(n) + " " + std::to_string(columns) + "\n";
        for (std::size_t c = 0; c < columns; ++c) {
            for (std::size_t i = 0; i < n; ++i) {
                text += std::to_string(from.values[i * columns + c]) + "\n";
            }
        }
        return text;
    };
    const NodeCoordinates& points = problem.coordinates;
    const std::string texts[] = {
        array({points.dimensions, {points.values.begin(), points.values.end()}}),
        array(rigid_body_modes(points))};
    std::thread writer([&] {  // Blocks until the program reads.
        std::ofstream(nodes) << texts[0];
        std::ofstream(vectors) << texts[1];
    });
    const Json json = solve_json(
        {"elasticity2d:8", "--precond", "amg,coordinates=" + nodes + ",near_null=" + vectors});
    writer.join();
    EXPECT_EQ(json["status"], "converged");
    EXPECT_EQ(json["amg"]["near_null"], "given");
}

TEST_F(cli_solve, singular_systems_without_a_solution_are_named) {
    const std::string matrix = write("neumann.mtx",
                                     "%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n"
                                     "1 1 1\n2 1 -1\n2 2 2\n3 2 -1\n3 3 1\n");
    const Outcome outcome = solve({matrix});
    EXPECT_EQ(outcome.code, 3);
    expect_contains(outcome.out + outcome.err, "A is singular, b is not in its range");
}

/// diag(2, 4) and (2, 8) in one file.
TEST_F(cli_solve, the_right_hand_side_in_a_file_of_a_matrix_is_used) {
    const std::string file =
        write("with_b.rua",
              "title\n             3             1             1             1             1\n"
              "RUA                        2             2             2             0\n"
              "(3I4)           (2I4)           (2F5.1)             (2F5.1)\n"
              "F                          1             0\n   1   2   3\n   1   2\n  2.0  4.0\n"
              "  2.0  8.0\n");
    const Outcome outcome = solve({file, "--out", path("x.mtx")});
    EXPECT_EQ(outcome.code, 0);
    expect_contains(outcome.err, "b is the right-hand side in");
    EXPECT_EQ(io::read_vector<double>(host(), path("x.mtx")), (std::vector<double>{1, 2}));
    EXPECT_EQ(solve({file, "--rhs", "ones", "--out", path("x.mtx")}).code, 0);
    EXPECT_EQ(io::read_vector<double>(host(), path("x.mtx")), (std::vector<double>{0.5, 0.25}));
}

TEST_F(cli_solve, a_solve_in_float_ends_at_what_float_reaches) {
    const Json json = solve_json({"poisson2d:50", "--precision", "f32"});
    EXPECT_EQ(json["status"], "converged");
    EXPECT_LE(json["true_relative_residual"].get<double>(), 1e-4);
}

TEST_F(cli_solve, every_solver_and_preconditioner_runs) {
    for (const std::string& solver : solver_names()) {
        for (const std::string& preconditioner : preconditioner_names()) {
            const Outcome outcome = solve({"poisson2d:5", "--solver", solver, "--precond",
                                           preconditioner, "--json", "-", "--rtol", "1e-6"});
            const bool converged = outcome.code == 0;
            EXPECT_TRUE(converged || parse_solver(solver)->is_stationary())
                << solver << " " << preconditioner;
            const Json report = Json::parse(outcome.out);
            EXPECT_EQ(report["status"] == "converged", converged);
            EXPECT_TRUE(report["preconditioner"].get<std::string>().starts_with(preconditioner));
        }
    }
}

TEST_F(cli_solve, every_format_runs) {
    const int csr = solve_json({"elasticity2d:6", "--rhs", "ones"})["iterations"];
    for (const std::string format : {"csr", "ell", "sell:32,sort_window=all", "bell:2", "bcsr:2",
                                     "sbell", "sbell:3", "sbell:2,slice=64"}) {
        const Json json =
            solve_json({"elasticity2d:6", "--rhs", "ones", "--format", format, "--rtol", "1e-10"});
        EXPECT_EQ(json["status"], "converged") << format;
        EXPECT_EQ(json["matrix"]["format"], format == "sbell" ? "sbell:2" : format);
        EXPECT_GE(json["iterations"], csr) << format;
    }
    EXPECT_EQ(solve({"poisson2d:5", "--format", "sbel"}).code, 2);
    EXPECT_EQ(solve({"poisson2d:5", "--format", "sbell,values=f16"}).code, 2);
    const Outcome rounded = solve({"poisson2d:5", "--precond", "neumann,values=f16,format=csr"});
    EXPECT_EQ(rounded.code, 2);
    expect_contains(rounded.err, "format=csr does not round values");
}

TEST_F(cli_solve, solution_is_written) {
    // diag(1, 2, 4) x = ones.
    const std::string file = write("diagonal.mtx",
                                   "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n"
                                   "2 2 2\n3 3 4\n");
    EXPECT_EQ(solve({file, "--out", "x.mtx"}).code, 0);
    EXPECT_EQ(io::read_vector<double>(host(), path("x.mtx")), (std::vector<double>{1, 0.5, 0.25}));
    // Used as right-hand side, and as a start that already solves the system.
    EXPECT_EQ(solve({file, "x.mtx", "--out", "y.mtx"}).code, 0);
    EXPECT_EQ(io::read_vector<double>(host(), path("y.mtx")),
              (std::vector<double>{1, 0.25, 0.0625}));
    EXPECT_EQ(solve_json({file, "--x0", "x.mtx"})["iterations"], 0);
}

TEST_F(cli_solve, right_hand_sides) {
    const auto forward_error = [&](const std::string& rhs) {
        return solve_json({"poisson2d:8", "--rhs", rhs, "--rtol", "1e-12"})["forward_error"];
    };
    for (const char* rhs : {"solution:ones", "solution:random", "solution:random:7"}) {
        // ||x - x*|| <= cond(A) rtol ||x*|| with cond(A) = cot^2(pi / 18).
        const double condition = std::pow(std::tan(M_PI / 18), -2);
        EXPECT_LE(forward_error(rhs).get<double>(), condition * 1e-12) << rhs;
    }
    EXPECT_TRUE(forward_error("ones").is_null());
    EXPECT_TRUE(forward_error("random").is_null());
    const auto residuals = [&](Words words) {
        words.insert(words.begin(), "poisson2d:8");
        return solve_json(words)["residuals"];
    };
    EXPECT_EQ(residuals({"--rhs", "random:3"}), residuals({"--rhs", "random", "--seed", "3"}));
    EXPECT_EQ(residuals({"--rhs", "random:3"}), residuals({"--rhs", "random:3", "--seed", "4"}));
    EXPECT_NE(residuals({"--rhs", "random:3"}), residuals({"--rhs", "random:4"}));
}

TEST_F(cli_solve, load_is_the_default_where_there_is_one) {
    const auto residuals = [&](Words words) {
        words.insert(words.begin(), "elasticity2d:4");
        return solve_json(words)["residuals"];
    };
    EXPECT_EQ(residuals({}), residuals({"--rhs", "load"}));
    EXPECT_NE(residuals({}), residuals({"--rhs", "ones"}));
    const std::string file = singular_block_file();
    const Outcome outcome = solve({file, "--rhs", "load"});
    EXPECT_EQ(outcome.code, 2);
    expect_contains(outcome.err, "--rhs ones");
}

TEST_F(cli_solve, single_precision_and_side) {
    const Json single = solve_json({"poisson2d:8", "--precision", "f32", "--rtol", "1e-4"});
    const Json twice = solve_json({"poisson2d:8", "--rtol", "1e-4"});
    EXPECT_NE(single["true_relative_residual"], twice["true_relative_residual"]);
    EXPECT_EQ(solve_json({"convection3d:5", "--side", "left"})["status"], "converged");
}

TEST_F(cli_solve, what_single_precision_cannot_represent_is_refused) {
    const std::string banner = "%%MatrixMarket matrix coordinate real general\n2 2 3\n";
    const std::string tiny = write("tiny.mtx", banner + "1 1 1e-60\n1 2 1e-61\n2 2 2e-60\n");
    const std::string small = write("small.mtx", banner + "1 1 1\n1 2 1e-60\n2 2 1\n");
    const std::string b =
        write("b.mtx", "%%MatrixMarket matrix array real general\n2 1\n0\n1e-50\n");
    const auto refused = [&](Words words, const std::string& what) {
        const Outcome outcome = solve(std::move(words));
        EXPECT_EQ(outcome.code, 2) << outcome.out;
        expect_contains(outcome.err, what + " out of range of single precision");
    };
    refused({tiny, "--precision", "f32"}, "value 1e-60 in row 1, column 1 is");
    refused({small, "--precision", "f32", "--rhs", b},
            "value 1e-50 in row 2, the largest of the vector, is");
    refused({"circuit:4,spread=60", "--precision", "f32"}, " is");
    EXPECT_EQ(solve({tiny, "--rhs", b, "--solver", "gmres"}).code, 0);
    EXPECT_EQ(solve({small, "--precision", "f32", "--solver", "gmres"}).code, 0);
}

TEST_F(cli_solve, a_solution_beyond_the_range_is_no_solution) {
    const std::string matrix =
        write("half.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 0.5\n2 2 1\n");
    const std::string b =
        write("large.mtx", "%%MatrixMarket matrix array real general\n2 1\n1.7e308\n1\n");
    const Outcome outcome = solve({matrix, "--rhs", b, "--out", "x.mtx", "--json", "run.json"});
    EXPECT_EQ(outcome.code, 4) << outcome.err;
    EXPECT_EQ(Json::parse(text_of(path("run.json")))["status"], "non_finite");
    expect_contains(outcome.err, "x is never worse than the start");
    EXPECT_EQ(io::read_vector<double>(host(), path("x.mtx")), (std::vector<double>{0, 0}));
}

TEST_F(cli_solve, limits_give_exit_code_3) {
    const Outcome few =
        solve({"poisson2d:20", "--precond", "jacobi", "--max-iterations", "3", "--json", "-"});
    EXPECT_EQ(few.code, 3);
    EXPECT_EQ(Json::parse(few.out)["status"], "max_iterations");
    EXPECT_EQ(Json::parse(few.out)["iterations"], 3);
    const Outcome soon = solve({"poisson2d:20", "--max-seconds", "0", "--json", "-"});
    EXPECT_EQ(soon.code, 3);
    EXPECT_EQ(Json::parse(soon.out)["status"], "max_seconds");
}

TEST_F(cli_solve, singular_block_stops_and_names_the_command_that_works) {
    const std::string file = singular_block_file();
    const Outcome outcome = solve({file, "--solver", "gmres:4", "--precond",
                                   "block_jacobi:2,blocks=uniform:2", "--json", "-"});
    EXPECT_EQ(outcome.code, 4);
    const Json json = Json::parse(outcome.out);
    EXPECT_EQ(json["status"], "singular_block");
    EXPECT_EQ(json["blocks"]["singular"], 1);
    EXPECT_TRUE(json["true_relative_residual"].is_null());
    EXPECT_TRUE(json["residuals"].empty());
    expect_contains(outcome.err, "block 0, rows 0..1");
    const std::size_t at = outcome.err.find("\n  tessera solve ");
    ASSERT_NE(at, std::string::npos) << outcome.err;
    const std::string command = program() + outcome.err.substr(at + 10);
    expect_contains(command, "--precond block_jacobi:2,blocks=uniform:2,singular=shift --json -");
    const Outcome again = wait(start({"/bin/sh", "-c", command}));
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_EQ(Json::parse(again.out)["status"], "converged");
    EXPECT_EQ(Json::parse(again.out)["blocks"]["singular"], 1);
}

TEST_F(cli_solve, singular_jacobi_entry_and_singular_block) {
    const std::string zero = write("zero diagonal.mtx",
                                   "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n"
                                   "2 1 1\n");
    const Outcome jacobi = solve({zero, "--precond=jacobi,singular=stop"});
    EXPECT_EQ(jacobi.code, 4);
    expect_contains(jacobi.err, "2 singular blocks");
    expect_contains(jacobi.err, "'" + zero + "' --precond=jacobi,singular=shift\n");
    const std::string file = write("null.mtx",
                                   "%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 1\n"
                                   "1 2 1\n2 1 1\n2 2 1\n");
    expect_contains(solve({file, "--precond", "block_jacobi:32"}).err,
                    "--precond block_jacobi:32,singular=shift\n");
}

TEST_F(cli_solve, inverse_beyond_its_format_is_rejected) {
    const std::string header = "%%MatrixMarket matrix coordinate real general\n2 2 3\n";
    const std::string tiny = write("tiny.mtx", header + "1 1 1e-9\n1 2 2e-10\n2 2 1e-9\n");
    const std::string tinier = write("tinier.mtx", header + "1 1 1e-42\n1 2 2e-43\n2 2 1e-42\n");
    const Outcome outcome = solve({tinier, "--precond", "block_jacobi:2,precision=f16"});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, "");
    expect_contains(outcome.err, "use precision=adaptive");
    const Json adaptive =
        solve_json({tiny, "--solver", "gmres", "--precond", "block_jacobi:2,precision=adaptive"});
    EXPECT_EQ(adaptive["status"], "converged");
    EXPECT_EQ(adaptive["blocks"]["formats"]["bf16"], 1);
    EXPECT_EQ(adaptive["blocks"]["working_bytes"], 32);
    const Json f16 =
        solve_json({tiny, "--solver", "gmres", "--precond", "block_jacobi:2,precision=f16"});
    EXPECT_EQ(f16["status"], "converged");
    EXPECT_EQ(f16["blocks"]["formats"]["bf16"], 1);
}

TEST_F(cli_solve, several_right_hand_sides_have_one_setup) {
    const std::string b = write("b.txt", "1 2\n0 0\n0 0\n1 2\n");
    const Json json = solve_json({"poisson2d:2", b, "--out", "x.mtx", "--precond", "jacobi"});
    EXPECT_EQ(json["status"], "converged");
    EXPECT_EQ(json["right_hand_sides"], 2);
    EXPECT_EQ(json["solved_right_hand_sides"], 2);
    const auto x = io::read_vectors<double>(host(), path("x.mtx"), 4);
    ASSERT_EQ(x.size(), 8U);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(x[i + 4], 2 * x[i], 1e-8);
    expect_contains(solve({"poisson2d:2", b}).out, "right sides     2, 2 solved");
    EXPECT_EQ(solve({"poisson2d:2", b, "--x0", "x.mtx"}).code, 2);
    EXPECT_EQ(run({"tune", "poisson2d:2", b}).code, 2);
}

TEST_F(cli_solve, known_singular_problem_needs_a_word) {
    const Outcome rejected = solve({"elasticity2d:3,free"});
    EXPECT_EQ(rejected.code, 2);
    expect_contains(rejected.err, "--allow-singular");
    const Outcome tried = solve({"elasticity2d:3,free", "--allow-singular", "--max-iterations", "5",
                                 "--precond", "jacobi"});
    EXPECT_NE(tried.code, 2);
    expect_contains(tried.err, "is singular");
}

TEST_F(cli_solve, solve_that_does_not_fit_says_so_beforehand) {
    // 10^4 vectors of 10^6 entries and a square of 10^4.
    const double needed = 8e10;
    if (double(host().free_memory()) >= needed) GTEST_SKIP() << "it would fit";
    const Outcome outcome = solve({"poisson2d:1000", "--solver", "gmres:10000", "--json", "-"});
    EXPECT_EQ(outcome.code, 6);
    EXPECT_EQ(Json::parse(outcome.out, nullptr, false)["status"], "error");
    expect_contains(outcome.err, "vectors 80.9 GB");
    expect_contains(outcome.err, "free on the CPU");
}

TEST_F(cli_solve, restart_may_exceed_the_rows) {
    EXPECT_EQ(solve_json({"poisson2d:3", "--solver", "gmres:30"})["solver"], "gmres:30");
    EXPECT_EQ(solve({"poisson2d:3", "--solver", "gmres"}).code, 0);
    EXPECT_EQ(solve({"poisson2d:3", "--solver", "gmres:10001"}).code, 2);
}

TEST_F(cli_solve, matrix_without_nonzeros_is_rejected) {
    const std::string empty =
        write("empty.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 0\n");
    const Outcome outcome = solve({empty});
    EXPECT_EQ(outcome.code, 2);
    expect_contains(outcome.err, "has no nonzeros");
    EXPECT_EQ(outcome.err.find("shift"), std::string::npos);
    const Outcome info = run({"info", empty});
    EXPECT_EQ(info.code, 0);
    expect_contains(info.out, "no nonzeros");
    EXPECT_EQ(info.out.find("Try"), std::string::npos);
}

TEST_F(cli_solve, matrix_without_rows) {
    const std::string none =
        write("none.mtx", "%%MatrixMarket matrix coordinate real general\n0 0 0\n");
    const Outcome outcome = solve({none, "--out", path("x.mtx")});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    expect_contains(outcome.out, "converged in 0 iterations");
    EXPECT_EQ(io::read_vector<double>(host(), path("x.mtx")), std::vector<double>{});
}

TEST_F(cli_solve, both_triangles_of_a_symmetric_file_are_named) {
    const std::string head = "%%MatrixMarket matrix coordinate real symmetric\n2 2 ";
    const std::string both = write("both.mtx", head + "4\n1 1 4\n1 2 1\n2 1 1\n2 2 4\n");
    const Outcome outcome = solve({both});
    EXPECT_EQ(outcome.code, 0);
    expect_contains(outcome.err, "1 of its entries repeat others");
    EXPECT_EQ(solve({both, "--quiet"}).err, "");
    const std::string one = write("one.mtx", head + "3\n1 1 4\n1 2 1\n2 2 4\n");
    EXPECT_EQ(solve({one}).err, "");
}

TEST_F(cli_solve, an_empty_row_is_named) {
    const std::string file =
        write("rows.mtx",
              "%%MatrixMarket matrix coordinate real general\n4 4 4\n1 1 2\n1 3 1\n3 3 2\n4 4 1\n");
    const Words words{file, "--precond", "jacobi,singular=identity", "--solver", "gmres"};
    Words solvable = words;
    solvable.insert(solvable.end(), {"--rhs", "solution:ones"});
    const std::string note = "tessera: row 1 (counted from 0) of '" + file + "' is empty";
    const Outcome solved = solve(solvable);
    EXPECT_EQ(solved.code, 0) << solved.out;
    expect_contains(solved.err, note);
    const Outcome unsolvable = solve(words);
    EXPECT_NE(unsolvable.code, 0);
    expect_contains(unsolvable.err, note);
    const std::string whole =
        write("last.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 2\n");
    expect_contains(solve({whole, "--precond", "jacobi,singular=identity"}).err, "row 1 ");
    EXPECT_EQ(solve({"poisson2d:4"}).err, "");
}

TEST_F(cli_solve, x_of_a_solve_that_does_not_converge_is_explained) {
    const Outcome outcome =
        solve({"poisson2d:20", "--precond", "jacobi", "--max-iterations", "1", "--out", "x.mtx"});
    EXPECT_EQ(outcome.code, 3);
    expect_contains(outcome.err, "the start; it was written to x.mtx\n");
    const Outcome singular = solve({"elasticity2d:4,free", "--allow-singular", "--rhs", "ones",
                                    "--precond", "jacobi", "--solver", "cg"});
    EXPECT_NE(singular.code, 0);
    expect_contains(singular.out, "A is singular");
    EXPECT_EQ(singular.out.find("use idr"), std::string::npos);
}

TEST_F(cli_solve, results_survive_one_that_cannot_be_written) {
    const Outcome outcome = solve({"poisson2d:4", "--json", "/dev/full", "--out", "x.mtx"});
    EXPECT_EQ(outcome.code, 2);
    expect_contains(outcome.err, "/dev/full: cannot be written");
    EXPECT_TRUE(outcome.out.starts_with("converged"));
    EXPECT_EQ(io::read_vector<double>(host(), path("x.mtx")).size(), 16u);
}

TEST_F(cli_solve, bar_is_erased) {
    EXPECT_EQ(solve({"poisson2d:4", "--monitor", "bar"}).err, "");
    Outcome outcome = solve({"poisson2d:100", "--monitor", "bar", "--solver", "richardson",
                             "--precond", "jacobi", "--rtol", "1e-14", "--stagnation-window", "0",
                             "--max-iterations", "1000000000", "--max-seconds", "1"});
    EXPECT_EQ(outcome.code, 3);
    const std::size_t note = outcome.err.find("tessera: x is ");
    ASSERT_NE(note, std::string::npos) << outcome.err;
    outcome.err.resize(note);
    EXPECT_TRUE(outcome.err.starts_with("\r[")) << outcome.err;
    const std::size_t last = outcome.err.rfind('\r', outcome.err.size() - 2);
    ASSERT_NE(last, std::string::npos);
    EXPECT_EQ(outcome.err.find_first_not_of(' ', last + 1), outcome.err.size() - 1);
    EXPECT_EQ(outcome.err.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace tessera::test
