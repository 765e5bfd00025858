// One multigrid over several devices, kept for solves with new right-hand sides and new values:
//     several_devices elasticity3d:40 2 cpu     (a problem, a number of devices or "all", auto or
//     cpu)
// Prints seconds of setups, updates and solves as JSON.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "tessera/tessera.hpp"

namespace {

double setup_seconds(const tessera::DeviceGroupReport& report) {
    double longest = 0;
    for (const tessera::DeviceShare& share : report.devices) {
        longest = std::max(longest, share.setup_seconds);
    }
    return longest;
}

}  // namespace

int main(int count, char** arguments) {
    using namespace tessera;
    const std::string text = count > 1 ? arguments[1] : "elasticity3d:16",
                      devices = count > 2 ? arguments[2] : "2",
                      device = count > 3 ? arguments[3] : "cpu";
    const int repetitions = count > 4 ? std::stoi(arguments[4]) : 1;
    try {
        const auto problem = problems::generate<double>(Context::cpu(), Spec(text));
        const CsrView<double> matrix = problem.matrix.view();
        const Offset n = matrix.rows;
        const std::vector<double> b(std::size_t(n), 1.0);
        PreconditionerInputs inputs;
        inputs.coordinates = problem.coordinates;
        DeviceGroupSolver solver(DeviceGroup::from_text(devices, device));
        for (int k = 0; k < repetitions; ++k) {
            solver.setup(matrix, inputs);
            const DeviceGroupReport made = solver.report();
            const auto solve = [&] {
                std::vector<double> x(b.size(), 0.0);
                return solver
                    .solve(Vectors<const double>(b.data(), n, 1, n),
                           Vectors<double>(x.data(), n, 1, n))
                    .front();
            };
            const SolveReport solved = solve();
            solver.update(matrix);
            const double updated = setup_seconds(solver.report());
            const SolveReport again = solve();
            if (solved.status != Status::converged || again.status != Status::converged) return 1;
            std::printf(
                "{\"problem\": \"%s\", \"rows\": %ld, \"nonzeros\": %ld, "
                "\"devices\": %d, \"device\": \"%s\", \"repetition\": %d, "
                "\"partition_seconds\": %.4f, \"deal_seconds\": %.4f, "
                "\"setup_seconds\": %.4f, \"update_seconds\": %.4f, "
                "\"solve_seconds\": [%.4f, %.4f], \"iterations\": %ld}\n",
                text.c_str(), long(n), long(matrix.nonzeros), solver.group().size(),
                solver.group().description().c_str(), k, made.partition_seconds,
                made.devices.front().deal_seconds, setup_seconds(made), updated, solved.seconds,
                again.seconds, long(solved.iterations));
        }
    } catch (const Error& error) {
        std::fprintf(stderr, "several_devices: %s\n", error.what());
        return 2;
    }
}
