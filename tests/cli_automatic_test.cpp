#include "support/command_line.hpp"

// What `tessera solve` chooses where its options are auto.

namespace tessera::test {
namespace {

using cli_automatic = CommandLineTest;

TEST_F(cli_automatic, automatic_solver_fits_the_matrix) {
    EXPECT_EQ(solve_json({"elasticity3d:6"})["solver"], "cg");
    EXPECT_EQ(solve_json({"convection3d:12"})["solver"], "bicgstab");
    EXPECT_EQ(solve_json({"stokes:8,beta=1"})["solver"], "richardson");
    EXPECT_EQ(solve_json({"poisson2d:8", "--precond", "direct"})["solver"], "richardson");
    EXPECT_EQ(solve_json({"poisson2d:8", "--precond", "amg"})["solver"], "fcg");
    EXPECT_EQ(solve_json({"stokes:8", "--precond", "block_ldlt:8"})["solver"], "sqmr");
    const Json given = solve_json({"poisson2d:8", "--solver", "gmres:20", "--format", "sell:8"});
    EXPECT_EQ(given["solver"], "gmres:20");
    EXPECT_EQ(given["matrix"]["format"], "sell:8");
    EXPECT_FALSE(
        solve_json({"poisson2d:8", "--solver", "cg", "--precond", "jacobi", "--format", "csr"})
            .contains("attempts"));
}

TEST_F(cli_automatic, implicit_steps_of_a_gas_are_solved) {
    for (const char* text :
         {"euler2d:14,cfl=1000", "euler2d:14,mach=2", "euler3d:7", "euler3d:7,cfl=1e6"}) {
        EXPECT_EQ(solve_json({text})["status"], "converged") << text;
    }
}

TEST_F(cli_automatic, automatic_choice_changes_once_it_goes_badly) {
    const Outcome outcome = solve({"kkt:3000,spread=5", "--explain", "--json", "-"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    expect_contains(outcome.err, "auto sees: 4500 rows");
    expect_contains(outcome.err, "first richardson with direct,max_flops=3e08, format csr");
    expect_contains(outcome.err,
                    "richardson with direct,max_flops=3e08 does not solve it (direct: "
                    "the factorisation takes ");
    expect_contains(outcome.err, "minres with none does not solve it (max_iterations, ");
    const Json json = Json::parse(outcome.out);
    ASSERT_EQ(json["attempts"].size(), 3U);
    EXPECT_EQ(json["attempts"][1]["solver"], "minres");
    EXPECT_EQ(json["attempts"][1]["iterations"], 300);
    EXPECT_EQ(json["attempts"][2]["solver"], json["solver"]);
    EXPECT_EQ(json["residuals"].size(), json["iterations"].get<std::size_t>() + 1);
    const Outcome few = solve({"kkt:3000,spread=5", "--max-iterations", "300", "--quiet"});
    EXPECT_EQ(few.code, 3);
    EXPECT_EQ(few.err, "");
}

TEST_F(cli_automatic, an_attempt_whose_setup_fails_has_no_residual) {
    const Outcome outcome =
        solve({"convection3d:12,strength=300", "--solver", "bicgstab", "--explain"});
    EXPECT_EQ(outcome.code, 0);
    expect_contains(outcome.err, "bicgstab with jacobi does not solve it (");
    const Outcome refused = solve({"kkt:3000,spread=5", "--explain"});
    expect_contains(refused.err, "more than max_flops=3.0e+08); going on with minres and none");
}

TEST_F(cli_automatic, attempts_that_fail_are_told_only_when_asked) {
    EXPECT_EQ(solve({"convection3d:12,strength=300"}).err, "");
}

TEST_F(cli_automatic, a_solver_for_symmetric_matrices_names_one_that_is_not) {
    const Outcome outcome = solve({"convection3d:6", "--solver", "cg", "--precond", "jacobi"});
    EXPECT_EQ(outcome.code, 3) << outcome.out;
    expect_contains(outcome.out, "cg needs a symmetric matrix, which this one is not");
    const Outcome short_of_time =
        solve({"convection3d:6", "--solver", "bicgstab", "--max-iterations", "1"});
    EXPECT_EQ(short_of_time.out.find("symmetric matrix"), std::string::npos) << short_of_time.out;
}

TEST_F(cli_automatic, auto_takes_no_options) {
    for (const char* option : {"--solver", "--precond", "--format"}) {
        const Outcome outcome = solve({"poisson2d:5", option, "auto:3"});
        EXPECT_EQ(outcome.code, 2);
        expect_contains(outcome.err, "auto takes no value, not '3'");
    }
}

TEST_F(cli_automatic, left_preconditioning_has_solvers_of_its_own) {
    const Outcome chosen = solve({"poisson2d:12", "--side", "left"});
    EXPECT_EQ(chosen.code, 0) << chosen.err;
    EXPECT_EQ(chosen.err, "");  // No attempt that does not support it.
    expect_contains(chosen.out, "solver          richardson");
    EXPECT_EQ(solve_json({"poisson2d:12", "--side", "left", "--precond", "jacobi"})["solver"],
              "idr:4");
    const Outcome given = solve({"poisson2d:12", "--side", "left", "--solver", "cg"});
    EXPECT_EQ(given.code, 2);
    EXPECT_EQ(
        given.err,
        "tessera: --side left: cg does not support left preconditioning; leave it out, or use "
        "gmres, idr or bicgstab\n");
}

}  // namespace
}  // namespace tessera::test
