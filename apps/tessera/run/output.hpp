#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tessera::cli {

/// Prints "tessera: SENTENCE" on stderr, in one line.
void print_note(const std::string& sentence);

/// Writes to a file, or to stdout for "-". Throws InvalidArgument if that fails.
void write_text(const std::string& path, const std::string& text);

/// write(), which writes this file. A Ctrl-C meanwhile names it; an Error becomes InvalidArgument.
void write_output(const std::string& path, const std::function<void()>& write);

/// Throws InvalidArgument unless the file can be written and is none of `inputs`, which may include
/// words that are not files. An existing file is not changed. Empty and "-" are allowed.
void check_output(const std::string& option, const std::string& path,
                  const std::vector<std::string>& inputs);

/// An option and the file that it names.
struct OutputFile {
    std::string option, path;
};

/// check_output of each file; also throws InvalidArgument if two of them are one file, through
/// links and other spellings too. Devices and pipes may be named twice.
void check_outputs(const std::vector<OutputFile>& outputs, const std::vector<std::string>& inputs);

/// Throws InvalidArgument unless the ending chooses a format to write.
void check_ending(const std::string& option, const std::string& path);

}  // namespace tessera::cli
