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
    // The first step solves the identity; what is left is a rotation, on which the method breaks
    // down, but no longer for the residual that it begins anew with.
    const CsrMatrix<double> matrix = matrix_of<double>(10, [](Index i, Index j) {
        if (i < 8 || j < 8) return i == j ? 1.0 : 0.0;
        return i == j ? 0.0 : i < j ? 1.0 : -1.0;
    });
    std::vector<double> b(10, 1.0);
    b[8] = b[9] = 1e-4;
    const auto solved = run(context(), "bicgstab", matrix, b);
    EXPECT_EQ(solved.report.status, Status::converged);
    EXPECT_EQ(solved.report.restarts, 1);
}

}  // namespace tessera::test
