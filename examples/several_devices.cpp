// One multigrid over several devices, kept for solves with new right-hand sides and new values:
//     several_devices elasticity3d:40 2 cpu 3
// a problem, a number of devices (1: class Solver), auto or cpu, and how often. Prints seconds of
// setups, updates and solves as JSON.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "tessera/tessera.hpp"

namespace {

using namespace tessera;

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// A system, and what a repetition took.
struct Run {
    std::string text;
    problems::Problem<double> problem;
    std::vector<double> b, x;
    double deal = 0, setup = 0, update = 0, first_solve = 0, solve = 0;
    SolveReport report;

    explicit Run(const std::string& name)
        : text(name), problem(problems::generate<double>(Context::cpu(), Spec(name))) {
        b.assign(std::size_t(problem.matrix.rows()), 1.0);
        x.resize(b.size());
    }
    void print(int devices, const std::string& device, int repetition) const {
        std::printf(
            "{\"matrix\": \"%s\", \"rows\": %ld, \"nonzeros\": %ld, \"devices\": %d, "
            "\"device\": \"%s\", \"repetition\": %d, \"deal_seconds\": %.4f, "
            "\"setup_seconds\": %.4f, \"update_seconds\": %.4f, "
            "\"first_solve_seconds\": %.4f, \"seconds\": %.4f, \"iterations\": %ld, "
            "\"status\": \"%s\"}\n",
            text.c_str(), long(problem.matrix.rows()), long(problem.matrix.nonzeros()), devices,
            device.c_str(), repetition, deal, setup, update, first_solve, solve,
            long(report.iterations), to_string(report.status));
    }
};

double setup_seconds(const DeviceGroupReport& report) {
    double longest = 0;
    for (const DeviceShare& share : report.devices) {
        longest = std::max(longest, share.setup_seconds);
    }
    return longest;
}

void run_on_devices(Run& run, DeviceGroup group, int repetitions) {
    const Offset n = run.problem.matrix.rows();
    PreconditionerInputs inputs;
    inputs.coordinates = run.problem.coordinates;
    DeviceGroupSolver solver(std::move(group));
    const auto solve = [&] {
        std::ranges::fill(run.x, 0.0);
        run.report = solver
                         .solve(Vectors<const double>(run.b.data(), n, 1, n),
                                Vectors<double>(run.x.data(), n, 1, n))
                         .front();
        return run.report.seconds;
    };
    for (int k = 0; k < repetitions; ++k) {
        solver.setup(run.problem.matrix.view(), inputs);
        run.setup = setup_seconds(solver.report());
        run.deal = solver.report().partition_seconds + solver.report().devices.front().deal_seconds;
        run.first_solve = solve();
        solver.update(run.problem.matrix.view());
        run.update = setup_seconds(solver.report());
        run.solve = solve();
        run.print(solver.group().size(), solver.group().description(), k);
    }
}

void run_on_one(Run& run, const Context& context, int repetitions) {
    const CsrMatrix<double> matrix = copy_to(context, run.problem.matrix);
    const Buffer<double> b = copy_to_buffer(context, run.b);
    Buffer<double> x(context, b.size());
    const auto timed = [&](auto&& f) {
        context.synchronize();
        const double start = now();
        f();
        context.synchronize();
        return now() - start;
    };
    for (int k = 0; k < repetitions; ++k) {
        Solver<double> solver(context, "fcg", "amg", "auto");
        solver.use_coordinates(run.problem.coordinates);
        const auto solve = [&] {
            fill<double>(context, 0, x.view());
            run.report = solver.solve(b.view(), x.view());
            return run.report.seconds;
        };
        run.setup = timed([&] { solver.setup(matrix.view()); });
        run.first_solve = solve();
        timed([&] { solver.update(matrix.view()); });  // The first one makes patterns.
        run.update = timed([&] { solver.update(matrix.view()); });
        run.solve = solve();
        run.print(1, context.description(), k);
    }
}

}  // namespace

int main(int count, char** arguments) {
    const std::string text = count > 1 ? arguments[1] : "elasticity3d:16",
                      devices = count > 2 ? arguments[2] : "2",
                      device = count > 3 ? arguments[3] : "cpu";
    const int repetitions = count > 4 ? std::stoi(arguments[4]) : 1;
    try {
        Run run(text);
        if (devices == "1") {
            run_on_one(run, Context::from_name(device), repetitions);
        } else {
            run_on_devices(run, DeviceGroup::from_text(devices, device), repetitions);
        }
        return run.report.status == Status::converged ? 0 : 1;
    } catch (const Error& error) {
        std::fprintf(stderr, "several_devices: %s\n", error.what());
        return 2;
    }
}
