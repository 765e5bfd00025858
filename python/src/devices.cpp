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

/// tessera::DeviceGroupSolver, with the functions of the other solver of matrices.
class PythonGroupSolver {
  public:
    PythonGroupSolver(const std::string& devices, const std::string& device, int threads,
                      const std::string& method, const std::string& preconditioner,
                      const std::string& format)
        : solver_(make(devices, device, threads, method, preconditioner, format)) {}

    /// Sets up for a matrix of doubles in host memory. Where the setup does not end in `seconds`,
    /// the next solve begins it again.
    void setup(std::shared_ptr<Matrix> matrix, const std::optional<Points>& points,
               const std::vector<Index>& unknowns, const std::optional<Points>& near_null,
               double seconds) {
        matrix_ = std::move(matrix);
        if (points) inputs_.coordinates = to_coordinates(points, unknowns);
        if (near_null) inputs_.near_null = to_near_null(*near_null);
        const Interruptible interruptible(seconds);
        set_up_in_time();
    }
    void update(Address values, nb::object arrays) {
        use_.update([&] {
            replace_values(*matrix_, values, std::move(arrays), [&] {
                if (solver_.has_matrix()) return solver_.update(matrix_->view<double>());
                set_up();
            });
        });
    }
    void replace_matrix(std::shared_ptr<Matrix> matrix) {
        const Computing computing;
        use_.update([&] {
            std::swap(matrix_, matrix);
            try {
                set_up();
            } catch (...) {
                std::swap(matrix_, matrix);
                throw;
            }
        });
    }
    /// The reports of the columns, the solver, the preconditioner, the format and the report of the
    /// setup.
    AnyTuple solve(const Systems& systems, const Options& options) {
        const int count = int(systems.count);
        SolveOptions chosen = to_options(options);
        DeviceGroupReport report;
        use_.solve([&] {
            if (!solver_.has_matrix()) {
                const Interruptible interruptible(chosen.max_seconds);
                const Clock::time_point begin = Clock::now();
                set_up_in_time();
                const std::chrono::duration<double> taken = Clock::now() - begin;
                chosen.max_seconds = std::max(0.0, chosen.max_seconds - taken.count());
            }
            const Computing computing;
            solver_.solve(Vectors<const double>(pointer<const double>(systems.b), systems.rows,
                                                count, systems.b_leading),
                          Vectors<double>(pointer<double>(systems.x), systems.rows, count,
                                          systems.x_leading),
                          chosen);
            report = solver_.report();
        });
        return nb::make_tuple(python_module::to_python(report.solves), report.solver,
                              report.preconditioner, report.format,
                              python_module::to_python(report.setup));
    }
    /// What each device did.
    AnyList devices() const {
        nb::list shares;
        for (const DeviceShare& share : solver_.report().devices) shares.append(::to_python(share));
        return shares;
    }
    std::string description() const { return solver_.group().description(); }
    Offset updates() const { return use_.updates(); }

  private:
    static DeviceGroupSolver make(const std::string& devices, const std::string& device,
                                  int threads, const std::string& method,
                                  const std::string& preconditioner, const std::string& format) {
        const Computing computing;
        const MethodConfig config(method, preconditioner, format);
        check_method_over_devices(config, {});
        return DeviceGroupSolver(DeviceGroup::from_text(devices, device, threads), config);
    }
    void set_up() { solver_.setup(matrix_->view<double>(), inputs_); }
    void set_up_in_time() {
        try {
            set_up();
        } catch (const Stopped&) {
        }
    }

    std::shared_ptr<Matrix> matrix_;
    PreconditionerInputs inputs_;
    DeviceGroupSolver solver_;
    SolverUse use_;
};

}  // namespace

void python_module::bind_devices(nb::module_& module) {
    nb::class_<PythonGroupSolver>(module, "GroupSolver", nb::dynamic_attr(),
                                  "A solver of one matrix over several devices.")
        .def(nb::init<const std::string&, const std::string&, int, const std::string&,
                      const std::string&, const std::string&>(),
             nb::arg("devices"), nb::arg("device"), nb::arg("threads"), nb::arg("method"),
             nb::arg("preconditioner"), nb::arg("format"))
        .def("setup", &PythonGroupSolver::setup, nb::arg("matrix"), nb::arg("points").none(),
             nb::arg("unknowns"), nb::arg("near_null").none(), nb::arg("seconds"))
        .def("update", &PythonGroupSolver::update, nb::arg("values"), nb::arg("arrays"))
        .def("replace_matrix", &PythonGroupSolver::replace_matrix, nb::arg("matrix"))
        .def("solve", &PythonGroupSolver::solve, nb::arg("systems"), nb::arg("options"))
        .def("devices", &PythonGroupSolver::devices)
        .def_prop_ro("description", &PythonGroupSolver::description)
        .def_prop_ro("updates", &PythonGroupSolver::updates);
}
