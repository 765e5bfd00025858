#include <algorithm>

#include "support/test.hpp"

namespace tessera {
namespace {

struct Solved {
    SolveReport report;
    std::vector<double> x;
};

constexpr double rtol = 1e-8;

Solved solve_on(const Context& context, const problems::Problem<double>& problem,
                const std::string& solver) {
    const CsrMatrix<double> matrix = copy_to(context, problem.matrix.view());
    const auto preconditioner =
        make_preconditioner<double>(context, "block_jacobi:16,singular=identity", matrix.view());
    Buffer<double> b(context, matrix.rows()), x(context, matrix.rows());
    if (problem.load.empty()) {
        fill_uniform(context, 3, b.view());
    } else {
        copy_from_host(context, std::span<const double>(problem.load), b.view());
    }
    fill(context, 0.0, x.view());
    SolveOptions options;
    options.rtol = rtol;
    options.max_iterations = 20000;
    const CsrOperator<double> a(context, matrix.view());
    SolveReport report = solve<double>(context, Spec(solver), a, preconditioner.get(),
                                       std::as_const(b).view(), x.view(), options);
    return {std::move(report), copy_to_host(context, x)};
}

double norm(const std::vector<double>& x) {
    long double sum = 0;
    for (const double element : x) sum += (long double)element * element;
    return double(std::sqrt(sum));
}

/// ||A (x - y)||
double difference(const CsrView<double>& a, const std::vector<double>& x,
                  const std::vector<double>& y) {
    std::vector<double> product(std::size_t(a.rows));
    for (Index i = 0; i < a.rows; ++i) {
        long double sum = 0;
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const std::size_t j = std::size_t(a.column_indices[k]);
            sum += (long double)a.values[k] * ((long double)x[j] - y[j]);
        }
        product[std::size_t(i)] = double(sum);
    }
    return norm(product);
}

/// The context under test against one thread of the CPU: counts agree to `share` (or one
/// iteration), and the solutions within the tolerance.
void compare(const std::string& text, const std::string& solver, double share) {
    SCOPED_TRACE(text + " " + solver);
    const auto problem = problems::generate<double>(test::host(), Spec(text));
    const Solved tested = solve_on(test::context(), problem, solver);
    const Solved reference = solve_on(test::host(1), problem, solver);
    ASSERT_EQ(tested.report.status, Status::converged) << tested.report.message;
    ASSERT_EQ(reference.report.status, Status::converged) << reference.report.message;
    const double fewest = double(
        std::min(tested.report.operator_applications, reference.report.operator_applications));
    if (solver == "cg" || fewest < 200) {
        EXPECT_LE(std::abs(double(tested.report.iterations - reference.report.iterations)),
                  std::max(1.0, share * double(reference.report.iterations)));
    }
    std::vector<double> b = problem.load;
    if (b.empty()) {
        b.resize(std::size_t(problem.matrix.rows()));
        fill_uniform(test::host(), 3, std::span<double>(b));
    }
    EXPECT_LE(difference(problem.matrix.view(), tested.x, reference.x), 2 * rtol * norm(b));
}

TEST(backends, cg_needs_as_many_iterations) {
    for (const char* problem : {"poisson2d:60", "poisson3d:16", "tridiagonal:500", "arrow:400",
                                "elasticity2d:30", "elasticity3d:9"}) {
        compare(problem, "cg", 0.02);
    }
}

TEST(backends, every_solver_converges_to_the_same) {
    for (const char* problem : {"poisson3d:12", "convection3d:12,strength=20", "elasticity2d:16",
                                "random_blocks:80,sizes=1-8"}) {
        for (const char* solver :
             {"bicgstab", "idr:1", "idr:4", "idr:8", "gmres:80", "gmres:200"}) {
            compare(problem, solver, 0.1);
        }
    }
    compare("elasticity3d:6", "fcg", 0.1);
    compare("arrow:400", "richardson", 0.1);
}

TEST(backends, blocks_are_equal) {
    const Context context = test::context();
    for (const char* text : {"elasticity2d:40", "elasticity3d:9", "random_blocks:500", "arrow:3000",
                             "poisson2d:50", "block_diagonal:4000,7", "euler3d:7"}) {
        const auto problem = problems::generate<double>(test::host(), Spec(text));
        const CsrMatrix<double> matrix = copy_to(context, problem.matrix.view());
        for (const Index bound : {1, 2, 5, 8, 16, 31, 32, 64}) {
            for (const Blocking blocking : {Blocking::supervariable, Blocking::natural}) {
                const BlockPartition tested = find_blocks(context, matrix.view(), bound, blocking);
                const BlockPartition reference =
                    find_blocks(test::host(1), problem.matrix.view(), bound, blocking);
                EXPECT_EQ(copy_to_host(context, tested.block_offsets),
                          copy_to_host(test::host(1), reference.block_offsets))
                    << text << " " << bound << " " << to_string(blocking);
                EXPECT_EQ(tested.largest, reference.largest);
                EXPECT_EQ(tested.entries, reference.entries);
            }
        }
    }
}

}  // namespace
}  // namespace tessera
