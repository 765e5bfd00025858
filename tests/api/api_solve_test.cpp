#include "support/test.hpp"

namespace tessera {
namespace {

/// Calls as users write them: without value types or parsed option texts.
TEST(api_solve, calls_name_no_types) {
    const Context context = test::context();
    const auto problem = problems::generate<double>(test::host(), "poisson2d:12");
    const CsrMatrix<double> matrix = copy_to(context, problem.matrix.view());
    Buffer<double> b(context, matrix.rows()), x(context, matrix.rows());
    fill<double>(context, 1, b.view());
    const CsrOperator<double> a(context, matrix.view());
    const BlockJacobi<double> m(context, matrix.view(), find_blocks(context, matrix.view(), 24));
    const auto start = [&] { fill<double>(context, 0, x.view()); };

    start();
    EXPECT_EQ(cg(context, a, &m, b.view(), x.view()).status, Status::converged);
    start();
    EXPECT_EQ(solve(context, "gmres:20", a, nullptr, b.view(), x.view()).status, Status::converged);
    start();
    EXPECT_EQ(solve(context, "idr:2", a, &m, b.view(), x.view()).status, Status::converged);
    start();
    const auto made = make_preconditioner(context, "block_jacobi:24", matrix);
    EXPECT_EQ(solve(context, "cg", a, made.get(), b.view(), x.view()).status, Status::converged);
    EXPECT_EQ(make_preconditioner(context, "jacobi", matrix.view())->report().largest_block, 1);
}

/// Without rtol a solve ends at a residual that its type of values can reach.
template <class T>
void expect_default_tolerance() {
    const Context context = test::context();
    const auto problem = problems::generate<T>(test::host(), "poisson2d:50");
    const auto matrix = copy_to(context, problem.matrix);
    Buffer<T> b(context, matrix.rows()), x(context, matrix.rows());
    fill(context, 1, b);
    fill(context, 0, x);
    const SolveReport report = solve(context, matrix, b, x);
    EXPECT_EQ(report.status, Status::converged) << report.message;
    EXPECT_LE(report.true_relative_residual, default_rtol<T>);
}
TEST(api_solve, the_default_tolerance_suits_the_type) {
    expect_default_tolerance<double>();
    expect_default_tolerance<float>();
}

/// Texts are parsed, and their errors reported, before there is a matrix.
TEST(api_solve, texts_are_read_once) {
    // b, x, two vectors of the driver, six of the basis, one for M^-1, and the triangle.
    EXPECT_EQ(parse_solver("gmres:5")->numbers(100), 100 * 13 + 25);
    EXPECT_EQ(parse_preconditioner("block_jacobi:8")->bytes(100, 1000, 8), 100 * 8 * 8);
    for (const char* wrong : {"cgs", "cg:3", "idr:17", "gmres,restart=3"}) {
        EXPECT_THROW(parse_solver(wrong), InvalidArgument) << wrong;
    }
    for (const char* wrong :
         {"jakobi", "block_jacobi:65", "block_ldlt:7", "chebyshev,bound=1,lower=2"}) {
        EXPECT_THROW(parse_preconditioner(wrong), InvalidArgument) << wrong;
    }
    for (const std::string& name : solver_names()) {
        EXPECT_NE(solver_help().find("  " + name), std::string::npos) << name;
    }
    for (const std::string& name : preconditioner_names()) {
        EXPECT_NE(preconditioner_help().find(name), std::string::npos) << name;
    }
}

}  // namespace
}  // namespace tessera
