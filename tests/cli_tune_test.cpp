#include "support/command_line.hpp"

namespace tessera {
namespace {

using Json = nlohmann::json;
using test::expect_contains;
using test::Outcome;
using test::Words;

class cli_tune : public test::CommandLineTest {
  protected:
    Outcome tune(Words words) const {
        words.insert(words.begin(), {"tune", "--device", "cpu", "--threads", "2"});
        return run(words);
    }
};

TEST_F(cli_tune, its_command_solves_the_system) {
    const Outcome outcome = tune({"elasticity2d:12", "--bounds", "4,8,1", "--json", "t.json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json report = Json::parse(test::text_of(path("t.json")));
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
    // The fastest of all, and every bound was tried.
    double best = std::numeric_limits<double>::infinity();
    std::string name;
    for (const Json& trial : report["trials"]) {
        if (trial["verdict"] == "converged" && trial["total_seconds"] < best) {
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

TEST_F(cli_tune, tries_the_same_blocks_once) {
    const Outcome outcome = tune({"tridiagonal:40", "--bounds", "8,1", "--json", "-"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Outcome again = tune({"elasticity3d:4", "--bounds", "3,4,5", "--json", "-"});
    ASSERT_EQ(again.code, 0) << again.err;
    const Json trials = Json::parse(again.out)["trials"];
    EXPECT_EQ(trials[1]["verdict"], "same blocks as block_jacobi:3");
    EXPECT_EQ(trials[2]["verdict"], "same blocks as block_jacobi:3");
}

TEST_F(cli_tune, singular_blocks_are_shifted) {
    const Outcome outcome =
        tune({singular_block_file(), "--bounds", "2", "--solver", "gmres", "--json", "-"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json report = Json::parse(outcome.out);
    EXPECT_EQ(report["trials"][0]["verdict"], "singular_block");
    EXPECT_EQ(report["trials"][1]["preconditioner"], "block_jacobi:2,singular=shift");
}

TEST_F(cli_tune, says_when_nothing_converges_and_when_the_time_is_up) {
    const Outcome outcome = tune({"poisson2d:40", "--bounds", "4,1", "--max-iterations", "2"});
    EXPECT_EQ(outcome.code, 3);
    expect_contains(outcome.out, "None converged; the smallest residual");
    const Outcome late = tune({"poisson2d:40", "--seconds", "0"});
    EXPECT_EQ(late.code, 3);
    expect_contains(late.out, "not tried: there was no time left");
    expect_contains(late.out, "Nothing could be tried.");
    const Outcome wrong = tune({"poisson2d:40", "--bounds", "0"});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_EQ(wrong.out, "");
}

}  // namespace
}  // namespace tessera
