#pragma once

#include <functional>
#include <string>
#include <vector>

#include "io/text.hpp"

namespace tessera::io {

/// Part of a file: `count` items, of which append(first, last, bytes) adds the bytes of a range.
struct FileSection {
    Offset count;
    std::function<void(Offset first, Offset last, std::string& bytes)> append;
};

/// A section of `count` items, appended one by one.
template <class Append>
FileSection item_section(Offset count, Append append) {
    return {count, [append](Offset first, Offset last, std::string& bytes) {
                for (Offset k = first; k < last; ++k) append(k, bytes);
            }};
}

/// The binary numbers number(k) for k in 0..count; `swap`: in the reversed byte order.
template <class Number>
FileSection number_section(Offset count, Number number, bool swap = false) {
    return item_section(count, [number, swap](Offset k, std::string& bytes) {
        append_number(bytes, number(k), swap);
    });
}

FileSection text_section(std::string text);

/// Writes sections one after another, cut into pieces of 2^16 items that all threads of `cpu` make;
/// each piece as a gzip member of its own when `zip`. The bytes do not depend on the threads.
/// The file is replaced as a whole or not at all, as by write_file; throws Error with the reason.
void write_sections(const Context& cpu, const std::string& path, bool zip,
                    const std::vector<FileSection>& sections);

}  // namespace tessera::io
