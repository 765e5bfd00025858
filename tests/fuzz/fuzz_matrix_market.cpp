#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "properties.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    static const Context cpu = Context::cpu(1);
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const std::string& broken : {io::fuzz::check_matrix_market<double>(cpu, text),
                                      io::fuzz::check_matrix_market<float>(cpu, text)}) {
        if (broken.empty()) continue;
        std::fprintf(stderr, "%s\n", broken.c_str());
        std::abort();
    }
    return 0;
}
