#include "core.hpp"

using namespace python_module;

namespace {

/// Exceptions of the module, which live as long as the process.
PyObject *parse_error = nullptr, *device_error = nullptr;

/// Errors of the library as exceptions of Python.
void translate(const std::exception_ptr& error, void*) {
    try {
        std::rethrow_exception(error);
    } catch (const InvalidArgument& e) {
        PyErr_SetString(PyExc_ValueError, e.what());
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

/// The object of Python that a stream belongs to, as the library keeps it.
std::shared_ptr<void> shared_owner(nb::object owner) {
    if (owner.is_none()) return nullptr;
    return {owner.release().ptr(), [](PyObject* object) {
                if (!nb::is_alive()) return;
                const nb::gil_scoped_acquire gil;
                Py_DECREF(object);
            }};
}

/// Arrays in memory of the library for callers whose own library cannot make them: DLPack and the
/// buffer protocol. On a GPU the array is in the order of the stream of `context`.
nb::object new_array(const Context& context, const std::vector<std::size_t>& shape, int bytes,
                     bool integers) {
    Offset size = bytes;
    for (const std::size_t extent : shape) size *= Offset(extent);
    auto* const buffer = new Buffer<std::byte>(context, size);
    const nb::capsule owner(buffer,
                            [](void* p) noexcept { delete static_cast<Buffer<std::byte>*>(p); });
    const auto kind = integers ? nb::dlpack::dtype_code::Int : nb::dlpack::dtype_code::Float;
    const nb::dlpack::dtype type{static_cast<std::uint8_t>(kind), std::uint8_t(8 * bytes), 1};
    const bool gpu = context.on_gpu();
    return nb::cast(nb::ndarray<nb::array_api>(
        buffer->data(), shape.size(), shape.data(), owner, nullptr, type,
        gpu ? nb::device::cuda::value : nb::device::cpu::value, gpu ? context.device() : 0));
}

/// (address, shape, strides in elements, code of the type, its bits, device: -1 the host, else of
/// CUDA, the array itself, which keeps the memory) of anything with DLPack or the buffer protocol.
AnyTuple view_array(const nb::typed<nb::object, nb::any>& given) {
    const auto array = nb::cast<nb::ndarray<nb::ro>>(given);
    nb::list shape, strides;
    for (std::size_t k = 0; k < array.ndim(); ++k) {
        shape.append(array.shape(k));
        strides.append(array.stride(k));
    }
    const int type = array.device_type();
    const bool host = type == nb::device::cpu::value || type == nb::device::cuda_host::value;
    if (!host && type != nb::device::cuda::value && type != nb::device::cuda_managed::value) {
        throw InvalidArgument("the array is on a device that is neither the CPU nor a CUDA GPU");
    }
    return nb::make_tuple(Address(array.data()), nb::tuple(shape), nb::tuple(strides),
                          int(array.dtype().code), int(array.dtype().bits),
                          host ? -1 : array.device_id(), nb::cast(array));
}

/// The address of an array of NumPy by the buffer protocol, which takes a fifth of the time of its
/// attribute with that; 0 where the protocol does not know its type.
Address buffer_address(nb::handle array) {
    Py_buffer buffer;
    if (PyObject_GetBuffer(array.ptr(), &buffer, PyBUF_STRIDES) != 0) {
        PyErr_Clear();
        return 0;
    }
    const auto address = reinterpret_cast<Address>(buffer.buf);  // NOLINT
    PyBuffer_Release(&buffer);
    return address;
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
    result["warnings"] = report.warnings;
    result["values"] = python_module::to_python(report.values);
    return result;
}

NodeCoordinates python_module::to_coordinates(const std::optional<Points>& points,
                                              const std::vector<Index>& unknowns) {
    NodeCoordinates coordinates;
    if (!points) return coordinates;
    coordinates.dimensions = int(points->shape(1));
    coordinates.values.assign(points->data(), points->data() + points->size());
    coordinates.unknowns = unknowns;
    return coordinates;
}

void python_module::bind_context(nb::module_& module) {
    nb::class_<Context>(module, "Context", "A backend, a device and a stream.")
        .def_prop_ro("on_gpu", &Context::on_gpu)
        .def_prop_ro("device", &Context::device)
        .def_prop_ro("threads", &Context::threads)
        .def_prop_ro("stream", [](const Context& c) { return Address(c.stream()); })
        .def_prop_ro("description", &Context::description)
        .def_prop_ro("memory_bytes", &Context::memory_bytes)
        .def_prop_ro("peak_memory_bytes", &Context::peak_memory_bytes)
        .def("synchronize", &Context::synchronize, nb::call_guard<nb::gil_scoped_release>())
        .def("time_phases", &Context::time_phases)
        .def("phases",
             [](const Context& context) -> AnyList {
                 nb::list list;
                 for (const PhaseRecord& phase : context.phases()) {
                     list.append(nb::make_tuple(phase.name, phase.calls, phase.seconds, phase.bytes,
                                                phase.sampled));
                 }
                 return list;
             })
        .def("copy_bandwidth", &Context::copy_bandwidth, nb::call_guard<nb::gil_scoped_release>());
    module.def("cpu_context", &Context::cpu, nb::arg("threads") = 0,
               nb::call_guard<nb::gil_scoped_release>());
    module.def(
        "cuda_context",
        [](int device, Address stream, int threads, nb::object owner) {
            auto kept = shared_owner(std::move(owner));
            nb::gil_scoped_release release;
            return Context::cuda(device, pointer<CUstream_st>(stream), {}, threads,
                                 std::move(kept));
        },
        nb::arg("device"), nb::arg("stream"), nb::arg("threads") = 0,
        nb::arg("stream_owner").none() = nb::none());
    module.def("cuda_devices", []() -> AnyTuple {
        std::string reason;
        std::vector<std::string> names;
        for (const DeviceDescription& device : cuda_devices(&reason)) names.push_back(device.name);
        return nb::make_tuple(names, reason);
    });
    module.def("new_array", &new_array, nb::arg("context"), nb::arg("shape"), nb::arg("bytes"),
               nb::arg("integers") = false);
    module.def(
        "copy_values",
        [](const Context& context, Address from, Address to, Offset size, int bytes) {
            with_type(bytes, [&]<class T>(T) {
                copy(context, std::span<const T>(pointer<const T>(from), std::size_t(size)),
                     std::span<T>(pointer<T>(to), std::size_t(size)));
            });
        },
        nb::arg("context"), nb::arg("source"), nb::arg("to"), nb::arg("size"), nb::arg("bytes"),
        nb::call_guard<nb::gil_scoped_release>());
    module.def(
        "fill_zero",
        [](const Context& context, Address to, Offset size, int bytes) {
            with_type(bytes, [&]<class T>(T) {
                fill(context, T(0), std::span<T>(pointer<T>(to), std::size_t(size)));
            });
        },
        nb::arg("context"), nb::arg("to"), nb::arg("size"), nb::arg("bytes"),
        nb::call_guard<nb::gil_scoped_release>());
    module.def("view_array", &view_array, nb::arg("array"));
    module.def("buffer_address", &buffer_address, nb::arg("array"));
}

NB_MODULE(_core, module) {
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
    bind_batched(module);
    bind_factors(module);
}
