#include "base/concat.hpp"
#include "base/find_csr_entry.hpp"
#include "krylov/test_systems.hpp"
#include "support/messages.hpp"
#include "tessera/solver.hpp"

namespace tessera::test {

namespace {

void expect_named_start() {
    const CsrMatrix<double> matrix =
        copy_to(context(), problems::generate<double>(host(), "poisson2d:12").matrix);
    std::vector<double> start(144, 0.0);
    start[3] = std::numeric_limits<double>::quiet_NaN();
    const Buffer<double> b = copy_to_buffer(context(), std::vector<double>(144, 1.0));
    Buffer<double> x = copy_to_buffer(context(), start);
    Solver<double> solver(context(), "cg", "jacobi");
    solver.setup(matrix);
    const SolveReport report = solver.solve(b.view(), x.view());
    EXPECT_EQ(report.status, Status::non_finite);
    expect_contains(report.message, "Element 3 of the start is NaN or infinite");
}

}  // namespace

/// Whatever the preconditioner finds first.
TEST(non_finite, a_matrix_with_nan_is_named) {
    CsrMatrix<double> spoilt = problems::generate<double>(host(), "poisson2d:12").matrix;
    const auto n = std::size_t(spoilt.rows());
    const CsrMatrix<double> sound = copy_to(context(), spoilt);
    const Offset diagonal = find_csr_entry(std::as_const(spoilt).view(), 4, 4);
    for (const double value :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        spoilt.values().data()[diagonal] = value;
        const CsrMatrix<double> matrix = copy_to(context(), spoilt);
        for (const char* text : {"jacobi", "block_jacobi:4", "chebyshev:3"}) {
            SCOPED_TRACE(text);
            Solver<double> solver(context(), "cg", text);
            solver.setup(matrix);
            const Buffer<double> b = copy_to_buffer(context(), std::vector<double>(n, 1.0));
            Buffer<double> x = copy_to_buffer(context(), std::vector<double>(n, 0.0));
            const SolveReport report = solver.solve(b.view(), x.view());
            EXPECT_EQ(report.status, Status::non_finite);
            if (report.iterations == 0 && std::isnan(value)) {
                expect_contains(report.message, "row 4 of the matrix has a NaN or infinity");
            }
        }
        for (const char* text : {"amg,block=1", "block_ldlt:4"}) {
            SCOPED_TRACE(text);
            Solver<double> solver(context(), "sqmr", text);
            expect_contains(message_of([&] { solver.setup(matrix); }),
                            "row 4 of the matrix has a NaN or infinity");
            EXPECT_FALSE(solver.has_matrix());
            solver.setup(sound);
            expect_contains(message_of([&] { solver.update(matrix); }),
                            "row 4 of the matrix has a NaN or infinity");
            EXPECT_FALSE(solver.has_matrix());
        }
    }
}

/// Also where the methods that are tried see it as a singular block or a breakdown.
TEST(non_finite, a_matrix_with_nan_is_named_by_the_methods_of_auto) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const Index n : {3, 20, 400}) {
        const CsrMatrix<double> matrix =
            copy_to(context(), matrix_of<double>(n, [&](Index i, Index j) {
                        if (i == n / 2 && j == i) return nan;
                        return i == j ? 4.0 : std::abs(i - j) == 1 ? -1.0 : 0.0;
                    }));
        Solver<double> solver(context());
        solver.setup(matrix);
        const Buffer<double> b =
            copy_to_buffer(context(), std::vector<double>(std::size_t(n), 1.0));
        Buffer<double> x = copy_to_buffer(context(), std::vector<double>(std::size_t(n)));
        const SolveReport report = solver.solve(b.view(), x.view());
        EXPECT_EQ(report.status, Status::non_finite) << n;
        expect_contains(report.message,
                        concat("ow ", n / 2, " of the matrix has a NaN or infinity"));
    }
}

/// Exact factors of a singular matrix name it, too, and in one column of several.
TEST(non_finite, a_right_hand_side_with_infinity_is_named) {
    const CsrMatrix<double> regular = problems::generate<double>(host(), "poisson2d:12").matrix;
    const CsrMatrix<double> singular = matrix_of<double>(144, [](Index, Index) { return 1.0; });
    for (const CsrMatrix<double>* matrix : {&regular, &singular}) {
        const CsrMatrix<double> placed = copy_to(context(), *matrix);
        std::vector<double> right(288, 1.0), start(288, 0.0);
        right[150] = std::numeric_limits<double>::infinity();
        const Buffer<double> b = copy_to_buffer(context(), right);
        for (const char* solver : {"auto", "gmres:20"}) {
            Buffer<double> x = copy_to_buffer(context(), start);
            Solver<double> two(context(), solver, "auto");
            two.setup(placed);
            const auto reports = two.solve({b.data(), 144, 2, 144}, {x.data(), 144, 2, 144});
            EXPECT_EQ(reports[0].status, Status::converged) << reports[0].message;
            EXPECT_EQ(reports[1].status, Status::non_finite);
            expect_contains(reports[1].message, "Row 6 of the right-hand side is NaN or infinite");
        }
    }
    expect_named_start();
    // Reduced systems, of which the row of infinity is none.
    const CsrMatrix<double> diagonal =
        copy_to(context(), make_csr<double>(3, 3, {{0}, {}, {2}}, {{1}, {}, {2}}));
    const Buffer<double> b = copy_to_buffer(
        context(), std::vector<double>{std::numeric_limits<double>::infinity(), 0, 1});
    Buffer<double> x = copy_to_buffer(context(), std::vector<double>(3));
    Solver<double> solver(context());
    solver.setup(diagonal);
    const SolveReport report = solver.solve(b.view(), x.view());
    EXPECT_EQ(report.status, Status::non_finite);
    expect_contains(report.message, "Row 0 of the right-hand side is NaN or infinite");
}

}  // namespace tessera::test
