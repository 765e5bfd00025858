#include "distributed/test_ranks.hpp"
#include "precond/multigrid/ranks/distributed_amg.hpp"
#include "support/faults.hpp"

namespace tessera::test {

namespace {

/// A system set up, updated and solved on three ranks; the residual of rank 0.
double solve_system(const CsrView<double>& matrix, const std::vector<double>& b) {
    double residual = 1;
    const auto starts = equal_parts(matrix.rows / 2, 3);
    on_ranks(3, [&](const Communicator& communicator, const Context& own) {
        OwnRows rows = distribute(own, communicator, starts, matrix, 2);
        const auto halo = rows.halo;
        const DistributedMatrix<double> a(own, rows.rows.view(), halo.get(), ValueFormat::working);
        DistributedAmg<double> m(own, std::move(rows), {.coarse_rows = 100}, {.gather_nodes = 60});
        m.update(own, distribute(own, communicator, starts, matrix, 2).rows);
        const Buffer<double> from =
            copy_to_buffer(own, own_part(b, starts, communicator.rank(), 2));
        Buffer<double> x(own, from.size());
        fill<double>(own, 0, x.view());
        const SumsOver sums(communicator);
        const UseRankSums use(own, &sums);
        const SolveReport report = solve<double>(own, "fcg", a, &m, from.view(), x.view());
        if (communicator.rank() == 0) residual = report.true_relative_residual;
    });
    return residual;
}

}  // namespace

/// A call of the system that fails on one rank, in any phase, ends all ranks.
TEST(ranks_faults, failing_calls_end_all_ranks) {
    const auto matrix = problems::generate<double>(host(), Spec("elasticity2d:12")).matrix;
    auto random = generator();
    const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
    EXPECT_LE(solve_system(matrix.view(), b), 1e-8);
    const bool on_gpu = context().on_gpu();
    for (const auto kind : {faults::Kind::memory, faults::Kind::cuda}) {
        if (kind == faults::Kind::cuda && !on_gpu) continue;
        faults::arm(kind, 0);
        EXPECT_LE(solve_system(matrix.view(), b), 1e-8);
        const long calls = faults::calls(kind);
        faults::disarm();
        int thrown = 0;
        for (const bool lasting : {false, true}) {
            for (const long k : faults::calls_to_try(random, calls, 60)) {
                SCOPED_TRACE(std::string(faults::to_string(kind)) + " " + std::to_string(k));
                faults::arm(kind, k, lasting);
                try {
                    static_cast<void>(solve_system(matrix.view(), b));
                    faults::disarm();
                } catch (const std::exception&) {
                    faults::disarm();
                    ++thrown;
                }
            }
        }
        EXPECT_GT(thrown, 60);
    }
    EXPECT_LE(solve_system(matrix.view(), b), 1e-8);
}

}  // namespace tessera::test
