#include "krylov/test_systems.hpp"
#include "tessera/problems.hpp"
#include "tessera/solver.hpp"

namespace tessera::test {
namespace {

/// A Solver with exact factors of a matrix, and vectors in the memory of the Context.
class Exact {
  public:
    explicit Exact(const char* problem)
        : matrix_(copy_to(context(), problems::generate<double>(host(), Spec(problem)).matrix)),
          solver_(context(), "richardson", "direct") {
        solver_.setup(matrix_);
    }
    Offset rows() const { return matrix_.rows(); }
    std::vector<SolveReport> solve(const std::vector<double>& b, std::vector<double>& x,
                                   const SolveOptions& options = {}) {
        const int count = int(Offset(b.size()) / rows());
        const Buffer<double> right = copy_to_buffer(context(), b);
        Buffer<double> left = copy_to_buffer(context(), x);
        const auto reports = [&] {
            try {
                return solver_.solve(Vectors<const double>{right.data(), rows(), count, rows()},
                                     Vectors<double>{left.data(), rows(), count, rows()}, options);
            } catch (...) {
                x = copy_to_host(context(), left);
                throw;
            }
        }();
        x = copy_to_host(context(), left);
        return reports;
    }

  private:
    CsrMatrix<double> matrix_;
    Solver<double> solver_;
};

TEST(refinement, several_right_hand_sides_are_those_of_one) {
    Exact exact("convection3d:7");
    auto random = generator();
    const auto n = std::size_t(exact.rows());
    auto b = random_vector<double>(random, 11 * n);
    std::fill(b.begin() + std::ptrdiff_t(3 * n), b.begin() + std::ptrdiff_t(4 * n), 0.0);
    std::vector<double> together(b.size());
    const auto reports = exact.solve(b, together);
    ASSERT_EQ(reports.size(), 11U);
    for (std::size_t j = 0; j < 11; ++j) {
        const auto begin = std::ptrdiff_t(j * n), end = std::ptrdiff_t((j + 1) * n);
        std::vector<double> x(n);
        const auto one = exact.solve({b.begin() + begin, b.begin() + end}, x).front();
        EXPECT_EQ(one.status, Status::converged);
        EXPECT_EQ(reports[j].status, Status::converged);
        EXPECT_EQ(reports[j].iterations, one.iterations);
        EXPECT_EQ(std::vector<double>(together.begin() + begin, together.begin() + end), x);
    }
}

TEST(refinement, ends_where_the_caller_says) {
    Exact exact("poisson2d:12");
    const std::vector<double> b(144, 1);
    std::vector<double> x(144, 0.5);
    EXPECT_EQ(exact.solve(b, x, {.max_iterations = 0}).front().status, Status::max_iterations);
    EXPECT_EQ(x, std::vector<double>(144, 0.5));
    EXPECT_EQ(exact.solve(b, x, {.max_seconds = 0}).front().status, Status::max_seconds);
    EXPECT_EQ(x, std::vector<double>(144, 0.5));
    SolveOptions stops;
    stops.observer = [](const Progress&) { return false; };
    EXPECT_EQ(exact.solve(b, x, stops).front().status, Status::interrupted);
    EXPECT_EQ(x, std::vector<double>(144, 0.5));
    stops.observer = [](const Progress&) -> bool { throw InvalidArgument("stop"); };
    EXPECT_THROW(exact.solve(b, x, stops), InvalidArgument);
    EXPECT_EQ(x, std::vector<double>(144, 0.5));
    const SolveReport report = exact.solve(b, x).front();
    EXPECT_EQ(report.status, Status::converged);
    EXPECT_LE(report.backward_error, gamma<double>(10));
    EXPECT_EQ(exact.solve(b, x).front().iterations, 0) << "x was the solution";
}

/// Exact factors of a matrix that is singular up to rounding give an x that is huge.
TEST(refinement, the_start_is_taken_back_where_there_is_no_solution) {
    const CsrMatrix<double> free = matrix_of<double>(60, [](Index i, Index j) {
        if (i == j) return i == 0 || i == 59 ? 0.1 : 0.2;
        return std::abs(i - j) == 1 ? -0.1 : 0.0;
    });
    const CsrMatrix<double> matrix = copy_to(context(), free);
    Solver<double> solver(context(), "richardson", "direct");
    solver.setup(matrix);
    std::vector<double> start(60, 0.5), b(60, 1);
    b[3] = -2;
    Buffer<double> x = copy_to_buffer(context(), start);
    const SolveReport report = solver.solve(copy_to_buffer(context(), b), x);
    EXPECT_FALSE(is_solved(report.status));
    EXPECT_EQ(copy_to_host(context(), x), start) << report.message;
    EXPECT_NEAR(report.true_relative_residual, residual(free, b, start).norm / norm(b), 1e-9);
}

/// The residual of a long beam is that of rounding x, 1e-5 of b and more: steps do not change it.
/// Above 1e-3 a matrix may be singular, which further steps tell.
TEST(refinement, ends_where_rounding_x_leaves_the_residual) {
    for (const Index n : {1500, 12000}) {
        std::vector<std::vector<Index>> columns(static_cast<std::size_t>(n));
        std::vector<std::vector<double>> values(columns.size());
        for (Index i = 0; i < n; ++i) {
            constexpr double weights[] = {6, -4, 1};
            for (Index j = std::max(0, i - 2); j <= std::min(n - 1, i + 2); ++j) {
                columns[std::size_t(i)].push_back(j);
                values[std::size_t(i)].push_back(weights[std::abs(i - j)]);
            }
        }
        const CsrMatrix<double> matrix = copy_to(context(), make_csr(n, n, columns, values));
        Solver<double> solver(context(), "richardson", "direct");
        solver.setup(matrix);
        Buffer<double> x = copy_to_buffer(context(), std::vector<double>(std::size_t(n), 0));
        const SolveReport report =
            solver.solve(copy_to_buffer(context(), std::vector<double>(std::size_t(n), 1)), x);
        const bool is_huge = n > 10'000;
        EXPECT_EQ(report.iterations > 1, is_huge);
        EXPECT_GE(report.true_relative_residual, is_huge ? 1e-3 : 1e-6);
        EXPECT_LE(report.backward_error, 4 * std::numeric_limits<double>::epsilon());
        EXPECT_TRUE(is_huge || report.status == Status::rounding_limit) << report.message;
    }
}

/// A huge x is judged by a further solve; the x beside it by errors that were measured before.
TEST(refinement, a_column_beside_one_that_is_solved_again) {
    constexpr Index n = 56;  // The elements of U^-1 e_n double from row to row.
    const CsrMatrix<double> matrix = copy_to(context(), matrix_of<double>(n, [](Index i, Index j) {
                                                 return i == j ? 1.0 : i < j ? -1.0 : 0.0;
                                             }));
    Solver<double> solver(context(), "richardson", "direct");
    solver.setup(matrix);
    std::vector<double> both(2 * n, 0);
    both[n - 1] = both[n] = 1;
    const Buffer<double> b = copy_to_buffer(context(), both);
    Buffer<double> x = copy_to_buffer(context(), std::vector<double>(2 * n, 0));
    const auto reports =
        solver.solve(Vectors<const double>{b.data(), n, 2, n}, Vectors<double>{x.data(), n, 2, n});
    EXPECT_EQ(reports[1].status, Status::converged) << reports[1].message;
    EXPECT_EQ(reports[1].backward_error, 0);
    EXPECT_EQ(copy_to_host(context(), x)[n], 1);
}

/// Right-hand sides near the limits of the type are scaled.
TEST(refinement, right_hand_sides_of_any_size) {
    Exact exact("stokes:4");
    const auto n = std::size_t(exact.rows());
    std::vector<double> usual(n, 0);
    exact.solve(std::vector<double>(n, 1), usual);
    for (const double size : {1e-300, 1e-200, 1e200, 1e290}) {
        std::vector<double> x(n, 0);
        const SolveReport report = exact.solve(std::vector<double>(n, size), x).front();
        EXPECT_TRUE(is_solved(report.status)) << size << ": " << report.message;
        for (std::size_t i = 0; i < n; ++i) {
            EXPECT_NEAR(x[i] / size, usual[i], 1e-7 * std::abs(usual[i]) + 1e-9) << size;
        }
    }
}

}  // namespace
}  // namespace tessera::test
