#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tessera/context.hpp"

namespace tessera::io {

/// Writes make(0) .. make(pieces - 1) one behind the other, `make` being called by all threads of
/// `cpu`; each piece as a gzip member of its own when `zip`. The bytes do not depend on the
/// threads. Throws Error with the reason when the file cannot be written, and then leaves what was
/// there before: the bytes are collected in PATH.part, which is renamed at the end. Only what is
/// not a regular file (a device, a pipe, a link such as /dev/stdout) is written in place.
void write_pieces(const Context& cpu, const std::string& path, bool zip, Offset pieces,
                  const std::function<std::string(Offset piece)>& make);

}  // namespace tessera::io
