#include <filesystem>
#include <fstream>

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
        return fuzz::check_matrix_market<double>(cpu, bytes) +
               fuzz::check_matrix_market<float>(cpu, bytes);
    });
}

TEST(fuzz_corpus, other_formats) {
    replay("other_formats", [](const Context& cpu, const std::string& bytes) {
        return fuzz::check_other_formats<double>(cpu, bytes) +
               fuzz::check_other_formats<float>(cpu, bytes);
    });
}

TEST(fuzz_corpus, gmsh) {
    replay("gmsh",
           [](const Context&, const std::string& bytes) { return fuzz::check_gmsh(bytes); });
}

}  // namespace
}  // namespace tessera::io
