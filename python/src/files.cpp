#include "core.hpp"

using namespace python_module;

namespace {

/// (rows, columns, offsets, indices, values) as NumPy arrays that share one owner; offsets have 32
/// bits where they fit, as SciPy wants both index arrays alike.
template <class T>
AnyTuple to_arrays(CsrMatrix<T>&& given) {
    auto* const matrix = new CsrMatrix<T>(std::move(given));
    const nb::capsule owner(matrix, [](void* p) noexcept { delete static_cast<CsrMatrix<T>*>(p); });
    const std::size_t entries[1] = {std::size_t(matrix->nonzeros())};
    const std::size_t starts[1] = {std::size_t(matrix->rows()) + 1};
    nb::object offsets;
    if (matrix->nonzeros() <= std::numeric_limits<Index>::max()) {
        const Offset* const wide = matrix->row_offsets().data();
        offsets = to_numpy(std::vector<Index>(wide, wide + starts[0]));
    } else {
        offsets = nb::cast(
            nb::ndarray<nb::numpy, Offset>(matrix->row_offsets().data(), 1, starts, owner));
    }
    return nb::make_tuple(
        matrix->rows(), matrix->columns(), offsets,
        nb::cast(nb::ndarray<nb::numpy, Index>(matrix->column_indices().data(), 1, entries, owner)),
        nb::cast(nb::ndarray<nb::numpy, T>(matrix->values().data(), 1, entries, owner)));
}

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
