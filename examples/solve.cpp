#include <cstdio>

#include <tessera/tessera.hpp>

int main() {
    using namespace tessera;
    const Context cpu = Context::cpu();
    const Context context = Context::from_name("auto");  // The GPU if there is one.
    const auto problem = problems::generate<double>(cpu, "elasticity3d:12");
    const auto matrix = copy_to(context, problem.matrix);
    const auto b = copy_to_buffer(context, problem.load);
    Buffer<double> x(context, matrix.rows());
    fill(context, 0, x);

    const CsrOperator a(context, matrix);
    const BlockJacobi m(context, matrix, find_blocks(context, matrix, 24));
    const SolveReport report = cg(context, a, &m, b, x);
    std::printf("%s after %lld iterations, ||b - Ax|| / ||b|| = %.1e\n", to_string(report.status),
                static_cast<long long>(report.iterations), report.true_relative_residual);
    return report.status == Status::converged ? 0 : 1;
}
