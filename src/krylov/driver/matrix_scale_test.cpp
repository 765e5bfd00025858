#include "base/concat.hpp"
#include "krylov/test_systems.hpp"
#include "support/blocks.hpp"
#include "tessera/solver.hpp"

// Systems far from 1 in scale, without a preconditioner, which would undo the scale of A.
namespace tessera::test {

namespace {

/// A 2^exponent.
template <class T>
CsrMatrix<T> times_power(const CsrMatrix<T>& matrix, int exponent) {
    CsrMatrix<T> result = copy_to(Context::cpu(1), matrix.view());
    for (T& value : result.values().view()) value = std::ldexp(value, exponent);
    return result;
}

template <class T>
std::vector<T> times_power(std::vector<T> vector, int exponent) {
    for (T& value : vector) value = std::ldexp(value, exponent);
    return vector;
}

/// An operator that shows no values, and counts its products.
template <class T>
class CountedOperator final : public Operator<T> {
  public:
    explicit CountedOperator(const CsrOperator<T>& matrix) : matrix_(matrix) {}
    Index rows() const override { return matrix_.rows(); }
    Index columns() const override { return matrix_.columns(); }
    bool can_be_captured() const override { return false; }
    void apply(const Context& context, std::span<const T> x, std::span<T> y) const override {
        ++products;
        matrix_.apply(context, x, y);
    }
    mutable Offset products = 0;

