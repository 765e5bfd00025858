#include <nlohmann/json.hpp>

#include "support/command_line.hpp"

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

class bench_solve : public test::ProgramTest {
  protected:
    static std::string bench() { return test::program() + "-bench"; }
    void SetUp() override {
        ProgramTest::SetUp();
        if (!IsSkipped() && !std::filesystem::exists(bench())) {
            GTEST_SKIP() << "this build has no tessera-bench, which needs OpenMP";
        }
    }
    test::Outcome solve(const std::string& problem, const std::string& way) const {
        return wait(start({bench(), "solve", problem, "--way", way, "--device", "cpu", "--json",
                           "f", "--runs", "1"}));
    }
};

/// The matrix is not symmetric: its rows must not be taken for columns.
TEST_F(bench_solve, by_other_libraries) {
    for (const std::string library : {"klu", "superlu"}) {
        const test::Outcome outcome = solve("convection3d:6", library);
        if (outcome.err.find(library + " was not found") != std::string::npos) continue;
        ASSERT_EQ(outcome.code, 0) << outcome.err;
        const Json row = Json::parse(test::text_of(path("f")))["rows"][0];
        EXPECT_EQ(row["solver"], library);
        EXPECT_EQ(row["status"], "converged");
        EXPECT_LT(row["true_relative_residual"].get<double>(), 1e-12);
    }
    EXPECT_NE(solve("convection3d:6", "umfpack").code, 0);
}

}  // namespace
}  // namespace tessera
