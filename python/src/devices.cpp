#include "solving.hpp"

using namespace python_module;

namespace {

AnyDict to_python(const DeviceShare& share) {
    nb::dict result;
    result["device"] = share.device;
    result["rows"] = share.rows;
    result["nonzeros"] = share.nonzeros;
    result["neighbours"] = share.neighbours;
    result["received_bytes"] = share.received_bytes;
    result["peak_memory_bytes"] = share.peak_memory_bytes;
    result["deal_seconds"] = share.deal_seconds;
    result["setup_seconds"] = share.setup_seconds;
    result["wait_seconds"] = share.wait_seconds;
    return result;
}

/// Solves with a matrix of doubles in host memory by a group of devices. Returns the reports of the
/// columns, the solver, preconditioner and format, the report of the setup, its seconds, those of
/// the partition included, the description of the group and what its devices did.
AnyTuple solve_on_devices(const Matrix& matrix, const std::string& devices,
                          const std::string& device, int threads, const std::string& method,
                          const std::string& preconditioner, const std::string& format,
                          const std::optional<Points>& points, const std::vector<Index>& unknowns,
                          const std::optional<Points>& near_null, const Systems& systems,
                          const Options& options) {
    PreconditionerInputs inputs;
    if (points) inputs.coordinates = to_coordinates(points, unknowns);
    if (near_null) inputs.near_null = to_near_null(*near_null);
    DeviceGroupReport report;
    std::string description;
    {
        const Interruptible interruptible;
        const MethodConfig config(method, preconditioner, format);
        const SolveOptions chosen = to_options(options);
        check_method_over_devices(config, chosen);
        const DeviceGroup group = DeviceGroup::from_text(devices, device, threads);
        description = group.description();
        const int count = int(systems.count);
        report = solve(
            group, config, matrix.view<double>(),
            Vectors<const double>(pointer<const double>(systems.b), systems.rows, count,
                                  systems.b_leading),
            Vectors<double>(pointer<double>(systems.x), systems.rows, count, systems.x_leading),
            inputs, chosen);
    }
    nb::list shares;
    for (const DeviceShare& share : report.devices) shares.append(::to_python(share));
    return nb::make_tuple(python_module::to_python(report.solves), report.solver,
                          report.preconditioner, report.format,
                          python_module::to_python(report.setup),
                          report.partition_seconds + report.setup_seconds, description, shares);
}

}  // namespace

void python_module::bind_devices(nb::module_& module) {
    module.def("solve_on_devices", &solve_on_devices, nb::arg("matrix"), nb::arg("devices"),
               nb::arg("device"), nb::arg("threads"), nb::arg("method"), nb::arg("preconditioner"),
               nb::arg("format"), nb::arg("points").none(), nb::arg("unknowns"),
               nb::arg("near_null").none(), nb::arg("systems"), nb::arg("options"));
}