  private:
    const CsrOperator<T>& matrix_;
};

}  // namespace

/// The residual of the start, in the scale of b, or its square leaves the range.
TEST(matrix_scale, starts_that_are_far_away_are_left) {
    for_reals([](auto real) {
        using T = decltype(real);
        const int unit = sizeof(T) == 8 ? 100 : 12;
        const CsrMatrix<T> matrix = laplacian_2d<T>(15), placed = copy_to(context(), matrix);
        const std::vector<T> ones(225, T(1));
        Solver<T> exact(context(), "richardson", "direct");
        exact.setup(placed);
        for (const int of_b : {-9, -6, 0}) {
            for (const int of_start : {0, 5, 10}) {
                const std::vector<T> right = times_power(ones, of_b * unit),
                                     start = times_power(ones, of_start * unit);
                for (const std::string& solver : krylov_solvers()) {
                    SCOPED_TRACE(concat(solver, " ", of_b * unit, " ", of_start * unit));
                    const auto found = run(context(), solver, matrix, right, {}, start);
                    EXPECT_EQ(found.report.status, Status::converged) << found.report.message;
                }
                const Buffer<T> b = copy_to_buffer(context(), right);
                Buffer<T> x = copy_to_buffer(context(), start);
                const SolveReport report = exact.solve(b.view(), x.view());
                EXPECT_EQ(report.status, Status::converged) << report.message;
            }
        }
    });
}

TEST(matrix_scale, starts_that_are_far_away_are_kept_where_no_iteration_is_allowed) {
    const CsrMatrix<double> matrix = laplacian_2d<double>(15), placed = copy_to(context(), matrix);
    const std::vector<double> ones(225, 1.0), start = times_power(ones, 60);
    SolveOptions options;
    options.max_iterations = 0;
    const auto expect_kept = [&](const SolveReport& report, const std::vector<double>& x) {
        EXPECT_EQ(report.status, Status::max_iterations) << report.message;
        EXPECT_GT(report.true_relative_residual, 1e16);
        EXPECT_EQ(x, start);
    };
    for (const std::string& solver : krylov_solvers()) {
        SCOPED_TRACE(solver);
        const auto found = run(context(), solver, matrix, ones, options, start);
        expect_kept(found.report, found.x);
    }
    Solver<double> exact(context(), "richardson", "direct");
    exact.setup(placed);
    const Buffer<double> b = copy_to_buffer(context(), ones);
    Buffer<double> x = copy_to_buffer(context(), start);
    const SolveReport report = exact.solve(b.view(), x.view(), options);
    expect_kept(report, copy_to_host(context(), x));
}

/// All arithmetic is that of A x = b, times powers of two.
TEST(matrix_scale, a_scaled_system_has_the_same_solution_to_the_last_bit) {
    for_reals([](auto real) {
        using T = decltype(real);
        const Context where = context();
        const int unit = sizeof(T) == 8 ? 100 : 12;
        for (const std::string& solver : krylov_solvers()) {
            const CsrMatrix<T> matrix = laplacian_2d<T>(15);
            std::vector<T> b(225);
            for (std::size_t i = 0; i < b.size(); ++i) b[i] = T(1 + i % 7);
            const auto expected = run(where, solver, matrix, b);
            EXPECT_EQ(expected.report.status, Status::converged) << solver;
            for (const int times : {-9, -5, -3, 3, 5, 9}) {
                SCOPED_TRACE(solver + " " + std::to_string(times * unit));
                const auto found = run(where, solver, times_power(matrix, times * unit),
                                       times_power(b, times * unit));
                EXPECT_EQ(found.report.status, Status::converged);
                EXPECT_EQ(found.report.iterations, expected.report.iterations);
                EXPECT_TRUE(same_bits(found.x, expected.x));
            }
        }
    });
}

/// ||b|| does not show the scale of A: found where the method fails.
TEST(matrix_scale, a_scaled_matrix_with_a_usual_right_hand_side) {
    for_reals([](auto real) {
        using T = decltype(real);
        const Context where = context();
        const CsrMatrix<T> matrix = laplacian_2d<T>(15);
        const std::vector<T> b(225, T(1));
        for (const std::string& solver : krylov_solvers()) {
            for (const int exponent : {-3, -2, 2, 3}) {
                const int power = exponent * std::numeric_limits<T>::max_exponent / 4;
                SCOPED_TRACE(solver + " " + std::to_string(power));
                const auto found = run(where, solver, times_power(matrix, power), b);
                EXPECT_EQ(found.report.status, Status::converged);
                const Residual truth = residual(matrix, b, times_power(found.x, power));
                EXPECT_NEAR(found.report.true_relative_residual * norm(b), truth.norm,
                            truth.rounding);
            }
        }
    });
}

/// The products that look for the scale are counted; later solves look for it no more, until the
/// operator changes.
TEST(matrix_scale, products_are_counted) {
    const Context where = context();
    const std::vector<double> ones(225, 1.0);
    for (const int power : {0, 600, -900}) {
        const CsrMatrix<double> matrix =
            copy_to(where, times_power(laplacian_2d<double>(15), power).view());
        const CsrOperator<double> csr(where, matrix);
        const CountedOperator<double> counted(csr);
        const Buffer<double> b = copy_to_buffer(where, times_power(ones, power));
        Buffer<double> x(where, 225);
        const auto solver = parse_solver("bicgstab")->make(where, counted, nullptr);
        SolveOptions options;
        options.check_interval = 1;  // No iteration is enqueued beyond the end.
        std::vector<Offset> products;
        for (int k = 0; k < 3; ++k) {
            fill(where, 0.0, x.view());
            counted.products = 0;
            if (k == 2) solver->operators_changed();
            const SolveReport report = solver->solve(b.view(), x.view(), options);
            EXPECT_EQ(report.status, Status::converged);
            EXPECT_EQ(report.operator_applications, counted.products) << power;
            products.push_back(counted.products);
        }
        EXPECT_EQ(products[0], products[2]);
        EXPECT_EQ(products[0] > products[1], power != 0);
    }
}

/// Columns that are solved together share the scale of A.
TEST(matrix_scale, several_right_hand_sides) {
    const Context where = context();
    for (const int power : {-700, 700}) {
        const CsrMatrix<double> plain = laplacian_2d<double>(15);
        const CsrMatrix<double> matrix = copy_to(where, times_power(plain, power).view());
        std::vector<double> b(3 * 225);
        for (std::size_t i = 0; i < b.size(); ++i) b[i] = double(1 + i % 11);
        for (std::size_t i = 225; i < 450; ++i) b[i] = std::ldexp(b[i], power);
        const Buffer<double> b_there = copy_to_buffer(where, b);
        Buffer<double> x_there = copy_to_buffer(where, std::vector<double>(3 * 225));
        const CsrOperator<double> a(where, matrix);
        const auto reports = parse_solver("cg")
                                 ->make(where, a, nullptr)
                                 ->solve(Vectors<const double>{b_there.data(), 225, 3, 225},
                                         Vectors<double>{x_there.data(), 225, 3, 225}, {});
        const auto x = copy_to_host(where, x_there);
        for (std::size_t j = 0; j < 3; ++j) {
            EXPECT_EQ(reports[j].status, Status::converged) << j;
            const auto at = std::ptrdiff_t(225 * j);
            const int shift = j == 1 ? 0 : power;
            const std::vector<double> right(b.begin() + at, b.begin() + at + 225);
            const std::vector<double> solution(x.begin() + at, x.begin() + at + 225);
            const std::vector<double> usual_b = times_power(right, j == 1 ? -power : 0);
            const Residual truth = residual(plain, usual_b, times_power(solution, shift));
            EXPECT_NEAR(reports[j].true_relative_residual * norm(usual_b), truth.norm,
                        truth.rounding);
        }
    }
}

}  // namespace tessera::test
