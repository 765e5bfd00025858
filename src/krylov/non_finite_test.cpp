#include "base/find_csr_entry.hpp"
#include "krylov/test_systems.hpp"
#include "support/messages.hpp"
#include "tessera/solver.hpp"

namespace tessera::test {

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

}  // namespace tessera::test
