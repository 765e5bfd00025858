#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

/// Marks the symbols that a shared libtessera exports; everything else is hidden.
#define TESSERA_API __attribute__((visibility("default")))

namespace tessera {

/// Rows, columns and block starts. A matrix has at most 2^31 - 1 rows or columns.
using Index = std::int32_t;

/// Positions in arrays of values; a matrix may have more than 2^31 entries.
using Offset = std::int64_t;

/// "1.2.3" of this library, and the commit that it was built from, or "unknown".
TESSERA_API const char* version();
TESSERA_API const char* commit();

/// A value that its copies share and nobody changes, such as large arrays in options.
template <class T>
class Shared {
  public:
    Shared() = default;
    Shared(T value) : value_(std::make_shared<const T>(std::move(value))) {}  // NOLINT: implicit
    const T& operator*() const {
        static const T none{};
        return value_ ? *value_ : none;
    }
    const T* operator->() const { return &**this; }

  private:
    std::shared_ptr<const T> value_;
};

/// Base class of all errors: misuse and failing devices. Numerical outcomes (a singular block, no
/// convergence) are data and never exceptions.
class TESSERA_API Error : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// An argument outside its documented range.
class TESSERA_API InvalidArgument : public Error {
  public:
    using Error::Error;
    /// `argument`: a string literal.
    InvalidArgument(const std::string& message, const char* argument)
        : Error(message), argument_(argument) {}
    /// The name of the argument at fault, such as "solver", "preconditioner", "format", "matrix",
    /// "b", "x", "left_preconditioning" or "block"; empty where the message alone says it.
    const char* argument() const noexcept { return argument_; }
    /// Names the argument, a string literal, unless the error names one.
    void name_argument(const char* argument) noexcept {
        if (*argument_ == '\0') argument_ = argument;
    }

  private:
    const char* argument_ = "";
};

/// The object is in use by another call: of another thread, or by the solve whose observer calls.
class TESSERA_API InUse : public Error {
    using Error::Error;
};

/// A text or a file that cannot be read; what() is "file:line: message" (line 0: the whole file).
class TESSERA_API ParseError : public Error {
  public:
    ParseError(const std::string& file, std::int64_t line, const std::string& message)
        : Error(file + (line > 0 ? ":" + std::to_string(line) : "") + ": " + message) {}
};

/// The CUDA backend cannot be used, or a CUDA call failed; then what() names the error, the call,
/// and the source line.
class TESSERA_API DeviceError : public Error {
    using Error::Error;
};

/// An allocation on the host or on a device failed; what() names the bytes requested.
class TESSERA_API OutOfMemory : public Error {
    using Error::Error;
};

}  // namespace tessera
