#include <algorithm>

#include "solving.hpp"

using namespace python_module;

namespace {

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

/// tessera::Solver for a matrix or for operators of the caller.
class PythonSolver {
  public:
    PythonSolver(const Context& at, const std::string& method, const std::string& preconditioner,
                 const std::string& format)
        : context(at), method_(method, preconditioner, format) {}

    /// Sets up for a matrix; `m`: a preconditioner in place of that of the text, or null. Where the
    /// setup does not end in `seconds`, the next solve begins it again.
    void setup(std::shared_ptr<Matrix> matrix, const std::optional<Points>& points,
               const std::vector<Index>& unknowns, const std::optional<Points>& near_null,
               const std::optional<Points>& null_space, std::shared_ptr<Map> m, double seconds) {
        matrix_ = std::move(matrix);
        m_ = std::move(m);
        make(matrix_->bytes());
        std::visit(
            [&]<class T>(Solver<T>& solver) {
                if (points) solver.use_coordinates(to_coordinates(points, unknowns));
                if (near_null) solver.use_near_null_space(to_near_null(*near_null));
                if (null_space) solver.use_null_space(to_near_null(*null_space));
            },
            *solver_);
        const Interruptible interruptible(seconds);
        try {
            set_up();
        } catch (const Stopped&) {
        }
    }
    /// Sets up for operators of the caller; `m` null: none.
    void setup_operators(std::shared_ptr<Map> a, std::shared_ptr<Map> m) {
        a_ = std::move(a);
        m_ = std::move(m);
        make(a_->bytes());
        const Computing computing;
        std::visit(
            [&]<class T>(Solver<T>& solver) {
                solver.setup(*a_->as<T>(), m_ ? m_->as<T>().get() : nullptr);
            },
            *solver_);
    }
    /// Sets other values of the matrix, which is its own.
    void update(Address values, nb::object arrays) {
        use_.update([&] {
            replace_values(*matrix_, values, std::move(arrays), [&] {
                std::visit(
                    [&]<class T>(Solver<T>& solver) {
                        if (solver.has_matrix()) return solver.update(matrix_->view<T>());
                        set_up();
                    },
                    *solver_);
            });
        });
    }

    /// Sets up for a matrix of as many rows with another pattern. Where that fails an update has
    /// the pattern that it had before.
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

    /// The reports of the columns, and what the solver is that they are of: attempts of auto, the
    /// number of the one in use, the solver, the preconditioner, the format and the report of the
    /// setup. `changed`: operators have other values than in the solve before.
    AnyTuple solve(const Systems& systems, const Options& options, bool changed) {
        std::vector<SolveReport> reports;
        std::vector<Attempt> attempts;
        int attempt = 0;
        std::string preconditioner, format;
        PreconditionerReport setup;
        {
            const Interruptible interruptible;
            const auto run = [&]<class T>(Solver<T>& solver) {
                if (changed) solver.operators_changed();
                reports = with_vectors<T>(context, systems, [&](auto b, auto x) {
                    return solver.solve(b, x, to_options(options));
                });
                attempts = solver.attempts();
                attempt = solver.attempt();
                preconditioner = solver.preconditioner();
                format = solver.format();
                setup = solver.preconditioner_report();
            };
            use_.solve([&] {
                const Reading of_a(a_, "A", "matrix"), of_m(m_, "M", "preconditioner");
                std::visit(run, *solver_);
            });
        }
        nb::list chosen;
        for (const Attempt& each : attempts) {
            chosen.append(
                nb::make_tuple(each.solver, each.preconditioner, each.format, each.reason));
        }
        return nb::make_tuple(to_python(reports), chosen, attempt, preconditioner, format,
                              python_module::to_python(setup));
    }

    Offset updates() const { return use_.updates(); }

    const Context context;

  private:
    /// A reader of an operator that may be null.
    class Reading {
      public:
        Reading(const std::shared_ptr<Map>& map, const char* name, const char* argument) {
            if (!map) return;
            reader_.emplace(map->users, name);
            map->require_usable(argument);
        }

      private:
        std::optional<Users::Reader> reader_;
    };

    void make(int bytes) {
        if (bytes == 4) {
            solver_.emplace(std::in_place_type<Solver<float>>, context, method_);
        } else {
            solver_.emplace(std::in_place_type<Solver<double>>, context, method_);
        }
    }
    void set_up() {
        std::visit(
            [&]<class T>(Solver<T>& solver) {
                if (m_) {
                    solver.setup(matrix_->view<T>(), *m_->as<T>());
                } else {
                    solver.setup(matrix_->view<T>());
                }
            },
            *solver_);
    }

