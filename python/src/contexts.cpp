#include <cstring>

#include "core.hpp"

using namespace python_module;

namespace {

/// Calls function(argument) of Python; false if it fails, whatever the reason. A Ctrl-C that comes
/// meanwhile is put off, so that it ends what allocates as it does elsewhere.
bool call(const nb::object& function, Address argument, Address* result) {
    for (int tries = 2; tries > 0; --tries) {
        try {
            const nb::object given = call_python(function, argument);
            if (result != nullptr) *result = nb::cast<Address>(given);
            if (tries == 1) PyErr_SetInterrupt();
            return true;
        } catch (nb::python_error& error) {
            if (!error.matches(PyExc_KeyboardInterrupt)) return false;
        } catch (const std::exception&) {
            return false;
        }
    }
    return false;
}

/// What a Context on a stream of the caller keeps: the object that the stream belongs to, and
/// functions of the caller's library that give memory of a GPU in the order of the stream, take it
/// back, and say how many bytes they have ready. None: the Context has a pool of its own.
struct CallerObjects {
    nb::object stream, allocate, release, ready;

    CallerObjects(nb::object owner, const nb::object& memory) : stream(std::move(owner)) {
        if (!memory.is_none()) {
            allocate = memory[0];
            release = memory[1];
            ready = memory[2];
        }
    }
    CallerObjects(const CallerObjects&) = delete;
    CallerObjects& operator=(const CallerObjects&) = delete;
    ~CallerObjects() {
        if (!nb::is_alive()) {
            for (nb::object* kept : {&stream, &allocate, &release, &ready}) kept->release();
            return;
        }
        const WithLock lock;
        for (nb::object* kept : {&stream, &allocate, &release, &ready}) kept->reset();
    }

    static CallerObjects& of(void* data) { return *static_cast<CallerObjects*>(data); }

    DeviceAllocator allocator() {
        if (!allocate.is_valid()) return {};
        DeviceAllocator functions;
        functions.data = this;
        functions.allocate = [](Offset bytes, CUstream_st*, void* data) -> void* {
            const WithLock lock;
            const nb::error_scope pending;
            Address memory = 0;
            return call(of(data).allocate, Address(bytes), &memory) ? pointer<void>(memory)
                                                                    : nullptr;
        };
        functions.release = [](void* memory, Offset, CUstream_st*, void* data) {
            if (!nb::is_alive()) return;
            const WithLock lock;
            const nb::error_scope pending;
            call(of(data).release, Address(memory), nullptr);
        };
        functions.ready = [](CUstream_st*, void* data) -> Offset {
            const WithLock lock;
            const nb::error_scope pending;
            Address bytes = 0;
            return call(of(data).ready, 0, &bytes) ? Offset(bytes) : 0;
        };
        return functions;
    }
};

Context cuda_context(int device, Address stream, int threads, nb::object owner,
                     const nb::object& memory) {
    auto kept = std::make_shared<CallerObjects>(std::move(owner), memory);
    const DeviceAllocator allocator = kept->allocator();
    const Computing computing;
    return Context::cuda(device, pointer<CUstream_st>(stream), allocator, threads, std::move(kept));
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

void python_module::bind_context(nb::module_& module) {
    nb::class_<Context>(module, "Context", "A backend, a device and a stream.")
        .def_prop_ro("on_gpu", &Context::on_gpu)
        .def_prop_ro("device", &Context::device)
        .def_prop_ro("threads", &Context::threads)
        .def_prop_ro("stream", [](const Context& c) { return Address(c.stream()); })
        .def_prop_ro("description", &Context::description)
        .def_prop_ro("memory_bytes", &Context::memory_bytes)
        .def_prop_ro("peak_memory_bytes", &Context::peak_memory_bytes)
        .def("synchronize", &Context::synchronize, nb::call_guard<Computing>())
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
        .def("copy_bandwidth", &Context::copy_bandwidth, nb::call_guard<Computing>());
    module.def("cpu_context", &Context::cpu, nb::arg("threads") = 0, nb::call_guard<Computing>());
    module.def("cuda_context", &cuda_context, nb::arg("device"), nb::arg("stream"),
               nb::arg("threads") = 0, nb::arg("stream_owner").none() = nb::none(),
               nb::arg("memory").none() = nb::none());
    module.def(
        "abandon", [](const Context& context) { new Context(context); }, nb::arg("context"),
        "Leaves a context to the end of the process.");
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
        nb::call_guard<Computing>());
    module.def(
        "copy_on_host",
        [](Address from, Address to, std::size_t bytes) {
            std::memcpy(pointer<void>(to), pointer<const void>(from), bytes);
        },
        nb::arg("source"), nb::arg("to"), nb::arg("bytes"),
        "A copy that keeps the lock of the interpreter, for which a call may have to wait.");
    module.def(
        "fill_zero",
        [](const Context& context, Address to, Offset size, int bytes) {
            with_type(bytes, [&]<class T>(T) {
                fill(context, T(0), std::span<T>(pointer<T>(to), std::size_t(size)));
            });
        },
        nb::arg("context"), nb::arg("to"), nb::arg("size"), nb::arg("bytes"),
        nb::call_guard<Computing>());
    module.def("view_array", &view_array, nb::arg("array"));
    module.def("buffer_address", &buffer_address, nb::arg("array"));
}
