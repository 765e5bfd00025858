#include "support/command_line.hpp"

namespace tessera::test {
namespace {

using cli_polynomial = CommandLineTest;

TEST_F(cli_polynomial, tables_tell_of_the_interval) {
    const Outcome outcome = solve({"elasticity2d:12", "--precond", "chebyshev:4,bound=3"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    expect_contains(outcome.out,
                    "preconditioner  chebyshev:4,bound=3,lower=ratio:30,scaling=jacobi\n");
    expect_contains(outcome.out, "polynomial      degree 4 on [0.1, 3]\n");
    expect_contains(outcome.out, "bounds ");
}

TEST_F(cli_polynomial, json_has_the_interval) {
    const Json json = solve_json({"elasticity2d:12", "--precond", "least_squares:6,precision=f32"});
    EXPECT_EQ(json["polynomial"]["degree"], 6);
    EXPECT_EQ(json["polynomial"]["lower"], 0);
    EXPECT_GT(json["polynomial"]["upper"].get<double>(), 1);
    EXPECT_EQ(json["polynomial"]["recoveries"], 0);
}

TEST_F(cli_polynomial, a_bound_that_is_too_low_is_raised_and_reported) {
    const Outcome outcome = solve({"elasticity2d:12", "--precond", "least_squares:5,bound=1.2"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    expect_contains(outcome.out, "; its bound was raised ");
    expect_contains(outcome.out, ", as it was not positive definite\n");
}

TEST_F(cli_polynomial, matrices_that_are_not_positive_definite_are_rejected) {
    const std::string file = write("indefinite.mtx",
                                   "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 1\n"
                                   "2 2 -1\n3 3 2\n");
    const Outcome outcome = solve({file, "--solver", "cg", "--precond", "least_squares"});
    EXPECT_EQ(outcome.code, 4);
    expect_contains(outcome.out, "row 1 (the first of 1) has no positive pivot");
    expect_contains(outcome.out, "use the solver idr with the preconditioner block_jacobi");
}

}  // namespace
}  // namespace tessera::test
