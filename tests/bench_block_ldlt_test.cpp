#include <nlohmann/json.hpp>
#include <thread>

#include "support/command_line.hpp"

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;
using test::expect_contains;
using test::Outcome;
using test::Words;

/// tessera-bench block_ldlt and the result files that it continues.
class bench_block_ldlt : public test::ProgramTest {
  protected:
    void SetUp() override {
        ProgramTest::SetUp();
        if (!IsSkipped() && !std::filesystem::exists(bench())) {
            GTEST_SKIP() << "this build has no tessera-bench, which needs OpenMP";
        }
    }

    static std::string bench() { return test::program() + "-bench"; }

    static Words command(Words words) {
        words.insert(words.begin(), {bench(), "block_ldlt", "kkt:200", "--device", "cpu",
                                     "--threads", "2", "--seconds", "0"});
        return words;
    }

    Outcome measure(const Words& words) const { return wait(start(command(words))); }

    /// Runs until SIGALRM or another signal: no residual is as small.
    static Words endless(Words words) {
        words.insert(words.begin(), {"--way", "none", "--measure", "solve", "--rtol", "1e-300",
                                     "--max-iterations", "20000000", "--json", "f"});
        return words;
    }

    Json document() const { return Json::parse(test::text_of(path("f")), nullptr, false); }

    Json first_row() const {
        const Json found = document();
        return found.is_object() && !found["rows"].empty() ? found["rows"][0] : Json();
    }
};

TEST_F(bench_block_ldlt, exact_reconstruction_errors) {
    const auto error_with = [&](const std::string& way) {
        EXPECT_EQ(measure({"--way", way, "--measure", "reconstruction", "--json", "f"}).code, 0);
        const Json row = first_row();
        return row["reconstruction"].is_number() ? row["reconstruction"].get<double>() : -1;
    };
    // With full fill and no pivot raised only rounding errors are left.
    const double complete = error_with("block_ldlt:4,fill=1000,method=level");
    EXPECT_GE(complete, 0);
    EXPECT_LT(complete, 1e-11);
    EXPECT_GT(error_with("block_ldlt:4,sweeps=8,safeguard=off"), 1e-3);
}

TEST_F(bench_block_ldlt, rows_of_other_settings_are_rejected) {
    const Words first = {"--way", "block_ldlt:4", "--json", "f"};
    ASSERT_EQ(measure(first).code, 0);
    const std::string before = test::text_of(path("f"));
    const auto rejected = [&](const Words& other, const std::string& field) {
        Words words = {"--way", "none", "--json", "f", "--resume"};
        words.insert(words.end(), other.begin(), other.end());
        const Outcome outcome = measure(words);
        EXPECT_EQ(outcome.code, 1);
        expect_contains(outcome.err, "with " + field + " = ");
        EXPECT_EQ(test::text_of(path("f")), before);
    };
    rejected({"--rtol", "1e-4"}, "rtol");
    rejected({"--solver", "gmres:30"}, "solver");
    rejected({"--max-iterations", "300"}, "max_iterations");
    rejected({"--measure", "solve"}, "measure");
    // Equal settings: the existing row does not change, another one is added.
    const Json row = first_row();
    ASSERT_EQ(measure({"--way", "block_ldlt:4", "--way", "none", "--json", "f", "--resume"}).code,
              0);
    EXPECT_EQ(first_row(), row);
    EXPECT_EQ(document()["rows"].size(), 2u);
    EXPECT_EQ(temporary_files(), Words{});
}

TEST_F(bench_block_ldlt, rows_stay_with_the_commit_that_measured_them) {
    const Words words = {"--way", "none", "--json", "f", "--resume"};
    ASSERT_EQ(measure(words).code, 0);
    Json older = document();
    older["commit"] = "older";
    write("f", older.dump());
    ASSERT_EQ(measure(words).code, 0);
    EXPECT_EQ(first_row().value("commit", ""), "older");
}

TEST_F(bench_block_ldlt, running_rows_are_measured_again_and_cut_ones_with_a_larger_limit) {
    const pid_t child = start(command(endless({})));
    for (int k = 0; k < 3000 && first_row().is_null(); ++k) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ::kill(child, SIGINT);
    EXPECT_EQ(wait(child).code, 128 + SIGINT);
    EXPECT_EQ(first_row().value("status", ""), "running");
    const auto expect_cut = [&](const char* limit, int code, int stored) {
        EXPECT_EQ(measure(endless({"--resume", "--limit", limit})).code, code);
        EXPECT_EQ(first_row().value("status", ""), "cut");
        EXPECT_EQ(first_row().value("limit", 0), stored);
        EXPECT_EQ(document()["rows"].size(), 1u);
    };
    expect_cut("1", 128 + SIGALRM, 1);
    expect_cut("1", 0, 1);
    expect_cut("2", 128 + SIGALRM, 2);
    expect_cut("1", 0, 2);
    EXPECT_EQ(temporary_files(), Words{});
}

TEST_F(bench_block_ldlt, what_cannot_be_done_is_said) {
    const auto rejected = [&](const Words& words, const std::string& message) {
        const Outcome outcome = measure(words);
        EXPECT_NE(outcome.code, 0);
        expect_contains(outcome.err, message);
    };
    rejected({"--json", "f"}, "--way or --dominance is required");
    EXPECT_FALSE(std::filesystem::exists(path("f")));
    rejected({"--way", "none", "--limit", "-1"}, "--limit");
    rejected({"--way", "none", "--resume"}, "--json FILE");
    rejected({"--way", "none", "--json", "none/f"}, "No such file");
    // Found when it is written.
    rejected({"--way", "none", "--json", "/dev/full"}, "No space left");
    if (std::filesystem::exists("/dev/full")) {
        for (const char* rest : {" --help", " block_ldlt kkt:200 --device cpu --way none"}) {
            const Outcome full = wait(start({"/bin/sh", "-c", bench() + rest + " > /dev/full"}));
            EXPECT_EQ(full.code, 1) << rest;
            expect_contains(full.err, "stdout cannot be written");
        }
    }
    write("f", "{\"rows\": [");
    rejected({"--way", "none", "--json", "f", "--resume"}, "--resume: f has no results");
    EXPECT_EQ(test::text_of(path("f")), "{\"rows\": [");
}

}  // namespace
}  // namespace tessera
