#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "fuzz/program.hpp"
#include "fuzz/properties.hpp"
#include "support/test.hpp"

namespace tessera::io {
namespace {

/// Runs `check` on every file of a folder of the corpus, with several threads.
template <class Check>
void replay(const char* name, Check&& check) {
    const auto folder = std::filesystem::path(__FILE__).parent_path() / "fuzz" / "corpus" / name;
    if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << folder << " is not there";
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        std::ifstream file(entry.path(), std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(file), {}};
        for (const int threads : {1, 3}) {
            EXPECT_EQ(check(test::host(threads), bytes), "") << entry.path();
        }
        ++files;
    }
    EXPECT_GT(files, 0);
}

TEST(fuzz_corpus, matrix_market) {
    replay("matrix_market", [](const Context& cpu, const std::string& bytes) {
        return fuzz::check_matrix_market(cpu, bytes);
    });
}

TEST(fuzz_corpus, other_formats) {
    replay("other_formats", [](const Context& cpu, const std::string& bytes) {
        return fuzz::check_other_formats(cpu, bytes);
    });
}

TEST(fuzz_corpus, gmsh) {
    replay("gmsh",
           [](const Context&, const std::string& bytes) { return fuzz::check_gmsh(bytes); });
}

TEST(fuzz_corpus, grammar) {
    replay("grammar",
           [](const Context&, const std::string& bytes) { return fuzz::check_grammar(bytes); });
}

/// Each in a process of its own, as the program keeps what a signal left.
TEST(fuzz_corpus, command_line) {
    const std::string folder = test::scratch_folder();
    replay("command_line", [&](const Context&, const std::string& bytes) -> std::string {
        const pid_t child = fork();
        if (child == 0) {
            alarm(60);
            const bool ready = chdir(folder.c_str()) == 0 &&
                               std::freopen("/dev/null", "w", stdout) != nullptr &&
                               std::freopen("/dev/null", "w", stderr) != nullptr;
            _exit(ready && tessera::fuzz::is_documented(tessera::fuzz::run_command_line(bytes, "."))
                      ? 0
                      : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        return status == 0 ? "" : "status " + std::to_string(status);
    });
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tessera::io
