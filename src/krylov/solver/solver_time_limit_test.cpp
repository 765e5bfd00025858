#include "tessera/time_limit.hpp"

#include <limits>

#include "krylov/choice/test_choice.hpp"
#include "krylov/test_systems.hpp"
#include "support/messages.hpp"
#include "tessera/batched.hpp"
#include "tessera/precond.hpp"
#include "tessera/solver.hpp"

namespace tessera::test {

namespace {

/// Every setup looks at the limit before it is complete, and can be done again after it.
TEST(solver_time_limit, ends_setups_and_batches) {
    const CsrMatrix<double> matrix = copy_to(context(), problem("elasticity3d:5"));
    for (const char* text : {"jacobi", "block_jacobi:8", "block_ldlt:8", "amg", "direct"}) {
        SCOPED_TRACE(text);
        const auto make = [&] {
            return parse_preconditioner(text)->make(context(), matrix.view(), {});
        };
        {
            const TimeLimit limit(0);
            EXPECT_THROW(make(), Stopped);
        }
        const auto made = make();
        // On a GPU what neither allocates nor waits is only enqueued.
        if (!context().on_gpu()) {
            const TimeLimit limit(0);
            EXPECT_THROW(made->update(context(), matrix.view()), Stopped);
        }
        made->update(context(), matrix.view());
    }
    const Buffer<double> batch = copy_to_buffer(context(), std::vector<double>{2, 0, 0, 2});
    Buffer<double> inverse(context(), 4);
    if (context().on_gpu()) return;
    const TimeLimit limit(0);
    EXPECT_THROW(
        batched::invert<double>(context(), batched::ConstBatch<double>::uniform(1, 2, batch.data()),
                                batched::BatchView<double>::uniform(1, 2, inverse.data())),
        Stopped);
}

/// The next solve begins a setup again that had no time.
TEST(solver_time_limit, a_solver_sets_up_again) {
    const CsrMatrix<double> matrix = copy_to(context(), problem("poisson2d:20"));
    const Buffer<double> b =
        copy_to_buffer(context(), std::vector<double>(std::size_t(matrix.rows()), 1.0));
    Buffer<double> x = copy_to_buffer(context(), std::vector<double>(std::size_t(b.size()), 0.5));
    for (const char* text : {"auto", "amg"}) {
        Solver<double> solver(context(), "auto", text, "auto");
        EXPECT_EQ(setup_within(solver, matrix.view(), 0), 0);
        EXPECT_TRUE(solver.has_matrix());
        EXPECT_EQ(solver.preconditioner(), text);
        SolveOptions options;
        options.max_seconds = 0;
        const SolveReport late = solver.solve(b.view(), x.view(), options);
        EXPECT_EQ(late.status, Status::max_seconds);
        EXPECT_EQ(late.iterations, 0);
        expect_contains(late.message, "Out of time (the relative residual is ");
        EXPECT_EQ(copy_to_host(context(), x), std::vector<double>(std::size_t(b.size()), 0.5));
        solver.update(matrix);
        EXPECT_NE(solver.preconditioner(), "auto");
        EXPECT_EQ(setup_within(solver, matrix.view(), 0), 0);
        Buffer<double> solution(context(), b.size());
        fill(context(), 0.0, solution.view());
        const SolveReport report = solver.solve(b.view(), solution.view());
        EXPECT_EQ(report.status, Status::converged);
        EXPECT_GT(report.setup_seconds, 0);
    }
    SolveOptions options;
    options.max_seconds = 0;
    EXPECT_EQ(solve(context(), matrix.view(), b.view(), x.view(), options).status,
              Status::max_seconds);
}

/// A limit of the caller that interrupts the setup of a later attempt ends the solve with the best
/// x so far; the next solve goes on.
TEST(solver_time_limit, interrupts_setups_within_solves) {
    const CsrMatrix<double> matrix = copy_to(context(), problem("kkt:3000,spread=5"));
    const Buffer<double> b =
        copy_to_buffer(context(), std::vector<double>(std::size_t(matrix.rows()), 1.0));
    Buffer<double> x(context(), b.size());
    fill(context(), 0.0, x.view());
    Solver<double> solver(context(), "auto", "auto", "auto");
    solver.setup(matrix);
    const int first = solver.attempt();
    bool interrupts = false;
    solver.on_attempt(
        [&](const AttemptEvent& event) { interrupts = event.kind == AttemptEvent::Kind::setup; });
    {
        const TimeLimit limit(std::numeric_limits<double>::infinity(), [&] { return interrupts; });
        const SolveReport report = solver.solve(b.view(), x.view());
        EXPECT_EQ(report.status, Status::interrupted) << report.message;
        EXPECT_GT(report.iterations, 0);
        EXPECT_LT(report.true_relative_residual, 1);
    }
    EXPECT_GT(solver.attempt(), first);
    EXPECT_TRUE(solver.has_matrix());
    EXPECT_EQ(solver.solve(b.view(), x.view()).status, Status::converged);
}

}  // namespace

}  // namespace tessera::test
