#include "support/command_line.hpp"

namespace tessera::test {

namespace {

using cli_block_ldlt = CommandLineTest;

}  // namespace

TEST_F(cli_block_ldlt, says_what_it_did) {
    const Words words{"kkt:600", "--solver", "gmres:25", "--rhs", "solution:random:1"};
    const auto with = [&](const std::string& options) {
        Words all = words;
        all.insert(all.end(), {"--precond", "block_ldlt:8" + options});
        return all;
    };
    const auto json = solve_json(with(""));
    EXPECT_EQ(json["status"], "converged");
    const auto& ldlt = json["block_ldlt"];
    EXPECT_EQ(ldlt["stage"], "jacobi");
    EXPECT_EQ(ldlt["reconstruction"].size(), ldlt["sweeps"].get<std::size_t>());
    EXPECT_EQ(ldlt["structural_rank"], json["matrix"]["rows"]);
    EXPECT_GT(ldlt["pairs"].get<int>(), 0);
    EXPECT_GT(ldlt["levels"].get<int>(), 1);
    EXPECT_EQ(ldlt["ordering"], "rcm");
    EXPECT_GT(ldlt["stored_blocks"].get<int>(), ldlt["block_rows"].get<int>());
    EXPECT_LE(ldlt["probes"]["jacobi"].get<double>(), 1);

    const Outcome table = solve(with(",method=level,fill=1"));
    EXPECT_EQ(table.code, 0) << table.err;
    for (const char* part :
         {"level, epsilon", "stored blocks", "of dense", "safeguard", "levels (amd)"}) {
        expect_contains(table.out, part);
    }
    EXPECT_FALSE(solve_json({"poisson2d:10"}).contains("block_ldlt"));
}

TEST_F(cli_block_ldlt, rejects_a_nonsymmetric_matrix) {
    const std::string file =
        write("general.mtx",
              "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n1 2 5\n2 2 1\n");
    for (const char* options : {"", ",matching=off"}) {
        const Outcome outcome =
            solve({file, "--solver", "gmres", "--precond", std::string("block_ldlt:4") + options});
        EXPECT_EQ(outcome.code, 2);
        expect_contains(outcome.err,
                        ": the matrix is not symmetric: entry (0, 1) is stored, but not (1, 0)\n");
    }
}

TEST_F(cli_block_ldlt, takes_a_matrix_that_is_symmetric_up_to_rounding) {
    const std::string file = write("rounded.mtx",
                                   "%%MatrixMarket matrix coordinate real general\n2 2 4\n"
                                   "1 1 1\n1 2 0.1\n2 1 0.10000000000000002\n2 2 1\n");
    ASSERT_NE(0.1, 0.10000000000000002);
    const Outcome outcome = solve({file, "--solver", "gmres", "--precond", "block_ldlt:4"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const std::string low = write("low.mtx",
                                  "%%MatrixMarket matrix coordinate real general\n2 2 4\n"
                                  "1 1 1\n1 2 0.1\n2 1 0.10000000001\n2 2 1\n");
    EXPECT_EQ(solve({low, "--solver", "gmres", "--precond", "block_ldlt:4"}).code, 2);
}

}  // namespace tessera::test
