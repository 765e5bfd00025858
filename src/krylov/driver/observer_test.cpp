#include "krylov/test_systems.hpp"

namespace tessera::test {

TEST(observer, copies_x_of_each_iteration) {
    const Context where = context();
    auto random = generator();
    const CsrMatrix<double> matrix = easy<double>(50);
    for (const double scale : {1.0, 1e-200}) {  // The second one is multiplied during the solve.
        auto b = random_vector<double>(random, 50);
        for (double& value : b) value *= scale;
        for (const std::string& solver : all_solvers()) {
            SCOPED_TRACE(solver + " " + std::to_string(scale));
            const bool none =
                solver.starts_with("gmres") || solver.find("smoothing") != std::string::npos;
            std::vector<std::vector<double>> seen;
            Buffer<double> x(where, 50);
            SolveOptions options;
            options.check_interval = 1;
            options.observer = [&](const Progress& progress) {
                EXPECT_EQ(progress.copy_x == nullptr, none);
                if (none) return true;
                fill(where, -1.0, x.view());
                progress.copy_x(x.data());
                seen.push_back(copy_to_host(where, x));
                return true;
            };
            const auto solved = run(where, solver, matrix, b, options);
            EXPECT_EQ(solved.report.status, Status::converged);
            if (none) continue;
            ASSERT_GT(seen.size(), 1U);
            EXPECT_EQ(seen.back(), solved.x);
            options.observer = nullptr;
            for (std::size_t k = 0; k < seen.size(); ++k) {
                options.max_iterations = Offset(k) + 1;
                EXPECT_EQ(run(where, solver, matrix, b, options).x, seen[k]);
            }
        }
    }
}

}  // namespace tessera::test
