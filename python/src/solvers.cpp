#include <chrono>

#include "core.hpp"

using namespace python_module;

namespace {

/// Options of a solve, as Python passes them.
struct Options {
    double rtol = 1e-8, atol = 0;
    Offset max_iterations = 10000;
    double max_seconds = std::numeric_limits<double>::infinity();
    Offset stagnation_window = 2000;
    bool left = false;
    bool signals = false;  ///< Ctrl-C is looked at: the caller is the main thread.
    nb::object callback = nb::none();
    Address iterate = 0;  ///< Where x is copied to before each call of the callback; 0: it is not.
};

using Clock = std::chrono::steady_clock;

/// Passes progress to the callback, and throws for Ctrl-C. Without a callback the lock of the
/// interpreter is taken fifty times a second at most.
class Observer {
  public:
    explicit Observer(const Options& options)
        : callback_(options.callback.is_none() ? nb::handle() : nb::handle(options.callback)),
          signals_(options.signals),
          iterate_(options.iterate) {}

    bool operator()(const Progress& progress) {
        const Clock::time_point now = Clock::now();
        const bool look = signals_ && now - latest_ > std::chrono::milliseconds(20);
        if (!look && !callback_) return true;
        if (iterate_ != 0 && progress.copy_x) progress.copy_x(pointer<void>(iterate_));
        nb::gil_scoped_acquire gil;
        if (look) {
            latest_ = now;
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
        }
        if (!callback_) return true;
        const nb::object answer = callback_(progress.iterations, progress.relative_residual,
                                            progress.target, progress.seconds, progress.vector);
        return !answer.is(nb::bool_(false));
    }

  private:
    nb::handle callback_;  // The caller holds it during the call.
    bool signals_;
    Address iterate_;
    Clock::time_point latest_ = Clock::now();
};

SolveOptions to_options(const Options& given) {
    SolveOptions options;
    options.rtol = given.rtol;
    options.atol = given.atol;
    options.max_iterations = given.max_iterations;
    options.max_seconds = given.max_seconds;
    options.stagnation_window = given.stagnation_window;
    options.left_preconditioning = given.left;
    if (!given.callback.is_none()) options.check_interval = 1;
    if (given.signals || !given.callback.is_none()) options.observer = Observer(given);
    return options;
}

AnyDict to_python(const SolveReport& report) {
    nb::dict result;
    result["status"] = to_string(report.status);
    result["message"] = report.message;
    result["iterations"] = report.iterations;
    result["operator_applications"] = report.operator_applications;
    result["relative_residual"] = report.relative_residual;
    result["true_residual"] = report.true_relative_residual;
    result["restarts"] = report.restarts;
    result["recoveries"] = report.recoveries;
    result["seconds"] = report.seconds;
    result["residuals"] = report.residuals;
    return result;
}

AnyList to_python(const std::vector<SolveReport>& reports) {
    nb::list list;
    for (const SolveReport& report : reports) list.append(to_python(report));
    return list;
}

/// Right-hand sides and solutions: columns of column-major arrays, x also the start. `on_host`:
/// in host memory, whatever the Context.
struct Systems {
    Offset rows = 0, count = 1;
    Address b = 0;
    Offset b_leading = 0;
    Address x = 0;
    Offset x_leading = 0;
    bool on_host = false;
};

/// run(b, x) with the systems in the memory of `context`.
template <class T, class Run>
std::vector<SolveReport> with_vectors(const Context& context, const Systems& systems, Run&& run) {
    const int count = int(systems.count);
    const Vectors<const T> b(pointer<const T>(systems.b), systems.rows, count, systems.b_leading);
    const Vectors<T> x(pointer<T>(systems.x), systems.rows, count, systems.x_leading);
    if (!systems.on_host || !context.on_gpu()) return run(b, x);
    Buffer<T> b_copy(context, b.size * count), x_copy(context, x.size * count);
    const Vectors<T> b_device(b_copy.data(), b.size, count, b.size);
    const Vectors<T> x_device(x_copy.data(), x.size, count, x.size);
    for (int j = 0; j < count; ++j) {
        copy_from_host(context, b[j], b_device[j]);
        copy_from_host(context, std::span<const T>(x[j]), x_device[j]);
    }
    std::vector<SolveReport> reports = run(Vectors<const T>(b_device), x_device);
    for (int j = 0; j < count; ++j) {
        copy_to_host(context, std::span<const T>(x_device[j]), x[j]);
    }
    return reports;
}

/// tessera::Solver for one matrix: all from texts.
struct TextSolver {
    Context context;
    std::variant<Solver<float>, Solver<double>> any;
    std::shared_ptr<Matrix> matrix = nullptr;
    double setup_seconds = 0;
    SolverUse use = {};

