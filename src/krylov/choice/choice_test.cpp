#include "tessera/choice.hpp"

#include <set>

#include "krylov/test_systems.hpp"
#include "support/messages.hpp"
#include "tessera/precond.hpp"
#include "tessera/problems.hpp"
#include "tessera/solver.hpp"

namespace tessera::test {

namespace {

CsrMatrix<double> problem(const std::string& text) {
    return problems::generate<double>(Context::cpu(), Spec(text)).matrix;
}

/// The matrix with the value of entry (row, row) replaced.
CsrMatrix<double> with_diagonal(CsrMatrix<double> matrix, Index row, double value) {
    const CsrView<double> view = matrix.view();
    for (Offset k = view.row_offsets[row]; k < view.row_offsets[row + 1]; ++k) {
        if (view.column_indices[k] == row) matrix.values().view()[std::size_t(k)] = value;
    }
    return matrix;
}

MatrixFacts facts_of(const CsrMatrix<double>& matrix, const NodeCoordinates& coordinates = {}) {
    const CsrMatrix<double> placed = copy_to(context(), matrix);
    return find_facts(context(), placed.view(), coordinates);
}

TEST(choice, facts_of_a_laplacian) {
    const MatrixFacts facts = facts_of(problem("poisson2d:20"));
    EXPECT_EQ(facts.rows, 400);
    EXPECT_EQ(facts.nonzeros, 5 * 400 - 4 * 20);
    EXPECT_TRUE(facts.symmetric);
    EXPECT_TRUE(facts.positive_diagonal);
    EXPECT_EQ(facts.blocks, 400);
    EXPECT_EQ(facts.rows_per_node, 1);
    EXPECT_FALSE(facts.has_various_blocks());
    EXPECT_EQ(facts.on_gpu, context().on_gpu());
}

TEST(choice, facts_see_each_row_of_the_diagonal) {
    const CsrMatrix<double> good = problem("poisson2d:20");
    for (const Index row : {0, 137, 399}) {
        for (const double value : {0., -1., std::nan("")}) {
            EXPECT_FALSE(facts_of(with_diagonal(copy_to(Context::cpu(), good), row, value))
                             .positive_diagonal)
                << row << " " << value;
        }
    }
    EXPECT_FALSE(facts_of(problem("stokes:6")).positive_diagonal);  // Not stored in some rows.
    EXPECT_FALSE(facts_of(problem("convection3d:5")).symmetric);
}

TEST(choice, facts_of_nodes_with_several_unknowns) {
    const auto body = problems::generate<double>(Context::cpu(), Spec("elasticity3d:4"));
    EXPECT_EQ(facts_of(body.matrix).rows_per_node, 3);
    EXPECT_EQ(facts_of(body.matrix).largest_block, 3);
    const MatrixFacts with_nodes = facts_of(body.matrix, body.coordinates);
    EXPECT_EQ(with_nodes.rows_per_node, 3);
    EXPECT_TRUE(with_nodes.has_coordinates);
    EXPECT_TRUE(facts_of(problem("random_blocks:40,sizes=1-6")).has_various_blocks());
}

TEST(choice, facts_of_nodes_of_which_some_have_fixed_unknowns) {
    const MatrixFacts facts = facts_of(problem("plate_hole:30"));
    EXPECT_EQ(facts.rows_per_node, 2);
    EXPECT_TRUE(facts.has_various_blocks());
}

/// The matrix without some entries outside of diagonal blocks of 3 rows, one of `modulus`.
CsrMatrix<double> without_some_entries(const CsrMatrix<double>& matrix, Offset modulus) {
    const CsrView<double> a = matrix.view();
    std::vector<std::vector<Index>> pattern(std::size_t(a.rows));
    std::vector<std::vector<double>> values(pattern.size());
    for (Index i = 0; i < a.rows; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const Index j = a.column_indices[k];
            if (i / 3 != j / 3 && (Offset(i) * j + i + j) % modulus == 0) continue;
            pattern[std::size_t(i)].push_back(j);
            values[std::size_t(i)].push_back(a.values[k]);
        }
    }
    return make_csr<double>(a.rows, a.columns, pattern, values);
}

TEST(choice, facts_of_nodes_whose_zeros_are_not_stored) {
    const CsrMatrix<double> body = problem("elasticity3d:15");
    const MatrixFacts facts = facts_of(without_some_entries(body, 11));
    ASSERT_GE(facts.rows, 10'000);
    EXPECT_LT(facts.largest_block, 4);
    EXPECT_EQ(facts.rows_per_node, 3);
    EXPECT_TRUE(facts.nodes_without_zeros);
    const MatrixFacts sparser = facts_of(without_some_entries(body, 2));
    EXPECT_EQ(sparser.rows_per_node, 1);  // Blocks of 3 rows would have 1.3 times the entries.
    EXPECT_FALSE(sparser.nodes_without_zeros);
    EXPECT_FALSE(facts_of(body).nodes_without_zeros);
    EXPECT_EQ(facts_of(problem("poisson2d:150")).rows_per_node, 1);
}

TEST(choice, multigrid_is_the_first_where_it_finds_the_nodes) {
    MatrixFacts facts;
    facts.rows = 2'000'000;
    facts.nonzeros = Offset(facts.rows) * 18;
    facts.symmetric = facts.positive_diagonal = true;
    facts.rows_per_node = facts.largest_block = 2;
    for (const bool on_gpu : {false, true}) {
        facts.on_gpu = on_gpu;
        facts.blocks = facts.rows / 2;
        EXPECT_EQ(choose(facts, "auto", "auto", "auto")[0].preconditioner, "amg");
        facts.blocks += 100;  // Of some nodes one unknown is fixed.
        EXPECT_EQ(choose(facts, "auto", "auto", "auto")[0].preconditioner, "amg");
    }
    facts.rows_per_node = 1;
    facts.blocks = facts.rows / 3 * 2;
    for (const bool on_gpu : {false, true}) {
        facts.on_gpu = on_gpu;
        EXPECT_NE(choose(facts, "auto", "auto", "auto")[0].preconditioner, "amg");
    }
}

TEST(choice, facts_of_the_empty_matrix) {
    const MatrixFacts facts = facts_of(CsrMatrix<double>(Context::cpu(), 0, 0, 0));
    EXPECT_EQ(facts.rows, 0);
    EXPECT_FALSE(choose(facts, "auto", "auto", "auto").empty());
}

std::vector<MatrixFacts> many_facts() {
    std::vector<MatrixFacts> all;
    for (const Index rows : {0, 1, 900, 8'000, 30'000, 120'000, 700'000, 2'000'000, 9'000'000}) {
        for (const int entries : {3, 7, 80}) {
            for (const Index block : {1, 2, 3, 5}) {
                for (int bits = 0; bits < 8; ++bits) {
                    MatrixFacts one;
                    one.rows = rows;
                    one.nonzeros = Offset(rows) * entries;
                    one.symmetric = bits & 1;
                    one.positive_diagonal = bits & 2;
                    one.on_gpu = bits & 4;
                    one.rows_per_node = block;
                    one.largest_block = block;
                    one.blocks = rows / block;
                    all.push_back(one);
                }
            }
        }
    }
    return all;
}

TEST(choice, all_attempts_can_be_parsed_and_fit_the_matrix) {
    std::set<std::string> chosen;
    for (const MatrixFacts& facts : many_facts()) {
        const auto attempts = choose(facts, "auto", "auto", "auto");
        ASSERT_FALSE(attempts.empty());
        EXPECT_EQ(attempts.back().max_iterations, 0) << "nothing follows the last one";
        for (const Attempt& attempt : attempts) {
            chosen.insert(attempt.solver + " " + attempt.preconditioner);
            EXPECT_NO_THROW(parse_solver(attempt.solver));
            EXPECT_NO_THROW(parse_preconditioner(attempt.preconditioner));
            EXPECT_NO_THROW(parse_format(attempt.format));
            EXPECT_FALSE(attempt.reason.empty());
            const std::string solver = Spec(attempt.solver).name();
            if (solver == "cg" || solver == "fcg") {
                EXPECT_TRUE(facts.symmetric && facts.positive_diagonal);
            }
            if (solver == "minres" || solver == "sqmr") {
                EXPECT_TRUE(facts.symmetric);
            }
        }
    }
    EXPECT_GE(chosen.size(), 10U);
}

TEST(choice, words_that_are_given_are_kept) {
    for (const MatrixFacts& facts : many_facts()) {
        for (const Attempt& attempt : choose(facts, "idr:3", "auto", "auto")) {
            EXPECT_EQ(attempt.solver, "idr:3");
        }
        for (const char* solver : {"cg", "gmres", "bicgstab", "minres"}) {
            const auto attempts = choose(facts, solver, "auto", "auto");
            std::set<std::string> seen;  // None is repeated, and the last one has no limit.
            for (const Attempt& attempt : attempts) {
                EXPECT_TRUE(seen.insert(attempt.preconditioner + " " + attempt.format).second)
                    << solver << " with " << attempt.preconditioner;
            }
            EXPECT_EQ(attempts.back().max_iterations, 0);
        }
        for (const Attempt& attempt : choose(facts, "auto", "auto", "sell:32")) {
            EXPECT_EQ(attempt.format, "sell:32");
        }
        for (const Attempt& attempt : choose(facts, "minres", "auto", "auto")) {
            const Spec preconditioner = Spec(attempt.preconditioner);
            if (preconditioner.name() != "block_ldlt") continue;
            EXPECT_TRUE(Spec(preconditioner).flag("positive_definite"));
        }
        const auto attempts = choose(facts, "auto", "amg", "auto");
        ASSERT_EQ(attempts.size(), 1U);
        EXPECT_EQ(attempts[0].preconditioner, "amg");
        EXPECT_EQ(attempts[0].solver == "fcg", facts.symmetric && facts.positive_diagonal);
    }
}

TEST(choice, left_preconditioning_has_solvers_that_allow_it) {
    for (const MatrixFacts& facts : many_facts()) {
        for (const char* preconditioner : {"auto", "jacobi", "block_ldlt:8", "none"}) {
            const auto attempts = choose(facts, "auto", preconditioner, "auto", true);
            ASSERT_FALSE(attempts.empty());
            EXPECT_EQ(attempts.back().max_iterations, 0) << "nothing follows the last one";
            for (const Attempt& attempt : attempts) {
                EXPECT_TRUE(parse_solver(attempt.solver)->allows_left()) << attempt.solver;
            }
        }
        EXPECT_EQ(choose(facts, "cg", "auto", "auto", true), choose(facts, "cg", "auto", "auto"));
        if (!facts.symmetric) {
            EXPECT_EQ(choose(facts, "auto", "auto", "auto", true),
                      choose(facts, "auto", "auto", "auto"));
        }
    }
}

TEST(choice, candidates_hold_what_auto_chooses_and_others_once) {
    for (const MatrixFacts& facts : many_facts()) {
        const auto ways = candidates(facts, "auto", "auto", "auto");
        std::set<std::string> seen;
        for (const Attempt& way : ways) {
            EXPECT_NO_THROW(parse_solver(way.solver));
            EXPECT_NO_THROW(
                parse_preconditioner(way.preconditioner)->use_format(parse_format(way.format)));
            EXPECT_EQ(way.max_iterations, 0);
            EXPECT_TRUE(
                seen.insert(way.solver + " " + way.preconditioner + " " + way.format).second)
                << way.solver << " " << way.preconditioner;
        }
        EXPECT_GE(ways.size(), 10U);
        const Attempt first = choose(facts, "auto", "auto", "auto").front();
        EXPECT_TRUE(seen.contains(first.solver + " " + first.preconditioner + " " + first.format));
    }
}

TEST(choice, candidates_keep_words_that_are_given) {
    for (const MatrixFacts& facts : many_facts()) {
        const auto ways = candidates(facts, "gmres:20", "jacobi", "auto");
        ASSERT_EQ(ways.size(), 2U);  // csr and sbell.
        EXPECT_EQ(ways[0].solver + ways[0].preconditioner, "gmres:20jacobi");
        for (const Attempt& way : candidates(facts, "minres", "auto", "csr")) {
            EXPECT_EQ(way.format, "csr");
            const bool factors = way.preconditioner.starts_with("block_ldlt");
            EXPECT_EQ(factors, way.preconditioner.ends_with("positive_definite"))
                << way.preconditioner;
        }
    }
}

struct Solved {
    SolveReport report;
    std::vector<double> x;
    std::vector<Attempt> attempts;
    int attempt = 0;
};

Solved solve_auto(const CsrMatrix<double>& matrix, const SolveOptions& options = {}) {
    const CsrMatrix<double> placed = copy_to(context(), matrix);
    const std::vector<double> ones(std::size_t(matrix.rows()), 1.0);
    const Buffer<double> b = copy_to_buffer(context(), ones);
    Buffer<double> x = copy_to_buffer(context(), std::vector<double>(ones.size()));
    Solver<double> solver(context(), "auto", "auto", "auto");
    solver.setup(placed);
    Solved solved;
    solved.report = solver.solve(b.view(), x.view(), options);
    solved.x = copy_to_host(context(), x);
    solved.attempts = solver.attempts();
    solved.attempt = solver.attempt();
    return solved;
}

TEST(choice, solves_systems_of_each_kind) {
    for (const char* text : {"poisson2d:20", "elasticity3d:6", "convection3d:8", "stokes:8",
                             "kkt:300", "random_blocks:50,sizes=1-9", "circuit:10", "arrow:70"}) {
        const Solved solved = solve_auto(problem(text));
        EXPECT_EQ(solved.report.status, Status::converged) << text << solved.report.message;
        EXPECT_LE(solved.report.true_relative_residual, 1e-8) << text;
    }
}

TEST(choice, goes_on_from_the_better_x_where_the_first_attempt_ends) {
    const CsrMatrix<double> matrix = problem("kkt:1500,spread=5");
    const Solved solved = solve_auto(matrix);
    ASSERT_EQ(solved.attempts.at(0).solver, "minres");
    ASSERT_GE(solved.attempt, 1) << "minres should need more than its limit";
    EXPECT_EQ(solved.report.status, Status::converged) << solved.report.message;
    const Offset limit = solved.attempts[0].max_iterations;
    EXPECT_GT(solved.report.iterations, limit);
    EXPECT_EQ(Offset(solved.report.residuals.size()), solved.report.iterations + 1);
    // The second one begins at the residual that the first one left.
    EXPECT_LT(solved.report.residuals[std::size_t(limit)], 1.0);
    const Solved again = solve_auto(matrix);
    EXPECT_EQ(again.attempt, solved.attempt);
    EXPECT_EQ(again.report.residuals, solved.report.residuals);
    EXPECT_TRUE(same_bits(again.x, solved.x));
}

TEST(choice, limits_of_the_caller_hold_for_all_attempts_together) {
    const CsrMatrix<double> matrix = problem("kkt:1500,spread=5");
    SolveOptions options;
    std::vector<Offset> seen;
    const Offset limit = choose(facts_of(matrix), "auto", "auto", "auto")[0].max_iterations;
    options.max_iterations = limit + 5;
    options.check_interval = 5;
    options.observer = [&](const Progress& progress) {
        seen.push_back(progress.iterations);
        return true;
    };
    const Solved solved = solve_auto(matrix, options);
    EXPECT_EQ(solved.attempt, 1);
    EXPECT_EQ(solved.report.iterations, limit + 5);
    EXPECT_EQ(solved.report.status, Status::max_iterations);
    EXPECT_TRUE(std::ranges::is_sorted(seen));
    EXPECT_EQ(seen.back(), limit + 5);
    options.max_iterations = limit;
    EXPECT_EQ(solve_auto(matrix, options).attempt, 0) << "nothing is left for another one";
    options.observer = [](const Progress&) { return false; };
    EXPECT_EQ(solve_auto(matrix, options).report.status, Status::interrupted);
}

TEST(choice, an_indefinite_matrix_with_a_positive_diagonal) {
    const Solved solved = solve_auto(problem("helmholtz:16,kh=1"));
    ASSERT_NE(solved.attempts.at(0).solver, "minres");
    EXPECT_GE(solved.attempt, 1);
    EXPECT_EQ(solved.report.status, Status::converged) << solved.report.message;
}

TEST(choice, passes_over_a_setup_that_the_matrix_does_not_allow) {
    // Jacobi cannot invert a zero on the diagonal.
    const Solved solved = solve_auto(with_diagonal(problem("convection3d:8"), 5, 0));
    ASSERT_EQ(solved.attempts.at(0).preconditioner, "jacobi");
    EXPECT_EQ(solved.attempt, 1);
    EXPECT_EQ(solved.report.status, Status::converged) << solved.report.message;
}

TEST(choice, later_solves_and_updates_keep_the_attempt) {
    const CsrMatrix<double> matrix = copy_to(context(), problem("kkt:1500,spread=5"));
    const Buffer<double> b =
        copy_to_buffer(context(), std::vector<double>(std::size_t(matrix.rows()), 1.0));
    Buffer<double> x = copy_to_buffer(context(), std::vector<double>(std::size_t(matrix.rows())));
    Solver<double> solver(context(), "auto", "auto", "auto");
    EXPECT_TRUE(solver.attempts().empty());
    solver.setup(matrix);
    solver.solve(b.view(), x.view());
    const int attempt = solver.attempt();
    ASSERT_GE(attempt, 1);
    solver.update(matrix);
    fill(context(), 0.0, x.view());
    const SolveReport report = solver.solve(b.view(), x.view());
    EXPECT_EQ(report.status, Status::converged) << report.message;
    EXPECT_EQ(solver.attempt(), attempt);
    solver.setup(matrix);
    EXPECT_EQ(solver.attempt(), 0);
}

TEST(choice, a_solve_on_the_other_side_chooses_anew) {
    const CsrMatrix<double> matrix = copy_to(context(), problem("poisson2d:20"));
    const Buffer<double> b =
        copy_to_buffer(context(), std::vector<double>(std::size_t(matrix.rows()), 1.0));
    Buffer<double> x(context(), matrix.rows());
    SolveOptions right, left;
    left.left_preconditioning = true;
    Solver<double> solver(context(), "auto", "auto");
    solver.setup(matrix);
    const std::vector<Attempt> from_right = solver.attempts();
    const auto expect_solved = [&](const SolveOptions& options) {
        fill(context(), 0.0, x.view());
        const SolveReport report = solver.solve(b.view(), x.view(), options);
        EXPECT_EQ(report.status, Status::converged) << report.message;
        const Attempt used = solver.attempts().at(std::size_t(solver.attempt()));
        EXPECT_EQ(parse_solver(used.solver)->allows_left(), options.left_preconditioning);
    };
    expect_solved(left);
    EXPECT_NE(solver.attempts(), from_right);
    solver.setup(matrix);
    EXPECT_NE(solver.attempts(), from_right) << "the next solve is expected to be like the last";
    EXPECT_NE(message_of([&] { solver.solve(b.view().first(3), x.view(), right); }), "accepted");
    EXPECT_NE(solver.attempts(), from_right) << "wrong arguments changed the solver";
    expect_solved(right);
    EXPECT_EQ(solver.attempts(), from_right);
    // A solver that is given is not replaced.
    Solver<double> given(context(), "cg", "auto");
    given.setup(matrix);
    expect_contains(message_of([&] { given.solve(b.view(), x.view(), left); }),
                    "this solver does not support left preconditioning");
    EXPECT_EQ(given.solve(b.view(), x.view(), right).status, Status::converged);
}

/// The attempts are those for the first, symmetric matrix.
TEST(choice, values_of_an_update_that_no_attempt_fits_end_the_solve_as_a_status) {
    const CsrMatrix<double> symmetric = copy_to(context(), problem("poisson2d:50"));
    CsrMatrix<double> skew = problem("poisson2d:50");
    const CsrView<double> view = skew.view();
    for (Index i = 0; i < view.rows; ++i) {
        for (Offset k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
            const Index j = view.column_indices[k];
            skew.values().data()[k] = i == j ? 0.01 : i < j ? 1 : -1;
        }
    }
    const CsrMatrix<double> other = copy_to(context(), skew);
    const Buffer<double> b = copy_to_buffer(context(), std::vector<double>(2500, 1.0));
    Buffer<double> x(context(), 2500);
    Solver<double> solver(context(), "auto", "auto", "auto");
    solver.setup(symmetric);
    solver.update(other);
    fill(context(), 0.0, x.view());
    const SolveReport report = solver.solve(b.view(), x.view());
    EXPECT_NE(report.status, Status::converged);
    expect_contains(report.message, "No other way can be set up: ");
    ASSERT_TRUE(solver.has_matrix());
    solver.update(symmetric);
    fill(context(), 0.0, x.view());
    EXPECT_EQ(solver.solve(b.view(), x.view()).status, Status::converged);
}

TEST(choice, several_right_hand_sides) {
    const CsrMatrix<double> matrix = copy_to(context(), problem("kkt:1500,spread=5"));
    const Offset n = matrix.rows();
    std::vector<double> both(std::size_t(2 * n), 1.0);
    std::fill(both.begin() + n, both.end(), 0.0);  // The second one is solved at once.
    const Buffer<double> b = copy_to_buffer(context(), both);
    Buffer<double> x = copy_to_buffer(context(), std::vector<double>(both.size()));
    Solver<double> solver(context(), "auto", "auto", "auto");
    solver.setup(matrix);
    const auto reports =
        solver.solve(Vectors<const double>{b.data(), n, 2, n}, Vectors<double>{x.data(), n, 2, n});
    ASSERT_EQ(reports.size(), 2U);
    for (const SolveReport& report : reports) EXPECT_EQ(report.status, Status::converged);
    EXPECT_GT(reports[0].iterations, 300);
    EXPECT_EQ(reports[1].iterations, 0);
}

TEST(choice, worth_another_attempt) {
    SolveReport report;
    EXPECT_FALSE(worth_another(report, 300));
    for (const Status status : {Status::breakdown, Status::stagnated, Status::singular_block}) {
        report.status = status;
        EXPECT_TRUE(worth_another(report, 0));
    }
    for (const Status status : {Status::interrupted, Status::max_seconds, Status::non_finite}) {
        report.status = status;
        EXPECT_FALSE(worth_another(report, 300));
    }
    for (const Status status : {Status::max_iterations, Status::accuracy_lost}) {
        report.status = status;
        EXPECT_TRUE(worth_another(report, 300)) << "a cheap attempt";
        EXPECT_FALSE(worth_another(report, 0)) << "the limit was the caller's";
    }
}

}  // namespace

}  // namespace tessera::test