    MethodConfig method_;
    std::shared_ptr<Matrix> matrix_;
    std::shared_ptr<Map> a_, m_;
    std::optional<std::variant<Solver<float>, Solver<double>>> solver_;
    SolverUse use_;
};

/// Solves A x = b by a Krylov method on operators of the caller, from the start at `start` (0: from
/// zero), and returns the status, the number of iterations and, if it converged and `matrix` is
/// given, the componentwise backward error and its row. All of a call of cg and the like in one, as
/// a solve of a small system takes little longer than a few calls of the interpreter.
nb::typed<nb::tuple, std::string, Offset, double, Index> solve_once(
    const Context& context, const std::string& method, const Map& a, const Map* m, Address b,
    Address start, Address x, const Options& options, const Matrix* matrix) {
    SolveReport report;
    SolutionErrors errors;
    {
        const Computing computing;
        const Users::Reader of_a(a.users, "A"), of_m((m != nullptr ? *m : a).users, "M");
        a.require_usable("matrix");
        if (m != nullptr) m->require_usable("preconditioner");
        with_type(a.bytes(), [&]<class T>(T) {
            const Operator<T>& product = *a.as<T>();
            const auto size = std::size_t(product.rows());
            const std::span<const T> from(pointer<const T>(b), size);
            const std::span<T> to(pointer<T>(x), size);
            if (start == 0) {
                fill(context, T(0), to);
            } else {
                copy(context, std::span<const T>(pointer<const T>(start), size), to);
            }
            const SolveOptions given = to_options(options);
            report = parse_solver(method)
                         ->make(context, product, m != nullptr ? m->as<T>().get() : nullptr)
                         ->solve(from, to, given);
            if (matrix != nullptr && report.status == Status::converged) {
                const double rtol = given.rtol.value_or(default_rtol<T>);
                errors = solution_errors<T>(context, matrix->view<T>(), from, to, rtol);
                // Rounding errors of A x may have hidden it; as `Solver`, it is seen to 1 %.
                if (errors.residual > 1.01 * std::max(rtol * errors.right_hand_side, given.atol)) {
                    report.status = Status::accuracy_lost;
                }
            }
        });
    }
    return nb::make_tuple(to_string(report.status), report.iterations, errors.backward_error,
                          errors.row);
}

}  // namespace

void python_module::bind_solvers(nb::module_& module) {
    nb::class_<Options>(module, "Options", "When a solve ends.")
        .def(
            "__init__",
            [](Options* made, std::optional<double> rtol, double atol, Offset max_iterations,
               double max_seconds, Offset stagnation_window, bool left, bool signals,
               nb::object callback) {
                new (made)
                    Options{rtol, atol,    max_iterations,     max_seconds, stagnation_window,
                            left, signals, std::move(callback)};
            },
            nb::arg("rtol").none(), nb::arg("atol"), nb::arg("max_iterations"),
            nb::arg("max_seconds"), nb::arg("stagnation_window"), nb::arg("left"),
            nb::arg("signals"), nb::arg("callback").none())
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
    nb::class_<PythonSolver>(module, "Solver", nb::dynamic_attr(),
                             "A solver of one matrix, or of operators.")
        .def(nb::init<const Context&, const std::string&, const std::string&, const std::string&>(),
             nb::arg("context"), nb::arg("method"), nb::arg("preconditioner"), nb::arg("format"))
        .def("setup", &PythonSolver::setup, nb::arg("matrix"), nb::arg("points").none(),
             nb::arg("unknowns"), nb::arg("near_null").none(), nb::arg("null_space").none(),
             nb::arg("m").none(), nb::arg("seconds"))
        .def("setup_operators", &PythonSolver::setup_operators, nb::arg("a"), nb::arg("m").none())
        .def("update", &PythonSolver::update, nb::arg("values"), nb::arg("arrays"))
        .def("replace_matrix", &PythonSolver::replace_matrix, nb::arg("matrix"))
        .def("solve", &PythonSolver::solve, nb::arg("systems"), nb::arg("options"),
             nb::arg("changed") = false)
        .def_prop_ro("context", [](const PythonSolver& s) { return s.context; })
        .def_prop_ro("updates", &PythonSolver::updates);
    module.def("solve_once", &solve_once, nb::arg("context"), nb::arg("method"), nb::arg("a"),
               nb::arg("m").none(), nb::arg("b"), nb::arg("start"), nb::arg("x"),
               nb::arg("options"), nb::arg("matrix").none());
    module.def(
        "allows_left",
        [](const std::string& method) { return parse_solver(method)->allows_left(); },
        nb::arg("method"));
    module.def("solver_names", &solver_names);
    module.def("solver_help", &solver_help);
}
