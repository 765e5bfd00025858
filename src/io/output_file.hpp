#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tessera/context.hpp"

namespace tessera::io {

/// Part of a file: `count` items, of which append(first, last, bytes) adds the bytes of a range.
struct FileSection {
    Offset count;
    std::function<void(Offset first, Offset last, std::string& bytes)> append;
};

/// `count` items one by one.
template <class Append>
FileSection item_section(Offset count, Append append) {
    return {count, [append](Offset first, Offset last, std::string& bytes) {
                for (Offset k = first; k < last; ++k) append(k, bytes);
            }};
}

FileSection text_section(std::string text);

/// Writes sections one after another, cut into pieces of 2^16 items that all threads of `cpu`
/// make; each piece as a gzip member of its own when `zip`. The bytes do not depend on the threads.
/// Throws Error with the reason when the file cannot be written, and then leaves what was there
/// before: the bytes are collected in PATH.part, which is renamed at the end. Only what is not a
/// regular file (a device, a pipe, a link such as /dev/stdout) is written in place.
void write_sections(const Context& cpu, const std::string& path, bool zip,
                    const std::vector<FileSection>& sections);

}  // namespace tessera::io
