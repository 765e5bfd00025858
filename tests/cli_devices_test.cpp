#include "support/command_line.hpp"

namespace tessera::test {
namespace {

using cli_devices = CommandLineTest;

TEST_F(cli_devices, several_solve_as_one_does) {
    const Words words{"elasticity3d:12", "--solver", "fcg", "--precond", "amg"};
    const Json alone = solve_json(words);
    for (const int count : {2, 3}) {
        SCOPED_TRACE(count);
        Words several = words;
        several.insert(several.end(), {"--devices", std::to_string(count)});
        const Json json = solve_json(several);
        EXPECT_EQ(json["status"], "converged");
        EXPECT_NEAR(json["iterations"].get<double>(), alone["iterations"].get<double>(), 2);
        EXPECT_LE(json["true_relative_residual"].get<double>(), 1.001e-8);
        EXPECT_EQ(json["solver"], "fcg");
        EXPECT_EQ(json["preconditioner"], "amg,block=3");
        EXPECT_EQ(json["partition"]["by"], "coordinates");
        EXPECT_EQ(json["matrix"]["rows"], alone["matrix"]["rows"]);
        ASSERT_EQ(int(json["devices"].size()), count);
        Offset rows = 0;
        for (const Json& share : json["devices"]) {
            rows += share["rows"].get<Offset>();
            EXPECT_GE(share["neighbours"], 1);
            EXPECT_GT(share["received_bytes"], 0);
            EXPECT_GT(share["wait_seconds"], 0);
            EXPECT_TRUE(share["device"].get<std::string>().starts_with("CPU, 1 thread"));
        }
        EXPECT_EQ(rows, json["matrix"]["rows"].get<Offset>());
        EXPECT_GT(json["seconds"]["setup"].get<double>(), 0);
        EXPECT_FALSE(json["amg"]["levels"].empty());
    }
}

TEST_F(cli_devices, the_table_has_a_line_for_each) {
    const Outcome outcome =
        solve({"poisson2d:40", "--devices", "2", "--rhs", "solution:random", "--explain"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(outcome.out.starts_with("converged in ")) << outcome.out;
    expect_contains(outcome.out, "device          2 x CPU, 1 thread");
    expect_contains(outcome.out, "partition       by ordering");
    expect_contains(outcome.out, "device 0        800 rows");
    expect_contains(outcome.out, "device 1        800 rows");
    expect_contains(outcome.out, "1 neighbour");
    expect_contains(outcome.out, "forward error");
    expect_contains(outcome.err, "over several devices auto is fcg with amg");
}

TEST_F(cli_devices, the_solution_is_written) {
    ASSERT_EQ(solve({"poisson2d:20", "--devices", "2", "--out", "x.mtx", "--rtol", "1e-10"}).code,
              0);
    // From it there is nothing to do.
    const Json json = solve_json({"poisson2d:20", "--x0", "x.mtx", "--devices", "3"});
    EXPECT_EQ(json["iterations"], 0);
}

TEST_F(cli_devices, one_is_as_without) {
    const auto table = [&](Words words) {
        Json json = solve_json(words);
        for (const char* key : {"seconds", "phases", "copy_bytes_per_second"}) json.erase(key);
        return json;
    };
    EXPECT_EQ(table({"poisson2d:12", "--devices", "1"}), table({"poisson2d:12"}));
}

TEST_F(cli_devices, says_what_is_not_possible) {
    const auto error = [&](Words words) {
        words.insert(words.end(), {"--devices", "2"});
        const Outcome outcome = solve(words);
        EXPECT_EQ(outcome.code, 2);
        EXPECT_EQ(outcome.out, "");
        return outcome.err;
    };
    expect_contains(error({"poisson2d:12", "--solver", "gmres"}), "fcg or cg, not gmres");
    expect_contains(error({"poisson2d:12", "--precond", "jacobi"}), "amg, not jacobi");
    expect_contains(error({"poisson2d:12", "--format", "sell"}), "leave out format sell");
    expect_contains(error({"poisson2d:12", "--precision", "f32"}), "leave out --precision f32");
    expect_contains(error({"poisson2d:12", "--nullspace", "constant"}), "leave out --nullspace");
    expect_contains(error({"convection2d:12"}), "is not symmetric");
    const Outcome wrong = solve({"poisson2d:12", "--devices", "cuda:0,cuda:1"});
    EXPECT_EQ(wrong.code, 2);
    expect_contains(wrong.err, "number of groups of threads");
    EXPECT_EQ(solve({"poisson2d:12", "--devices", "0"}).code, 2);
}

}  // namespace
}  // namespace tessera::test
