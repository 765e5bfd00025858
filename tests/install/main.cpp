// Solves a Poisson problem with an installed Tessera, and checks the result itself.
#include <cmath>
#include <cstdio>
#include <vector>

#include <tessera/tessera.hpp>

int main() {
    const auto context = tessera::Context::cpu();
    const auto problem = tessera::problems::generate<double>(context, "poisson2d:20");
    const auto a = problem.matrix.view();
    const tessera::CsrOperator<double> matrix(context, a);
    const tessera::BlockJacobi<double> jacobi(context, a,
                                              tessera::uniform_partition(context, a.rows, 4));
    const std::vector<double> b(std::size_t(a.rows), 1.0);
    std::vector<double> x(b.size(), 0.0);
    const auto report = tessera::cg<double>(context, matrix, &jacobi, b, x);
    double residual = 0;
    for (tessera::Index i = 0; i < a.rows; ++i) {
        double r = b[std::size_t(i)];
        for (auto k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k)
            r -= a.values[k] * x[std::size_t(a.column_indices[k])];
        residual += r * r;
    }
    residual = std::sqrt(residual / double(a.rows));
    std::printf("tessera %s: %s, relative residual %.1e\n", tessera::version(),
                tessera::to_string(report.status), residual);
    // The residual computed here differs from the report by the rounding of one product.
    return report.status == tessera::Status::converged &&
                   residual <= 2 * tessera::default_rtol<double>
               ? 0
               : 1;
}
