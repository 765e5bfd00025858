#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "program.hpp"

/// Output of the program is of no interest; the target's own goes to standard error, which stays.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
    char folder[] = "/tmp/tessera_fuzz_XXXXXX";
    if (mkdtemp(folder) == nullptr || chdir(folder) != 0) return 1;
    std::FILE* const none = std::freopen("/dev/null", "w", stdout);
    return none == nullptr ? 1 : 0;
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
