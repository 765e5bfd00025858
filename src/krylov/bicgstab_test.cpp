#include "krylov/test_systems.hpp"

namespace tessera::test {

TEST(bicgstab, rotation_is_a_breakdown) {
    const CsrMatrix<double> rotation = matrix_of<double>(2, [](Index i, Index j) {
        return i == j ? 0.0 : i < j ? 1.0 : -1.0;
    });
    const auto solved = run(context(), "bicgstab", rotation, {1.0, 2.0});
    EXPECT_EQ(solved.report.status, Status::breakdown);
    EXPECT_EQ(solved.report.iterations, 1);
    EXPECT_EQ(solved.x, std::vector<double>(2));
    EXPECT_NE(solved.report.message.find("gmres"), std::string::npos);
}

TEST(bicgstab, takes_the_half_step_when_it_is_enough) {
    auto random = generator();
    const CsrMatrix<double> matrix =
        matrix_of<double>(30, [](Index i, Index j) { return i == j ? 4.0 : 0.0; });
    const auto b = random_vector<double>(random, 30);
    const auto solved = run(context(), "bicgstab", matrix, b);
    EXPECT_EQ(solved.report.status, Status::converged);
    EXPECT_EQ(solved.report.iterations, 1);
    for (std::size_t i = 0; i < b.size(); ++i) {
        EXPECT_NEAR(solved.x[i], b[i] / 4, gamma<double>(8) * std::abs(b[i]));
    }
}

TEST(bicgstab, two_products_an_iteration) {
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_2d<double>(20, 1);
    const auto b = random_vector<double>(random, 400);
    const auto solved = run(context(), "bicgstab", matrix, b);
    EXPECT_EQ(solved.report.status, Status::converged);
    EXPECT_EQ(solved.report.operator_applications,
              2 * solved.report.iterations + 2 + solved.report.restarts);
}

TEST(bicgstab, restarts_after_a_breakdown_that_followed_progress) {
    // Both halves are orthogonal rotations in the end; one dominant entry gives progress first.
    const CsrMatrix<double> matrix = matrix_of<double>(3, [](Index i, Index j) {
        if (i == 0 && j == 0) return 1.0;
        if (i == 1 && j == 2) return 1.0;
        if (i == 2 && j == 1) return -1.0;
        return 0.0;
    });
    const auto solved = run(context(), "bicgstab", matrix, {100.0, 1.0, 1.0});
    EXPECT_TRUE(solved.report.status == Status::breakdown ||
                solved.report.status == Status::converged);
    EXPECT_LT(solved.report.iterations, 50);
    EXPECT_LT(solved.report.true_relative_residual, 1);
}

}  // namespace tessera::test
