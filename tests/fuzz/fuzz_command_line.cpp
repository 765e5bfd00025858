#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "program.hpp"

/// Runs in a folder of its own with two threads; -close_fd_mask=3 keeps what the program prints
/// away.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
    setenv("OMP_NUM_THREADS", "2", 0);
    std::string folder = std::filesystem::temp_directory_path() / "tessera_fuzz_XXXXXX";
    return mkdtemp(folder.data()) == nullptr || chdir(folder.c_str()) != 0 ? 1 : 0;
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
