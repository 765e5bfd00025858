#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "tessera/export.hpp"

namespace tessera {

/// Everything Tessera throws. Thrown by host code for misuse and for failing devices; numerical
/// outcomes (a singular block, no convergence) are data and never exceptions.
class TESSERA_API Error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// An argument outside what a function documents.
class TESSERA_API InvalidArgument : public Error {
  public:
    using Error::Error;
};

/// Text or a file that cannot be read; what() is "file:line: message" (line 0: the whole file).
class TESSERA_API ParseError : public Error {
  public:
    ParseError(std::string file, std::int64_t line, const std::string& message)
        : Error(line > 0 ? file + ":" + std::to_string(line) + ": " + message
                         : file + ": " + message),
          file_(std::move(file)),
          line_(line) {}

    const std::string& file() const { return file_; }
    std::int64_t line() const { return line_; }

  private:
    std::string file_;
    std::int64_t line_;
};

/// A CUDA call that failed; what() names the CUDA error, the call, and our file and line.
class TESSERA_API DeviceError : public Error {
  public:
    using Error::Error;
};

/// Memory that is not there, on the host or on a device; what() names the bytes asked for.
class TESSERA_API OutOfMemory : public Error {
  public:
    using Error::Error;
};

/// A part of Tessera that this build leaves out (for example the CUDA backend).
class TESSERA_API NotBuilt : public Error {
  public:
    using Error::Error;
};

}  // namespace tessera
