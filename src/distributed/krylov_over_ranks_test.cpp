#include "distributed/test_ranks.hpp"
#include "krylov/test_systems.hpp"

namespace tessera::test {

namespace {

struct RankSolves {
    std::vector<SolveReport> reports;  ///< One of each rank.
    std::vector<double> x;
};

/// Solves A x = b over ranks; `scaled`: preconditioned by 1 / the diagonal.
RankSolves solve_over_ranks(const std::string& solver, const CsrView<double>& matrix, int block,
                            const std::vector<Offset>& starts, const std::vector<double>& b,
                            bool scaled, const std::function<SolveOptions(int)>& options) {
    const int ranks = int(starts.size()) - 1;
    RankSolves solved{std::vector<SolveReport>(std::size_t(ranks)), std::vector<double>(b.size())};
    on_ranks(ranks, [&](const Communicator& communicator, const Context& own) {
        const int rank = communicator.rank();
        const auto [halo, rows] = distribute(own, communicator, starts, matrix, block);
        const DistributedMatrix<double> a(own, rows.view(), halo.get(), ValueFormat::working);
        std::unique_ptr<Preconditioner<double>> m;
        if (scaled) {
            const BsrMatrix<double> diagonal = column_range(own, rows.view(), 0, halo->own());
            m = make_preconditioner<double>(own, Spec("jacobi"),
                                            to_csr(own, diagonal.view()).view());
        }
        const Buffer<double> from = copy_to_buffer(own, own_part(b, starts, rank, block));
        Buffer<double> x(own, from.size());
        fill<double>(own, 0, x.view());
        const SumsOver sums(communicator);
        const UseRankSums use(own, &sums);
        solved.reports[std::size_t(rank)] =
            solve<double>(own, solver, a, m.get(), from.view(), x.view(), options(rank));
        put_part(own, x, starts, rank, block, solved.x);
    });
    return solved;
}

const auto by_default = [](int) { return SolveOptions(); };

}  // namespace

TEST(krylov_over_ranks, iterations_are_those_of_one_rank) {
    auto random = generator();
    struct Problem {
        const char* name;
        int block;
    };
    for (const Problem& problem : {Problem{"elasticity3d:4", 3}, Problem{"poisson2d:18", 1}}) {
        const auto matrix = problems::generate<double>(host(), Spec(problem.name)).matrix;
        const Offset nodes = matrix.rows() / problem.block;
        const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
        for (const std::string solver : {"cg", "fcg", "minres", "sqmr", "bicgstab"}) {
            SCOPED_TRACE(solver + " " + problem.name);
            const auto run = [&](const std::vector<Offset>& starts) {
                return solve_over_ranks(solver, matrix.view(), problem.block, starts, b,
                                        solver == "fcg", by_default);
            };
            const RankSolves alone = run({0, nodes});
            ASSERT_EQ(alone.reports[0].status, Status::converged);
            // Sums are rounded otherwise, which short recurrences of symmetric systems hardly
            // notice.
            const Offset more = solver == "bicgstab" ? alone.reports[0].iterations : 2;
            std::vector<std::vector<Offset>> partitions{equal_parts(nodes, 3)};
            if (solver == "cg" || solver == "fcg") {
                partitions.push_back(equal_parts(nodes, 2));
                partitions.push_back(equal_parts(nodes, 8));
                partitions.push_back({0, 0, nodes / 3, nodes / 3, nodes, nodes});
            }
            for (const auto& starts : partitions) {
                const RankSolves found = run(starts);
                for (const SolveReport& report : found.reports) {
                    EXPECT_EQ(report.status, Status::converged) << report.message;
                    EXPECT_EQ(report.residuals, found.reports[0].residuals);
                    EXPECT_NEAR(double(report.iterations), double(alone.reports[0].iterations),
                                double(more));
                }
                EXPECT_LE(found.reports[0].true_relative_residual, 1e-8);
                if (starts.size() == 4) {
                    EXPECT_EQ(found.x, run(starts).x);
                }
            }
        }
    }
}

TEST(krylov_over_ranks, the_solution_is_that_of_the_whole_system) {
    auto random = generator();
    const auto matrix = problems::generate<double>(host(), Spec("elasticity2d:12")).matrix;
    const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
    const RankSolves found = solve_over_ranks(
        "fcg", matrix.view(), 2, equal_parts(matrix.rows() / 2, 3), b, true, by_default);
    double square = 0, residual = 0, rounding = 0;
    const CsrView<double> a = matrix.view();
    for (Index i = 0; i < a.rows; ++i) {
        double left = b[std::size_t(i)], size = std::abs(left);
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const double term = a.values[k] * found.x[std::size_t(a.column_indices[k])];
            left -= term;
            size += std::abs(term);
        }
        // Both sums of this residual are rounded, in other orders.
        const auto terms = double(a.row_offsets[i + 1] - a.row_offsets[i] + 1);
        const double error = 2 * gamma<double>(terms) * size;
        residual += left * left;
        square += b[std::size_t(i)] * b[std::size_t(i)];
        rounding += error * error;
    }
    EXPECT_LE(std::sqrt(residual / square), 1.001e-8);
    EXPECT_NEAR(found.reports[0].true_relative_residual, std::sqrt(residual / square),
                gamma<double>(1e6) * std::sqrt(residual / square) + std::sqrt(rounding / square));
}

TEST(krylov_over_ranks, methods_that_depend_on_the_number_of_rows) {
    const auto matrix = problems::generate<double>(host(), Spec("poisson2d:6")).matrix;
    const std::vector<double> b(std::size_t(matrix.rows()), 1);
    for (const std::string solver : {"gmres:30", "idr:4"}) {
        const auto run = [&] {
            return solve_over_ranks(solver, matrix.view(), 1, equal_parts(matrix.rows(), 2), b,
                                    false, by_default);
        };
        EXPECT_THROW(run(), InvalidArgument);
    }
}

TEST(krylov_over_ranks, one_rank_ends_the_solve_of_all) {
    const auto matrix = problems::generate<double>(host(), Spec("poisson2d:20")).matrix;
    const std::vector<double> b(std::size_t(matrix.rows()), 1);
    const auto starts = equal_parts(matrix.rows(), 3);
    const RankSolves interrupted =
        solve_over_ranks("cg", matrix.view(), 1, starts, b, false, [](int rank) {
            SolveOptions options;
            options.observer = [rank](const Progress& progress) {
                return rank != 1 || progress.iterations < 5;
            };
            return options;
        });
    for (const SolveReport& report : interrupted.reports) {
        EXPECT_EQ(report.status, Status::interrupted);
        EXPECT_EQ(report.iterations, 5);
    }
    const RankSolves late =
        solve_over_ranks("cg", matrix.view(), 1, starts, b, false, [](int rank) {
            SolveOptions options;
            options.max_seconds = rank == 2 ? 0 : 1e6;
            return options;
        });
    for (const SolveReport& report : late.reports) {
        EXPECT_EQ(report.status, Status::max_seconds);
        EXPECT_EQ(report.iterations, 1);
    }
    const auto throws_on_one = [&] {
        return solve_over_ranks("cg", matrix.view(), 1, starts, b, false, [](int rank) {
            SolveOptions options;
            options.observer = [rank](const Progress& progress) -> bool {
                if (rank == 1 && progress.iterations == 3) throw OutOfMemory("in the observer");
                return true;
            };
            return options;
        });
    };
    EXPECT_THROW(throws_on_one(), OutOfMemory);
}

}  // namespace tessera::test
