#include <cstdio>

#include <tessera/tessera.hpp>

int main() {
    using namespace tessera;
    const Context context = Context::from_name("auto");  // The GPU if there is one.
    const auto problem = problems::generate<double>(Context::cpu(), "elasticity3d:12");
    const auto matrix = copy_to(context, problem.matrix);
    const auto b = copy_to_buffer(context, problem.load);
    Buffer<double> x(context, matrix.rows());
    fill(context, 0, x);
    const SolveReport report = solve(context, matrix, b, x);  // The method is chosen.
    std::printf("%s after %lld iterations, ||b - Ax|| / ||b|| = %.1e\n", to_string(report.status),
                static_cast<long long>(report.iterations), report.true_relative_residual);
    return report.status == Status::converged ? 0 : 1;
}
