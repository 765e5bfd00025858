#include "properties.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    return tessera::io::fuzz::abort_if_broken({tessera::io::fuzz::check_grammar(text)});
}
