#include "core.hpp"

using namespace python_module;

namespace {

AnyTuple generate(const Context& cpu, const std::string& text, int bytes) {
    return with_type(bytes, [&]<class T>(T) {
        problems::Problem<T> problem;
        {
            const Interruptible interruptible;
            problem = problems::generate<T>(cpu, text);
            if (problem.load.empty()) problem.load.assign(std::size_t(problem.matrix.rows()), T(1));
        }
        nb::object points = nb::none(), unknowns = nb::none();
        if (!problem.coordinates.values.empty()) {
            const SharedNumbers& values = problem.coordinates.values;
            points = to_numpy(std::vector(values.begin(), values.end()),
                              std::size_t(problem.coordinates.dimensions));
            if (!problem.coordinates.unknowns.empty()) {
                unknowns = to_numpy(std::move(problem.coordinates.unknowns));
            }
        }
        return nb::make_tuple(to_arrays(std::move(problem.matrix)),
                              to_numpy(std::move(problem.load)), points, unknowns, problem.name,
                              problem.natural_block);
    });
}

/// Runs the handlers of signals of Python, which may raise; other threads than the main one run
/// none.
void handle_signals() {
    const WithLock lock;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

AnyTuple read_matrix(const Context& cpu, const std::string& path, int bytes) {
    return with_type(bytes, [&]<class T>(T) {
        CsrMatrix<T> matrix;
        {
            const Interruptible interruptible;
            const io::InterruptHandler handler(handle_signals);
            matrix = io::read_matrix<T>(cpu, path);
        }
        return to_arrays(std::move(matrix));
    });
}

nb::object read_vector(const Context& cpu, const std::string& path, int bytes) {
    return with_type(bytes, [&]<class T>(T) {
        std::vector<T> vector;
        {
            const Interruptible interruptible;
            const io::InterruptHandler handler(handle_signals);
            vector = io::read_vector<T>(cpu, path);
        }
        return to_numpy(std::move(vector));
    });
}

void write_matrix(const Matrix& matrix, const std::string& path, const std::string& symmetry) {
    const io::InterruptHandler handler(handle_signals);
    io::Symmetry kind = io::Symmetry::general;
    if (symmetry == "symmetric") kind = io::Symmetry::symmetric;
    if (symmetry == "skew_symmetric") kind = io::Symmetry::skew_symmetric;
    std::visit([&](const auto& typed) { io::write_matrix(matrix.context, path, typed.view, kind); },
               matrix.typed);
}

void write_vector(const Context& cpu, const std::string& path, Address values, Offset size,
                  int bytes) {
    const io::InterruptHandler handler(handle_signals);
    with_type(bytes, [&]<class T>(T) {
        io::write_vector<T>(cpu, path, {pointer<const T>(values), std::size_t(size)});
    });
}

}  // namespace

void python_module::bind_files(nb::module_& module) {
    module.def("generate", &generate, nb::arg("cpu"), nb::arg("text"), nb::arg("bytes"));
    module.def("generator_names", &problems::generator_names);
    module.def("read_matrix", &read_matrix, nb::arg("cpu"), nb::arg("path"), nb::arg("bytes"));
    module.def("read_vector", &read_vector, nb::arg("cpu"), nb::arg("path"), nb::arg("bytes"));
    module.def("write_matrix", &write_matrix, nb::arg("matrix"), nb::arg("path"),
               nb::arg("symmetry"), nb::call_guard<Interruptible>());
    module.def("write_vector", &write_vector, nb::arg("cpu"), nb::arg("path"), nb::arg("values"),
               nb::arg("size"), nb::arg("bytes"), nb::call_guard<Interruptible>());
}
