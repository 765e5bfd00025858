#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "program.hpp"

/// Runs in a folder of its own; -close_fd_mask=3 keeps what the program prints away.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
    char folder[] = "/tmp/tessera_fuzz_XXXXXX";
    return mkdtemp(folder) == nullptr || chdir(folder) != 0 ? 1 : 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const int code = tessera::fuzz::run_command_line(input, ".");
    if (!tessera::fuzz::is_documented(code)) {
        std::fprintf(stderr, "exit code %d\n", code);
        std::abort();
    }
    return 0;
}
