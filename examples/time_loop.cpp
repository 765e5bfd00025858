// Steps of the heat equation on a square, (I + dt K(t)) u_next = u with a conductivity that changes
// in time: one Solver serves all steps; its solves allocate in the first one only.
#include <cstdio>
#include <vector>

#include <tessera/tessera.hpp>

using namespace tessera;

namespace {

constexpr Index side = 60, rows = side * side;
constexpr double dt = 1e-2, width = 1.0 / (side + 1);

/// The five-point stencil of 1 + dt K; the pattern is the same for every conductivity.
CsrMatrix<double> assemble(const Context& cpu, double conductivity) {
    const Offset nonzeros = 5 * rows - 4 * side;
    CsrMatrix<double> matrix(cpu, rows, rows, nonzeros);
    const double coupling = dt * conductivity / (width * width);
    Offset k = 0;
    for (Index i = 0; i < rows; ++i) {
        matrix.row_offsets().data()[i] = k;
        const auto add = [&](bool inside, Index j, double value) {
            if (!inside) return;
            matrix.column_indices().data()[k] = j;
            matrix.values().data()[k++] = value;
        };
        add(i >= side, i - side, -coupling);
        add(i % side > 0, i - 1, -coupling);
        add(true, i, 1 + 4 * coupling);
        add(i % side + 1 < side, i + 1, -coupling);
        add(i + side < rows, i + side, -coupling);
    }
    matrix.row_offsets().data()[rows] = k;
    return matrix;
}

}  // namespace

int main() {
    const Context cpu = Context::cpu();
    const Context context = Context::from_name("auto");  // The GPU if there is one.
    Buffer<double> u = copy_to_buffer(context, std::vector<double>(rows, 1.0));
    Buffer<double> next = copy_to_buffer(context, std::vector<double>(rows, 1.0));
    Solver<double> solver(context, "cg", "chebyshev:4");
    CsrMatrix<double> matrix = copy_to(context, assemble(cpu, 1));
    solver.setup(matrix);
    for (int step = 0; step < 20; ++step) {
        if (step > 0) {
            const CsrMatrix<double> values = assemble(cpu, 1 + 0.1 * step);
            copy_from_host(context, values.values(), matrix.values());
            solver.update(matrix);
        }
        const SolveReport report = solver.solve(u, next);  // From the last u.
        if (report.status != Status::converged) {
            std::printf("step %d: %s\n", step, report.message.c_str());
            return 1;
        }
        copy(context, next, u);
        if (step % 5 == 4) {
            std::printf("t = %.2f: %lld iterations, u = %.4f in the middle\n", dt * (step + 1),
                        static_cast<long long>(report.iterations),
                        copy_to_host(context, u)[std::size_t(rows / 2 + side / 2)]);
        }
    }
    return 0;
}