    TextSolver(const Context& at, std::shared_ptr<Matrix> given, const std::string& solver,
               const std::string& preconditioner, const std::string& format,
               const std::optional<Points>& points, const std::vector<Index>& unknowns)
        : context(at), any(make(at, given->bytes(), solver, preconditioner, format)) {
        if (points) {
            const Shared<NodeCoordinates> coordinates = to_coordinates(points, unknowns);
            std::visit([&](auto& s) { s.use_coordinates(coordinates); }, any);
        }
        matrix = std::move(given);
        nb::gil_scoped_release release;
        timed([&] {
            std::visit([&]<class T>(Solver<T>& solver) { solver.setup(matrix->view<T>()); }, any);
        });
    }

    static std::variant<Solver<float>, Solver<double>> make(const Context& at, int bytes,
                                                            const std::string& solver,
                                                            const std::string& preconditioner,
                                                            const std::string& format) {
        if (bytes == 4) return Solver<float>(at, solver, preconditioner, format);
        return Solver<double>(at, solver, preconditioner, format);
    }

    void timed(const std::function<void()>& work) {
        const Clock::time_point start = Clock::now();
        work();
        setup_seconds = std::chrono::duration<double>(Clock::now() - start).count();
    }

    /// Sets other values of the matrix, which is its own.
    void update(Address values, nb::object arrays) {
        use.update([&] {
            replace_values(*matrix, values, std::move(arrays), [&] {
                timed([&] {
                    std::visit(
                        [&]<class T>(Solver<T>& solver) {
                            if (solver.has_matrix()) return solver.update(matrix->view<T>());
                            solver.setup(matrix->view<T>());
                        },
                        any);
                });
            });
        });
    }

    /// Returns the reports of the columns, the attempts of auto, the index of the attempt in use,
    /// and the text and the report of its preconditioner.
    AnyTuple solve(const Systems& systems, const Options& options) {
        std::vector<SolveReport> reports;
        std::vector<Attempt> attempts;
        int attempt = 0;
        std::string preconditioner;
        PreconditionerReport setup;
        {
            nb::gil_scoped_release release;
            const auto run = [&]<class T>(Solver<T>& solver) {
                reports = with_vectors<T>(context, systems, [&](auto b, auto x) {
                    return solver.solve(b, x, to_options(options));
                });
                attempts = solver.attempts();
                attempt = solver.attempt();
                preconditioner = solver.preconditioner();
                setup = solver.preconditioner_report();
            };
            use.solve([&] { std::visit(run, any); });
        }
        nb::list chosen;
        for (const Attempt& each : attempts) {
            chosen.append(
                nb::make_tuple(each.solver, each.preconditioner, each.format, each.reason));
        }
        return nb::make_tuple(::to_python(reports), chosen, attempt, preconditioner,
                              python_module::to_python(setup));
    }
};

/// A Krylov method on operators of the caller.
struct MapSolver {
    Context context;
    std::unique_ptr<SolverConfig> config;
    std::shared_ptr<Map> a = nullptr, m = nullptr;
    std::variant<std::unique_ptr<IterativeSolver<float>>, std::unique_ptr<IterativeSolver<double>>>
        any = {};
    SolverUse use = {};

    MapSolver(const Context& at, const std::string& method, std::shared_ptr<Map> matrix,
              std::shared_ptr<Map> preconditioner)
        : context(at), config(parse_solver(method)) {
        set(std::move(matrix), std::move(preconditioner));
    }

    void set(std::shared_ptr<Map> matrix, std::shared_ptr<Map> preconditioner) {
        with_type(matrix->bytes(), [&]<class T>(T) {
            any = config->make(context, *matrix->as<T>(),
                               preconditioner ? preconditioner->as<T>().get() : nullptr);
        });
        a = std::move(matrix);
        m = std::move(preconditioner);
    }

