#include <nlohmann/json.hpp>

#include "support/program.hpp"

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;
using test::Outcome;

/// The subcommands compare and bench.
class compare : public test::ProgramTest {
  protected:
    static Json row(const char* implementation, int n, Json milliseconds, double spread) {
        return {{"op", "invert"},
                {"implementation", implementation},
                {"type", "f64"},
                {"n", n},
                {"batch", 100},
                {"layout", "uniform"},
                {"milliseconds", std::move(milliseconds)},
                {"spread", spread},
                {"gflops", 1.0 / n}};
    }

    std::string results(const std::string& name, const Json& rows,
                        const std::string& device = "a device") const {
        const Json json = {{"schema", "tessera-bench/1"},
                           {"commit", name + "-commit"},
                           {"device", device},
                           {"rows", rows}};
        return write(name + ".json", json.dump());
    }

    Outcome compare_rows(const Json& before, const Json& after) const {
        return run({"compare", results("old", before), results("new", after)});
    }
};

TEST_F(compare, results_follow_medians_and_spreads) {
    const Outcome outcome =
        compare_rows({row("tessera", 1, 1.0, 0.01), row("tessera", 2, 1.0, 0.01),
                      row("tessera", 3, 1.0, 0.10), row("tessera", 4, 2.0, 0.01)},
                     {row("tessera", 4, 1.0, 0.01), row("tessera", 3, 1.1, 0.15),
                      row("tessera", 2, 1.0625, 0.01), row("tessera", 1, 1.02, 0)});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(outcome.out,
              "old  old-commit, a device\n"
              "new  new-commit, a device\n"
              "SLOWER     1.062  invert tessera f64 n=2 batch=100 uniform"
              "  (1 ms, spread 1 % -> 1.062 ms, spread 1 %)\n"
              "UNCLEAR    1.100  invert tessera f64 n=3 batch=100 uniform"
              "  (1 ms, spread 10 % -> 1.1 ms, spread 15 %)\n"
              "FASTER     0.500  invert tessera f64 n=4 batch=100 uniform"
              "  (2 ms, spread 1 % -> 1 ms, spread 1 %)\n"
              "SAME       1.020  invert tessera f64 n=1 batch=100 uniform"
              "  (1 ms, spread 1 % -> 1.02 ms, spread 0 %)\n"
              "4 rows compared: 1 slower, 1 unclear, 1 faster, 1 same\n");
}

TEST_F(compare, nothing_slower_is_success) {
    const Json rows = {row("tessera", 1, 1.0, 0.5), row("fused", 1, 3.0, 0.01)};
    EXPECT_EQ(compare_rows(rows, rows).code, 0);
    // Equal factors faster and slower: the rule is symmetric.
    const auto single = [](double milliseconds) {
        return Json::array({row("tessera", 1, milliseconds, 0)});
    };
    EXPECT_EQ(compare_rows(single(1), single(1.029)).code, 0);
    EXPECT_EQ(compare_rows(single(1), single(1.031)).code, 1);
    EXPECT_NE(compare_rows(single(1.031), single(1)).out.find("FASTER"), std::string::npos);
}

TEST_F(compare, rows_of_one_file_and_rows_without_a_time_are_named) {
    const Outcome outcome = compare_rows(
        {row("tessera", 1, 1.0, 0), row("paper_single", 1, 1.0, 0)},
        {row("tessera", 1, 1.0, 0), row("cublas_matinv", 1, 2.0, 0), row("fused", 1, nullptr, 0)});
    EXPECT_EQ(outcome.code, 0);
    for (const char* part :
         {"only old  invert paper_single f64 n=1", "only new  invert cublas_matinv f64 n=1",
          "1 rows compared", "without a time: 0 old, 1 new"}) {
        EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
    }
}

TEST_F(compare, rows_measured_twice_are_paired_in_order) {
    const Outcome outcome = compare_rows({row("tessera", 1, 1.0, 0), row("tessera", 1, 2.0, 0)},
                                         {row("tessera", 1, 1.0, 0), row("tessera", 1, 2.0, 0)});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_NE(outcome.out.find("2 rows compared: 0 slower, 0 unclear, 0 faster, 2 same"),
              std::string::npos)
        << outcome.out;
}

TEST_F(compare, other_devices_are_noted) {
    const Json rows = Json::array({row("tessera", 1, 1.0, 0)});
    const Outcome outcome =
        run({"compare", results("old", rows), results("new", rows, "another device")});
    EXPECT_NE(outcome.out.find("note: the devices differ"), std::string::npos) << outcome.out;
}

TEST_F(compare, what_cannot_be_read_is_exit_code_2) {
    const std::string good = results("good", Json::array());
    for (const std::string& bad :
         {path("none.json"), path("."), write("empty.json", ""), write("text.json", "no JSON"),
          write("list.json", "[]"),
          write("other.json", R"({"schema": "tessera-run/2", "rows": []})"),
          write("rows.json", R"({"schema": "tessera-bench/1", "rows": 3})"),
          write("row.json", R"({"schema": "tessera-bench/1", "rows": [3]})")}) {
        const Outcome outcome = run({"compare", good, bad});
        EXPECT_EQ(outcome.code, 2) << bad;
        EXPECT_EQ(outcome.out, "") << bad;
        EXPECT_NE(outcome.err.find(bad), std::string::npos) << outcome.err;
    }
    EXPECT_EQ(run({"compare", good}).code, 2);
}

TEST_F(compare, bench_runs_the_program_beside_it) {
    const Outcome outcome = run({"bench", "--help"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("batched"), std::string::npos) << outcome.out;
}

TEST_F(compare, bench_that_is_not_there_is_named) {
    const std::string lonely = path("tessera");
    std::filesystem::copy_file(test::program(), lonely);
    const Outcome outcome = wait(start({lonely, "bench", "--help"}));
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find(lonely + "-bench"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("--target tessera_bench"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace tessera
