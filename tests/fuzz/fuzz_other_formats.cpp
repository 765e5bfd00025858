#include "properties.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    static const Context cpu = Context::cpu(1);
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    return io::fuzz::abort_if_broken({io::fuzz::check_other_formats(cpu, text)});
}
