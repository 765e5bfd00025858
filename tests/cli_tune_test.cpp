#include <chrono>
#include <map>
#include <regex>
#include <set>
#include <thread>

#include "support/command_line.hpp"

namespace tessera::test {
namespace {

class cli_tune : public CommandLineTest {
  protected:
    Outcome tune(Words words) const {
        words.insert(words.begin(), {"tune", "--device", "cpu", "--threads", "2"});
        return run(words);
    }

    /// Interrupts a program after it printed something on stderr.
    Outcome interrupt_after(pid_t child, const std::string& said) const {
        const auto begin = std::chrono::steady_clock::now();
        while (text_of(path("stderr")).find(said) == std::string::npos &&
               std::chrono::steady_clock::now() - begin < std::chrono::seconds(60)) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        ::kill(child, SIGINT);
        return wait(child);
    }
};

TEST_F(cli_tune, its_command_solves_the_system) {
    const Outcome outcome = tune({"elasticity2d:12", "--bounds", "4,8,1", "--json", "t.json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json report = Json::parse(text_of(path("t.json")));
    EXPECT_EQ(report["schema"], "tessera-tune/1");
    EXPECT_TRUE(report["converged"]);
    const std::string command = report["command"];
    expect_contains(outcome.out, "The fastest:\n  " + command + "\n");
    std::istringstream stream(command);
    Words words;
    for (std::string word; stream >> word;) words.push_back(word);
    ASSERT_EQ(words.front(), "tessera");
    words.erase(words.begin());
    const Outcome solved = run(words);
    EXPECT_EQ(solved.code, 0) << solved.err;
    expect_contains(solved.out, "converged in");
    // The fastest of all trials, and every bound was tried.
    double best = std::numeric_limits<double>::infinity();
    std::string name;
    for (const Json& trial : report["trials"]) {
        if (trial["status"] == "converged" && trial["total_seconds"] < best) {
            best = trial["total_seconds"];
            name = trial["preconditioner"];
        }
    }
    EXPECT_EQ(report["best"], name);
    EXPECT_EQ(report["trials"][0]["preconditioner"], "block_jacobi:4");
    EXPECT_EQ(report["trials"][1]["preconditioner"], "block_jacobi:8");
    EXPECT_EQ(report["trials"][2]["preconditioner"], "jacobi");
    EXPECT_TRUE(report["not_tried"].empty());
}

TEST_F(cli_tune, tries_every_blocking_and_precision_of_every_bound) {
    const Outcome outcome = tune({"elasticity2d:12", "--bounds", "4,8,1", "--json", "-"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    std::set<std::string> tried;
    const Json report = Json::parse(outcome.out);
    for (const Json& trial : report["trials"]) tried.insert(trial["preconditioner"]);
    std::set<std::string> expected = {"jacobi"};
    for (const std::string bound : {"block_jacobi:4", "block_jacobi:8"}) {
        for (const char* options : {"", ",precision=adaptive"}) expected.insert(bound + options);
    }
    EXPECT_EQ(tried, expected);
}

/// The texts of the trials whose preconditioner is block_ldlt, by solver.
std::map<std::string, std::set<std::string>> ldlt_trials(const Json& report) {
    std::map<std::string, std::set<std::string>> tried;
    for (const Json& trial : report["trials"]) {
        const std::string text = trial["preconditioner"];
        if (text.starts_with("block_ldlt")) tried[trial["solver"]].insert(text);
    }
    return tried;
}

const std::set<std::string> ldlt_settings = {
    "block_ldlt:8",         "block_ldlt:8,method=level",        "block_ldlt:16",
    "block_ldlt:8,fill=1",  "block_ldlt:8,fill=1,method=level", "block_ldlt:16,method=level",
    "block_ldlt:16,fill=1", "block_ldlt:16,fill=1,method=level"};

TEST_F(cli_tune, block_ldlt_comes_first_where_the_diagonal_is_not_positive) {
    // Too few iterations for every block Jacobi.
    const Outcome outcome =
        tune({"kkt:300", "--bounds", "4,1", "--max-iterations", "40", "--json", "-"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json report = Json::parse(outcome.out);
    EXPECT_EQ(report["trials"][0]["preconditioner"], "block_ldlt:8");
    const auto tried = ldlt_trials(report);
    EXPECT_EQ(tried.at("sqmr"), ldlt_settings);
    EXPECT_EQ(tried.at("gmres:25").size(), 1u);
    EXPECT_EQ(tried.size(), 2u);
    EXPECT_EQ(report["trials"][9]["preconditioner"], "block_jacobi:4");
    EXPECT_EQ(report["trials"][9]["solver"], "idr:4");
    const std::string best = report["best"];
    EXPECT_TRUE(ldlt_settings.contains(best)) << best;
    const std::string solver = report["solver"];
    expect_contains(report["command"], "--solver " + solver + " --precond " + best);
    const Outcome solved =
        run({"solve", "kkt:300", "--device", "cpu", "--solver", solver, "--precond", best});
    EXPECT_EQ(solved.code, 0) << solved.err;
}

TEST_F(cli_tune, block_ldlt_is_tried_where_block_jacobi_fails_on_a_symmetric_matrix) {
    // Indefinite with a positive diagonal: 1 on it, 2 beside it.
    std::ostringstream matrix;
    matrix << "%%MatrixMarket matrix coordinate real symmetric\n40 40 79\n1 1 1\n";
    for (int row = 2; row <= 40; ++row) {
        matrix << row << " " << row - 1 << " 2\n" << row << " " << row << " 1\n";
    }
    const std::string file = write("indefinite.mtx", matrix.str());
    const Outcome outcome = tune({file, "--bounds", "1,4", "--json", "t.json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json report = Json::parse(text_of(path("t.json")));
    EXPECT_EQ(report["trials"][0]["preconditioner"], "jacobi");
    EXPECT_EQ(report["trials"][0]["solver"], "cg");
    EXPECT_EQ(report["trials"][0]["status"], "breakdown");
    EXPECT_EQ(report["trials"][1]["preconditioner"], "block_ldlt:8");
    EXPECT_EQ(ldlt_trials(report).at("sqmr"), ldlt_settings);
    expect_contains(outcome.out, " solver  ");
    expect_contains(outcome.out, " sqmr  ");
}

TEST_F(cli_tune, block_ldlt_takes_the_solver_that_was_asked_for) {
    for (const std::string solver : {"gmres:40", "minres"}) {
        const Outcome outcome =
            tune({"kkt:100", "--bounds", "4", "--solver", solver, "--json", "-"});
        ASSERT_EQ(outcome.code, 0) << outcome.err;
        const auto tried = ldlt_trials(Json::parse(outcome.out));
        EXPECT_EQ(tried.size(), 1u);
        EXPECT_EQ(tried.at(solver).size(), ldlt_settings.size());
        for (const std::string& text : tried.at(solver)) {
            EXPECT_EQ(text.ends_with(",positive_definite"), solver == "minres") << text;
        }
    }
    const Outcome left = tune({"kkt:100", "--bounds", "4", "--side", "left", "--json", "-"});
    EXPECT_EQ(ldlt_trials(Json::parse(left.out)).size(), 1u);
    EXPECT_TRUE(ldlt_trials(Json::parse(left.out)).contains("gmres:25"));
}

TEST_F(cli_tune, block_ldlt_is_for_symmetric_matrices_in_the_time_there_is) {
    const Outcome other =
        tune({"convection3d:6", "--bounds", "1", "--max-iterations", "2", "--json", "-"});
    EXPECT_EQ(other.code, 3);
    EXPECT_TRUE(ldlt_trials(Json::parse(other.out)).empty());
    const Outcome late = tune({"kkt:100", "--bounds", "1", "--seconds", "0", "--json", "-"});
    EXPECT_EQ(late.code, 3);
    const Json report = Json::parse(late.out);
    EXPECT_TRUE(report["trials"].empty());
    EXPECT_EQ(report["not_tried"][0],
              Json({{"preconditioner", "block_ldlt:8"}, {"solver", "sqmr"}}));
    EXPECT_EQ(report["not_tried"].back(),
              Json({{"preconditioner", "jacobi"}, {"solver", "idr:4"}}));
}

TEST_F(cli_tune, out_of_time_is_no_reason_for_block_ldlt) {
    // Millions of iterations of richardson.
    const Outcome outcome = tune({"tridiagonal:2000", "--solver", "richardson", "--rtol", "1e-14",
                                  "--max-iterations", "1000000000", "--stagnation-window", "0",
                                  "--bounds", "4,1", "--seconds", "0.3", "--json", "-"});
    EXPECT_EQ(outcome.code, 3) << outcome.err;
    const Json report = Json::parse(outcome.out);
    EXPECT_EQ(report["trials"][0]["status"], "max_seconds");
    EXPECT_EQ(report["best"].get<std::string>().find("block_ldlt"), std::string::npos);
    for (const char* list : {"trials", "not_tried"}) {
        for (const Json& trial : report[list]) {
            const std::string text = trial["preconditioner"];
            EXPECT_FALSE(text.starts_with("block_ldlt")) << list << ": " << text;
        }
    }
}

TEST_F(cli_tune, matrices_symmetric_up_to_rounding_take_cg) {
    // (2, 1) is negligible, and (1, 2) is not stored.
    const std::string file = write("rounded.mtx",
                                   "%%MatrixMarket matrix coordinate real general\n3 3 6\n1 1 2\n"
                                   "2 1 1e-17\n2 2 2\n2 3 0.1\n3 2 0.10000000000000002\n3 3 2\n");
    const Outcome outcome = tune({file, "--bounds", "1", "--json", "-"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(Json::parse(outcome.out)["solver"], "cg");
    expect_contains(run({"solve", file, "--device", "cpu"}).out, "solver          cg");
    const Outcome info = run({"info", file});
    expect_contains(info.out, "cpu   cg with ");
    expect_contains(info.out, "pattern no, values up to rounding\n");
    EXPECT_EQ(
        run({"solve", file, "--device", "cpu", "--solver", "sqmr", "--precond", "block_ldlt:4"})
            .code,
        0);
}

TEST_F(cli_tune, its_command_has_what_was_asked) {
    const Outcome outcome =
        tune({"elasticity2d:4,free", "--allow-singular", "--rhs", "solution:random", "--seed", "7",
              "--stagnation-window", "100", "--bounds", "4", "--json", "-"});
    const std::string command = Json::parse(outcome.out)["command"];
    for (const char* part : {"--rhs solution:random", "--seed 7", "--stagnation-window 100",
                             "--allow-singular", "--threads 2", "--device cpu"}) {
        expect_contains(command, std::string(" ") + part);
    }
}

TEST_F(cli_tune, tries_the_same_blocks_once) {
    const Outcome outcome = tune({"tridiagonal:40", "--bounds", "8,1", "--json", "-"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Outcome again = tune({"elasticity3d:4", "--bounds", "3,4,5", "--json", "-"});
    ASSERT_EQ(again.code, 0) << again.err;
    const Json trials = Json::parse(again.out)["trials"];
    EXPECT_EQ(trials[1]["status"], "same blocks as block_jacobi:3");
    EXPECT_EQ(trials[2]["status"], "same blocks as block_jacobi:3");
}

TEST_F(cli_tune, singular_blocks_are_shifted) {
    const Outcome outcome =
        tune({singular_block_file(), "--bounds", "2", "--solver", "gmres", "--json", "-"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json report = Json::parse(outcome.out);
    EXPECT_EQ(report["trials"][0]["status"], "singular_block");
    EXPECT_EQ(report["trials"][1]["preconditioner"], "block_jacobi:2,singular=shift");
}

TEST_F(cli_tune, says_when_nothing_converges_and_when_the_time_is_up) {
    const Outcome outcome = tune({"poisson2d:40", "--bounds", "4,1", "--max-iterations", "2"});
    EXPECT_EQ(outcome.code, 3);
    expect_contains(outcome.out, "None converged; the smallest residual");
    const Outcome late = tune({"poisson2d:40", "--seconds", "0"});
    EXPECT_EQ(late.code, 3);
    expect_contains(late.out, "not tried: there was no time left");
    expect_contains(late.out, "No trial could be run.");
    // The time ends in the first setup.
    const Outcome short_time = tune({"poisson2d:100", "--seconds", "1e-4"});
    EXPECT_EQ(short_time.code, 3) << short_time.err;
    expect_contains(short_time.out, "not tried: there was no time left");
    const Outcome wrong = tune({"poisson2d:40", "--bounds", "0"});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_EQ(wrong.out, "");
}

TEST_F(cli_tune, refinement_is_rejected_before_anything_is_read) {
    const Outcome outcome = tune({"nowhere.mtx", "--solver", "refinement:minres"});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, "");
    expect_contains(outcome.err, "tune does not try --solver refinement");
}

TEST_F(cli_tune, interrupt_ends_it_with_what_is_known) {
    // A singular block, which is reported at once, and a system with endless iterations of
    // richardson.
    const int rows = 2000;
    std::ostringstream matrix;
    matrix << "%%MatrixMarket matrix coordinate real symmetric\n"
           << rows << " " << rows << " " << 2 * rows - 2 << "\n1 1 1\n2 1 1\n2 2 1\n3 3 2\n";
    for (int row = 4; row <= rows; ++row) {
        matrix << row << " " << row - 1 << " -1\n" << row << " " << row << " 2\n";
    }
    const pid_t child =
        start({program(), "tune", write("slow.mtx", matrix.str()), "--device", "cpu", "--threads",
               "1", "--solver", "richardson", "--rtol", "1e-14", "--max-iterations", "1000000000",
               "--stagnation-window", "0", "--seconds", "600", "--bounds", "2,4"});
    ASSERT_GT(child, 0);
    const Outcome outcome = interrupt_after(child, "singular_block");
    EXPECT_EQ(outcome.code, 130) << outcome.err;
    expect_contains(outcome.out, "  singular_block\n");
    expect_contains(outcome.out, "not tried: interrupted\n");
}

TEST_F(cli_tune, interrupt_says_at_once_what_it_waits_for) {
    // Setups and solves of block_ldlt, one after the other, that take many seconds together.
    const pid_t child = start({program(), "tune", "kkt:10000", "--device", "cpu", "--threads", "1",
                               "--bounds", "1", "--seconds", "600"});
    ASSERT_GT(child, 0);
    const Outcome outcome = interrupt_after(child, " iterations\n");
    EXPECT_EQ(outcome.code, 130) << outcome.err;
    const std::regex said(
        "tessera: interrupted while (solving with block_ldlt:[^;]*; the results so far follow|"
        "setting up block_ldlt:[^;]*; the results so far follow after this setup "
        "\\(Ctrl-C again ends at once, without results\\))\n");
    EXPECT_TRUE(std::regex_search(outcome.err, said)) << outcome.err;
    expect_contains(outcome.out, "The fastest:\n");
}

}  // namespace
}  // namespace tessera::test
