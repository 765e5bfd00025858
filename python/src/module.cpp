#include "core.hpp"

using namespace python_module;

namespace {

/// Exceptions of the module, which live as long as the process.
PyObject *parse_error = nullptr, *device_error = nullptr;

/// Errors of the library as exceptions of Python; a ValueError has the attribute `argument`.
void translate(const std::exception_ptr& error, void*) {
    try {
        std::rethrow_exception(error);
    } catch (const InvalidArgument& e) {
        nb::object made = nb::borrow(PyExc_ValueError)(e.what());
        made.attr("argument") = e.argument();
        PyErr_SetObject(PyExc_ValueError, made.ptr());
    } catch (const InUse& e) {
        PyErr_SetString(PyExc_RuntimeError, e.what());
    } catch (const ParseError& e) {
        PyErr_SetString(parse_error, e.what());
    } catch (const DeviceError& e) {
        PyErr_SetString(device_error, e.what());
    } catch (const OutOfMemory& e) {
        PyErr_SetString(PyExc_MemoryError, e.what());
    } catch (const Error& e) {
        PyErr_SetString(PyExc_OSError, e.what());
    }
}

PyObject* new_exception(nb::module_& module, const char* name, PyObject* base, const char* text) {
    const std::string qualified = std::string("tessera.") + name;
    nb::object made = nb::steal(PyErr_NewExceptionWithDoc(qualified.c_str(), text, base, nullptr));
    module.attr(name) = made;
    return made.release().ptr();
}

nb::object to_python(const ReportValue& value) {
    if (const auto* text = std::get_if<std::string>(&value.value)) return nb::cast(*text);
    if (const auto* whole = std::get_if<Offset>(&value.value)) return nb::cast(*whole);
    if (const auto* real = std::get_if<double>(&value.value)) return nb::cast(*real);
    return python_module::to_python(std::get<ReportValues>(value.value));
}

}  // namespace

nb::object python_module::to_python(const ReportValues& values) {
    nb::dict named;
    nb::list list;
    for (const ReportValue& value : values) {
        if (value.name.empty()) {
            list.append(::to_python(value));
        } else {
            named[value.name.c_str()] = ::to_python(value);
        }
    }
    if (nb::len(named) == 0 && !values.empty()) return list;
    return named;
}

AnyDict python_module::to_python(const PreconditionerReport& report) {
    nb::dict result;
    result["blocks"] = report.blocks;
    result["largest_block"] = report.largest_block;
    nb::list singular;
    for (const SingularBlock& block : report.first_singular) {
        nb::dict each;
        each["block"] = block.block;
        each["first_row"] = block.first_row;
        each["rows"] = block.rows;
        each["info"] = block.info;
        singular.append(each);
    }
    result["first_singular"] = singular;
    result["unusable"] = report.unusable;
    result["singular"] = report.singular;
    result["warnings"] = report.warnings;
    result["values"] = python_module::to_python(report.values);
    return result;
}

NodeCoordinates python_module::to_coordinates(const std::optional<Points>& points,
                                              const std::vector<Index>& unknowns) {
    NodeCoordinates coordinates;
    if (!points) return coordinates;
    coordinates.dimensions = int(points->shape(1));
    // The array of the caller is read where it is, and kept.
    coordinates.values = {std::span(points->data(), points->size()),
                          std::make_shared<const Points>(*points)};
    coordinates.unknowns = unknowns;
    return coordinates;
}

NearNullSpace python_module::to_near_null(const Points& vectors) {
    return {int(vectors.shape(1)), {vectors.data(), vectors.data() + vectors.size()}};
}

NB_MODULE(_core_of_main, module) {
    // Classes are made once in a process: a module that is imported again, after it was removed
    // from sys.modules, has those of the first one, which lives as long as the process.
    static PyObject* first = nullptr;
    if (first != nullptr) {
        PyObject* const names = PyModule_GetDict(module.ptr());
        if (PyDict_Merge(names, PyModule_GetDict(first), 0) != 0) throw nb::python_error();
        return;
    }
    first = module.inc_ref().ptr();
    nb::set_leak_warnings(false);  // Contexts of threads live until the interpreter ends.
    module.doc() = "The C++ library; private to the package tessera.";
    nb::register_exception_translator(translate);
    parse_error = new_exception(module, "ParseError", PyExc_ValueError,
                                "A text or a file that cannot be read.");
    device_error = new_exception(module, "DeviceError", PyExc_RuntimeError,
                                 "CUDA cannot be used, or a call of it failed.");
    module.def("version", [] { return std::string(version()); });
    module.def("commit", [] { return std::string(commit()); });
    bind_context(module);
    bind_matrices(module);
    bind_files(module);
    bind_operators(module);
    bind_solvers(module);
    bind_devices(module);
    bind_batched(module);
    bind_factors(module);
    bind_structures(module);
}

/// Before nanobind looks at the module, as it would then serve a second interpreter alone.
extern "C" NB_EXPORT PyObject* PyInit__core(void) {
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
        PyErr_SetString(PyExc_ImportError,
                        "tessera works in the main interpreter of a process alone, and this is a "
                        "subinterpreter; with mod_wsgi set WSGIApplicationGroup %{GLOBAL}");
        return nullptr;
    }
    // Makes the unwinder that is linked with this library ready for WaitIfUnwound: pthread_exit
    // unwinds by that of the system, and the first exception alone initialises this one.
    try {
        throw 0;
    } catch (int) {
    }
    return PyInit__core_of_main();
}
