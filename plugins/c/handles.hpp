#pragma once

#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <variant>

#include "tessera/detail/floating_point.hpp"
#include "tessera/tessera.h"
#include "tessera/tessera.hpp"

// Objects and checks of the C interface, whose functions are in the .cpp files.

struct tessera_context {
    tessera::Context context;
    std::string description;
    std::map<const void*, tessera::Buffer<std::byte>> arrays = {};  ///< Arrays of tessera_allocate.
};

namespace c_interface {

/// A borrowed or an owned matrix with values of type T.
template <class T>
struct Matrix {
    tessera::CsrView<T> view;
    tessera::CsrMatrix<T> owned = {};
    tessera::BorrowedMatrix<T> borrowed = {};
};
using AnyMatrix = std::variant<Matrix<float>, Matrix<double>>;

}  // namespace c_interface

struct tessera_matrix {
    tessera::Context context;
    std::shared_ptr<c_interface::AnyMatrix> matrix;
};

namespace c_interface {

/// Keeps the message of a failed call for tessera_message, without the name of a function of C++ at
/// its start; returns the error.
tessera_error fail(tessera_error error, const char* message) noexcept;

/// f() in the default floating-point environment; exceptions become error codes.
template <class F>
tessera_error guarded(F&& f) noexcept {
    const tessera::detail::DefaultFloatingPoint environment;
    try {
        f();
        return TESSERA_SUCCESS;
    } catch (const tessera::InvalidArgument& error) {
        return fail(TESSERA_INVALID_ARGUMENT, error.what());
    } catch (const tessera::InUse& error) {
        return fail(TESSERA_INVALID_ARGUMENT, error.what());
    } catch (const tessera::OutOfMemory& error) {
        return fail(TESSERA_OUT_OF_MEMORY, error.what());
    } catch (const tessera::DeviceError& error) {
        return fail(TESSERA_DEVICE_ERROR, error.what());
    } catch (const tessera::Error& error) {
        return fail(TESSERA_FILE_ERROR, error.what());
    } catch (const std::bad_alloc&) {
        return fail(TESSERA_OUT_OF_MEMORY, "out of memory");
    } catch (const std::length_error&) {  // More than any memory.
        return fail(TESSERA_OUT_OF_MEMORY, "out of memory");
    } catch (const std::exception& error) {
        return fail(TESSERA_INTERNAL_ERROR, error.what());
    } catch (...) {
        return fail(TESSERA_INTERNAL_ERROR, "unknown exception");
    }
}

inline void require(bool condition, const char* function, const char* what) {
    if (!condition) throw tessera::InvalidArgument(std::string(function) + ": " + what);
}

template <class Pointer>
Pointer* not_null(Pointer* pointer, const char* function, const char* name) {
    if (pointer == nullptr)
        throw tessera::InvalidArgument(std::string(function) + ": " + name + " is null");
    return pointer;
}

inline void check_type(tessera_type type, const char* function) {
    require(type == TESSERA_FLOAT || type == TESSERA_DOUBLE, function,
            "the type is neither TESSERA_FLOAT nor TESSERA_DOUBLE");
}

/// f(T()) for the type.
template <class F>
auto with_type(tessera_type type, F&& f) {
    return type == TESSERA_FLOAT ? f(float()) : f(double());
}

}  // namespace c_interface
