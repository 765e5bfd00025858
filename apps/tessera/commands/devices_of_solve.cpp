#include "commands/devices_of_solve.hpp"

#include "commands/checks.hpp"
#include "run/interrupt.hpp"
#include "run/output.hpp"

namespace tessera::cli {

std::optional<DeviceGroup> open_devices(SolveArguments& arguments, const MethodConfig& method) {
    if (arguments.devices.empty() || arguments.devices == "1") return {};
    const InterruptNote note("starting devices '" + arguments.devices + "'");
    std::optional<DeviceGroup> group;
    try {
        group = DeviceGroup::from_text(arguments.devices, arguments.device, arguments.threads);
    } catch (const DeviceError& error) {
        throw DeviceUnavailable("--devices " + arguments.devices + ": " + error.what());
    } catch (const InvalidArgument& error) {
        throw InvalidArgument("--devices " + arguments.devices + ": " + error.what());
    }
    const Context& first = (*group)[0];
    if (group->size() == 1) {
        arguments.device = first.on_gpu() ? "cuda:" + std::to_string(first.device()) : "cpu";
        return {};
    }
    if (arguments.precision != "f64") {
        throw InvalidArgument(
            "--devices: several devices solve in double precision; leave out "
            "--precision " +
            arguments.precision);
    }
    if (!arguments.null_space.empty()) {
        throw InvalidArgument(
            "--devices: several devices solve systems without a null space; leave out --nullspace");
    }
    try {
        check_method_over_devices(method, solve_options(arguments));
    } catch (const InvalidArgument& error) {
        throw InvalidArgument(std::string("--devices: ") + error.what());
    }
    arguments.device = "cpu";
    return group;
}

void note_method_of_group(const MethodConfig& method, const SolveArguments& arguments) {
    if (!arguments.explain || arguments.quiet || (method.solver && method.preconditioner)) return;
    print_note(
        "over several devices auto is fcg with amg, for symmetric positive definite systems");
}

void add_group_report(const DeviceGroupReport& found, RunReport& report) {
    report.solver = found.solver;
    report.preconditioner = found.preconditioner;
    report.matrix.format = found.format;
    report.setup = found.setup;
    report.partition = found.partition;
    report.partition_seconds = found.partition_seconds;
    report.seconds.setup = found.partition_seconds + found.setup_seconds;
    report.devices = found.devices;
    for (const DeviceShare& share : found.devices) {
        report.peak_memory_bytes += share.peak_memory_bytes;
    }
}

}  // namespace tessera::cli
