#include <regex>
#include <set>

#include "support/command_line.hpp"

namespace tessera::test {
namespace {

class cli_tune : public CommandLineTest {
  protected:
    Outcome tune(Words words) const {
        words.insert(words.begin(), {"tune", "--device", "cpu", "--threads", "2"});
        return run(words);
    }
};

std::string words_of(const Json& way) {
    return way["solver"].get<std::string>() + " " + way["preconditioner"].get<std::string>() + " " +
           way["format"].get<std::string>();
}

std::set<std::string> tried(const Json& report) {
    std::set<std::string> all;
    for (const Json& trial : report["trials"]) all.insert(words_of(trial));
    return all;
}

TEST_F(cli_tune, its_command_solves_the_system) {
    const Outcome outcome = tune({"elasticity2d:12", "--json", "t.json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json report = Json::parse(text_of(path("t.json")));
    EXPECT_EQ(report["schema"], "tessera-tune/2");
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
    // The fastest of all trials.
    double best = std::numeric_limits<double>::infinity();
    std::string name;
    for (const Json& trial : report["trials"]) {
        if (trial["status"] == "converged" && trial["total_seconds"] < best) {
            best = trial["total_seconds"];
            name = words_of(trial);
        }
    }
    EXPECT_EQ(words_of(report["best"]), name);
    EXPECT_TRUE(report["not_tried"].empty());
}

TEST_F(cli_tune, tries_auto_first_then_other_preconditioners_and_formats) {
    const Outcome outcome = tune({"elasticity2d:12", "--json", "-"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json report = Json::parse(outcome.out);
    const auto all = tried(report);
    for (const char* way : {"cg jacobi csr", "cg jacobi sbell:2", "fcg amg csr", "fcg amg sbell:2",
                            "cg chebyshev:6,precision=f32,values=f16 sbell:2",
                            "cg block_ldlt:16,fill=2,method=level,positive_definite csr"}) {
        EXPECT_TRUE(all.contains(way)) << way;
    }
    EXPECT_TRUE(report["trials"][0]["auto"]);
    int automatic = 0, repeated = 0;
    for (const Json& trial : report["trials"]) {
        automatic += trial["auto"] == true;
        repeated += trial["runs"] >= 3;
    }
    EXPECT_EQ(automatic, 1);
    EXPECT_GE(repeated, 2) << "the two fastest";
}

TEST_F(cli_tune, ways_for_indefinite_matrices) {
    const Outcome outcome = tune({"kkt:300", "--json", "-"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto all = tried(Json::parse(outcome.out));
    EXPECT_TRUE(all.contains("minres none csr"));
    EXPECT_TRUE(all.contains("sqmr block_ldlt:8 csr"));
    EXPECT_TRUE(all.contains("gmres:50 block_ldlt:16,fill=2,method=level csr"));
    EXPECT_FALSE(all.contains("fcg amg csr"));
}

TEST_F(cli_tune, a_positive_diagonal_does_not_make_a_matrix_definite) {
    // 1 on the diagonal, 2 beside it.
    std::ostringstream matrix;
    matrix << "%%MatrixMarket matrix coordinate real symmetric\n40 40 79\n1 1 1\n";
    for (int row = 2; row <= 40; ++row) {
        matrix << row << " " << row - 1 << " 2\n" << row << " " << row << " 1\n";
    }
    const std::string file = write("indefinite.mtx", matrix.str());
    // Without auto, which solves it, nothing for definite matrices converges.
    const Outcome outcome = tune({file, "--solver", "sqmr", "--json", "t.json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(tune({file}).code, 0);
}

TEST_F(cli_tune, keeps_the_words_that_are_given) {
    const Outcome outcome = tune({"kkt:100", "--solver", "minres", "--json", "-"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json report = Json::parse(outcome.out);
    for (const Json& trial : report["trials"]) EXPECT_EQ(trial["solver"], "minres");
    const Outcome one = tune({"poisson2d:10", "--solver", "cg", "--precond", "jacobi", "--format",
                              "csr", "--json", "-"});
    ASSERT_EQ(one.code, 0) << one.err;
    EXPECT_EQ(tried(Json::parse(one.out)), std::set<std::string>{"cg jacobi csr"});
    EXPECT_EQ(Json::parse(one.out)["trials"].size(), 1u);
}

TEST_F(cli_tune, says_why_a_trial_could_not_be_run) {
    const Outcome outcome = tune({"kkt:100", "--side", "left", "--json", "t.json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    expect_contains(outcome.out, "this solver does not support left preconditioning");
    const Json report = Json::parse(text_of(path("t.json")));
    EXPECT_TRUE(words_of(report["best"]).starts_with("richardson direct"));
    EXPECT_EQ(report["trials"][0]["status"], "converged");
    expect_contains(outcome.out, "gmres:50        block_ldlt");
    expect_contains(report["command"], "--side left");
}

TEST_F(cli_tune, auto_solves_from_the_left) {
    const Outcome outcome = tune({"poisson2d:20", "--side", "left", "--json", "-"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json choice = Json::parse(outcome.out)["trials"][0];
    EXPECT_TRUE(choice["auto"]);
    EXPECT_EQ(choice["status"], "converged");
    EXPECT_EQ(choice["solver"], "richardson");
}

TEST_F(cli_tune, saves_options_for_solve) {
    const Outcome outcome =
        tune({"elasticity2d:12", "--precond", "block_jacobi:8", "--save", "./o.json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json saved = Json::parse(text_of(path("o.json")));
    EXPECT_EQ(saved["schema"], "tessera-options/1");
    EXPECT_EQ(saved["matrix"], "elasticity2d:12");
    const Outcome solved = solve({"elasticity2d:20", "--config", "./o.json"});
    EXPECT_EQ(solved.code, 0) << solved.err;
    expect_contains(solved.out, "preconditioner  block_jacobi:8");
    // A word on the command line comes before a saved one.
    expect_contains(solve({"elasticity2d:20", "--config", "./o.json", "--precond", "jacobi"}).out,
                    "preconditioner  jacobi");
}

/// What took a minute to measure is not lost with a file that cannot be written.
TEST_F(cli_tune, a_full_disk_costs_one_output) {
    const Outcome outcome = tune(
        {"poisson2d:4", "--precond", "jacobi", "--json", "/dev/full", "--save", "./kept.json"});
    EXPECT_EQ(outcome.code, 2);
    expect_contains(outcome.err, "/dev/full: cannot be written");
    expect_contains(outcome.out, "The fastest:\n  tessera solve poisson2d:4");
    EXPECT_EQ(run({"solve", "poisson2d:4", "--config", "./kept.json"}).code, 0);
}

TEST_F(cli_tune, saved_options_have_names_in_the_folder_of_the_user) {
    ::setenv("XDG_CONFIG_HOME", path("settings").c_str(), 1);
    const Outcome outcome = tune({"poisson2d:10", "--precond", "jacobi", "--save", "plate-1"});
    const Outcome solved = solve({"poisson2d:12", "--config", "plate-1"});
    const Outcome unknown = solve({"poisson2d:12", "--config", "plate-2"});
    ::unsetenv("XDG_CONFIG_HOME");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_FALSE(text_of(path("settings/tessera/plate-1.json")).empty());
    EXPECT_EQ(solved.code, 0) << solved.err;
    EXPECT_EQ(unknown.code, 2);
    expect_contains(unknown.err, "plate-2.json' cannot be read; tessera tune A --save NAME");
}

TEST_F(cli_tune, saved_options_that_are_none) {
    for (const char* name : {"", "..", "a b", "a\n"}) {
        const Outcome outcome = tune({"poisson2d:4", "--save", name});
        EXPECT_EQ(outcome.code, 2) << outcome.err;
    }
    const Outcome nowhere = tune({"poisson2d:4", "--save", "./no/such/folder.json"});
    EXPECT_EQ(nowhere.code, 2);
    EXPECT_EQ(nowhere.out, "");
    for (const char* text :
         {"", "[]", "{}", "{\"schema\": \"tessera-run/2\"}", "{\"schema\": 3}"}) {
        const std::string file = write("wrong.json", text);
        const Outcome outcome = solve({"poisson2d:4", "--config", file});
        EXPECT_EQ(outcome.code, 2) << text;
        expect_contains(outcome.err, "--config: '");
    }
    const std::string file = write("./bad.json",
                                   "{\"schema\": \"tessera-options/1\", \"solver\": \"cgg\", "
                                   "\"preconditioner\": \"auto\", \"format\": \"auto\", \"side\": "
                                   "\"right\", \"matrix\": \"a\", \"device\": \"cuda\"}");
    const Outcome outcome = solve({"poisson2d:4", "--config", file});
    EXPECT_EQ(outcome.code, 2);
    expect_contains(outcome.err, "unknown solver 'cgg'");
}

TEST_F(cli_tune, matrices_symmetric_up_to_rounding_take_cg) {
    // (2, 1) is negligible, and (1, 2) is not stored.
    const std::string file = write("rounded.mtx",
                                   "%%MatrixMarket matrix coordinate real general\n3 3 6\n1 1 2\n"
                                   "2 1 1e-17\n2 2 2\n2 3 0.1\n3 2 0.10000000000000002\n3 3 2\n");
    const Outcome outcome = tune({file, "--precond", "jacobi", "--json", "-"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(Json::parse(outcome.out)["trials"][0]["solver"], "cg");
    expect_contains(run({"solve", file, "--device", "cpu", "--precond", "jacobi"}).out,
                    "solver          cg");
    const Outcome info = run({"info", file});
    expect_contains(info.out, "then  cg with ");
    expect_contains(info.out, "pattern no, values up to rounding\n");
    EXPECT_EQ(
        run({"solve", file, "--device", "cpu", "--solver", "sqmr", "--precond", "block_ldlt:4"})
            .code,
        0);
}

TEST_F(cli_tune, its_command_has_what_was_asked) {
    const Outcome outcome =
        tune({"elasticity2d:4,free", "--allow-singular", "--rhs", "solution:random", "--seed", "7",
              "--stagnation-window", "100", "--precond", "block_jacobi:4", "--json", "-"});
    const std::string command = Json::parse(outcome.out)["command"];
    for (const char* part : {"--rhs solution:random", "--seed 7", "--stagnation-window 100",
                             "--allow-singular", "--threads 2", "--device cpu"}) {
        expect_contains(command, std::string(" ") + part);
    }
}

TEST_F(cli_tune, says_when_nothing_converges_and_when_the_time_is_up) {
    const Outcome outcome = tune({"poisson2d:40", "--precond", "jacobi", "--max-iterations", "2"});
    EXPECT_EQ(outcome.code, 3);
    expect_contains(outcome.out, "None converged; the smallest residual");
    EXPECT_EQ(outcome.out.find("--seconds"), std::string::npos) << outcome.out;
    const Outcome late = tune({"poisson2d:40", "--seconds", "0"});
    EXPECT_EQ(late.code, 3);
    expect_contains(late.out, "not tried: there was no time left");
    expect_contains(late.out, "No trial could be run.\nGive more time with --seconds.\n");
    // Ways for indefinite matrices would follow if none had converged in time.
    EXPECT_EQ(late.out.find("sqmr"), std::string::npos) << late.out;
    // The time ends in the first setup.
    const Outcome short_time = tune({"poisson2d:100", "--seconds", "1e-4"});
    EXPECT_EQ(short_time.code, 3) << short_time.err;
    expect_contains(short_time.out, "not tried: there was no time left");
    const Outcome wrong = tune({"poisson2d:40", "--seconds", "-1"});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_EQ(wrong.out, "");
}

TEST_F(cli_tune, interrupt_ends_it_with_what_is_known) {
    // Endless iterations of richardson.
    const pid_t child =
        start({program(), "tune", "tridiagonal:2000", "--device", "cpu", "--threads", "1",
               "--solver", "richardson", "--precond", "jacobi", "--rtol", "1e-14",
               "--max-iterations", "1000000000", "--stagnation-window", "0", "--seconds", "600"});
    ASSERT_GT(child, 0);
    const Outcome outcome = interrupt_after(child, "Ctrl-C ends it with the results so far");
    EXPECT_EQ(outcome.code, 130) << outcome.err;
    expect_contains(outcome.err, "the results so far follow");
    expect_contains(outcome.out, "not tried: interrupted\n");
}

TEST_F(cli_tune, interrupt_says_at_once_what_it_waits_for) {
    // Setups and solves, one after the other, that take many seconds together.
    const pid_t child = start(
        {program(), "tune", "kkt:10000", "--device", "cpu", "--threads", "1", "--seconds", "600"});
    ASSERT_GT(child, 0);
    const Outcome outcome = interrupt_after(child, " iterations\n");
    EXPECT_EQ(outcome.code, 130) << outcome.err;
    const std::regex said(
        "tessera: interrupted while (solving with [^;]*; the results so far follow|"
        "setting up [^;]*; the results so far follow)\n");
    EXPECT_TRUE(std::regex_search(outcome.err, said)) << outcome.err;
    expect_contains(outcome.out, "The fastest:\n");
}

}  // namespace
}  // namespace tessera::test
