#pragma once

#include <string>
#include <string_view>

namespace tessera::io {

struct TemporaryFileSlot;

/// A temporary file with a unique name in the folder of the file that it is to replace. It is
/// removed unless it was renamed.
class TemporaryFile {
  public:
    TemporaryFile() = default;
    ~TemporaryFile() { remove(); }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;

    /// Creates it; returns its descriptor for writing, which the caller closes, or -1 with errno.
    int create(const std::string& folder, unsigned permissions);
    /// Renames it to this name in its folder; false with errno if that failed.
    bool rename(const std::string& name);
    void remove();

  private:
    void withdraw();

    int folder_ = -1;  ///< Descriptor.
    std::string name_;
    TemporaryFileSlot* slot_ = nullptr;  ///< Where remove_temporary_files finds it, if anywhere.
};

/// A file that is written as write_file says (tessera/io.hpp).
class OutputFile {
  public:
    explicit OutputFile(const std::string& path);
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    void write(std::string_view bytes);
    /// Completes the file; without it nothing is replaced. Errors of a full disk may appear here.
    void close();

  private:
    [[noreturn]] void fail();

    std::string path_;
    std::string name_;  ///< In its folder, at the end of all links; empty: written in place.
    TemporaryFile temporary_;
    int file_ = -1;
};

}  // namespace tessera::io