    /// `changed`: the operators have other values than in the previous solve.
    AnyList solve(const Systems& systems, const Options& options, bool changed) {
        std::vector<SolveReport> reports;
        {
            nb::gil_scoped_release release;
            const auto run = [&]<class T>(std::unique_ptr<IterativeSolver<T>>& solver) {
                if (changed) solver->operators_changed();
                return with_vectors<T>(context, systems, [&](auto b, auto x) {
                    return solver->solve(b, x, to_options(options));
                });
            };
            reports = use.solve([&] {
                const Users::Reader of_a(a->users, "A"), of_m((m ? m : a)->users, "M");
                a->require_usable("matrix");
                if (m) m->require_usable("preconditioner");
                return std::visit(run, any);
            });
        }
        return ::to_python(reports);
    }
};

/// Replaces the operators of a MapSolver by those that make() returns, a pair (a, m). The Python
/// object owns them, as `maps`, and so the functions of Python in them.
void update_maps(nb::object self, nb::callable make) {
    auto& solver = nb::cast<MapSolver&>(self);
    solver.use.update([&] {
        const nb::object maps = make();
        const auto [a, m] = nb::cast<std::tuple<std::shared_ptr<Map>, std::shared_ptr<Map>>>(maps);
        solver.set(a, m);
        self.attr("maps") = maps;
    });
}

/// Solves A x = b by a Krylov method on operators of the caller, from the start at `start` (0: from
/// zero), and returns the status and the number of iterations. All of a call of cg and the like in
/// one, as a solve of a small system takes little longer than a few calls of the interpreter.
nb::typed<nb::tuple, std::string, Offset> solve_once(const Context& context,
                                                     const std::string& method, const Map& a,
                                                     const Map* m, Address b, Address start,
                                                     Address x, const Options& options) {
    SolveReport report;
    {
        nb::gil_scoped_release release;
        const Users::Reader of_a(a.users, "A"), of_m((m != nullptr ? *m : a).users, "M");
        a.require_usable("matrix");
        if (m != nullptr) m->require_usable("preconditioner");
        with_type(a.bytes(), [&]<class T>(T) {
            const Operator<T>& matrix = *a.as<T>();
            const auto size = std::size_t(matrix.rows());
            const std::span<T> to(pointer<T>(x), size);
            if (start == 0) {
                fill(context, T(0), to);
            } else {
                copy(context, std::span<const T>(pointer<const T>(start), size), to);
            }
            report =
                parse_solver(method)
                    ->make(context, matrix, m != nullptr ? m->as<T>().get() : nullptr)
                    ->solve(std::span<const T>(pointer<const T>(b), size), to, to_options(options));
        });
    }
    return nb::make_tuple(to_string(report.status), report.iterations);
}

}  // namespace

void python_module::bind_solvers(nb::module_& module) {
    nb::class_<Options>(module, "Options", "When a solve ends.")
        .def(
            "__init__",
            [](Options* made, double rtol, double atol, Offset max_iterations, double max_seconds,
               Offset stagnation_window, bool left, bool signals, nb::object callback) {
                new (made)
                    Options{rtol, atol,    max_iterations,     max_seconds, stagnation_window,
                            left, signals, std::move(callback)};
            },
            nb::arg("rtol"), nb::arg("atol"), nb::arg("max_iterations"), nb::arg("max_seconds"),
            nb::arg("stagnation_window"), nb::arg("left"), nb::arg("signals"),
            nb::arg("callback").none())
        .def_rw("iterate", &Options::iterate);
    nb::class_<Systems>(module, "Systems", "Right-hand sides and solutions.")
        .def(
            "__init__",
            [](Systems* made, Offset rows, Offset count, Address b, Offset b_leading, Address x,
               Offset x_leading, bool on_host) {
                new (made) Systems{rows, count, b, b_leading, x, x_leading, on_host};
            },
            nb::arg("rows"), nb::arg("count"), nb::arg("b"), nb::arg("b_leading"), nb::arg("x"),
            nb::arg("x_leading"), nb::arg("on_host"));
    nb::class_<TextSolver>(module, "TextSolver", "A solver made from texts.")
        .def(nb::init<const Context&, std::shared_ptr<Matrix>, const std::string&,
                      const std::string&, const std::string&, const std::optional<Points>&,
                      const std::vector<Index>&>(),
             nb::arg("context"), nb::arg("matrix"), nb::arg("solver"), nb::arg("preconditioner"),
             nb::arg("format"), nb::arg("points").none(), nb::arg("unknowns"))
        .def("update", &TextSolver::update, nb::arg("values"), nb::arg("arrays"))
        .def("solve", &TextSolver::solve, nb::arg("systems"), nb::arg("options"))
        .def_prop_ro("context", [](const TextSolver& s) { return s.context; })
        .def_prop_ro("updates", [](const TextSolver& s) { return s.use.updates(); })
        .def_ro("setup_seconds", &TextSolver::setup_seconds);
    nb::class_<MapSolver>(module, "MapSolver", nb::dynamic_attr(), "A Krylov method on operators.")
        .def(nb::init<const Context&, const std::string&, std::shared_ptr<Map>,
                      std::shared_ptr<Map>>(),
             nb::arg("context"), nb::arg("method"), nb::arg("a"), nb::arg("m").none())
        .def("solve", &MapSolver::solve, nb::arg("systems"), nb::arg("options"),
             nb::arg("changed") = false)
        .def("update", &update_maps, nb::arg("make"))
        .def_prop_ro("context", [](const MapSolver& s) { return s.context; })
        .def_prop_ro("updates", [](const MapSolver& s) { return s.use.updates(); });
    module.def("solve_once", &solve_once, nb::arg("context"), nb::arg("method"), nb::arg("a"),
               nb::arg("m").none(), nb::arg("b"), nb::arg("start"), nb::arg("x"),
               nb::arg("options"));
    module.def(
        "allows_left",
        [](const std::string& method) { return parse_solver(method)->allows_left(); },
        nb::arg("method"));
    module.def("solver_names", &solver_names);
    module.def("solver_help", &solver_help);
}
