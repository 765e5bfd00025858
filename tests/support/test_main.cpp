#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include <unistd.h>

#include "support/faults.hpp"
#include "support/test.hpp"

namespace tessera::test {

namespace {

std::optional<Context> context_of_test;

bool wants_cuda() {
    const char* backend = std::getenv("TESSERA_TEST_BACKEND");
    return backend != nullptr && std::string(backend) == "cuda";
}

bool is_set(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && std::string(value) == "1";
}

std::uint64_t seed_of_running_test() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    const std::string name = info ? std::string(info->test_suite_name()) + "." + info->name() : "";
    std::uint64_t hash = 1469598103934665603ull;
    for (const char c : name) hash = (hash ^ std::uint64_t(std::uint8_t(c))) * 1099511628211ull;
    const char* extra = std::getenv("TESSERA_TEST_SEED");
    return hash + (extra != nullptr ? std::strtoull(extra, nullptr, 10) : 0);
}

/// Prints how to repeat a failure, and which case was skipped and why; each test has its own
/// Context.
class CasePrinter : public ::testing::EmptyTestEventListener {
    void OnTestEnd(const ::testing::TestInfo& info) override {
        context_of_test.reset();
        const auto& result = *info.result();
        for (int i = 0; i < result.total_part_count(); ++i) {
            if (!result.GetTestPartResult(i).skipped()) continue;
            std::printf("SKIPPED %s.%s: %s\n", info.test_suite_name(), info.name(),
                        result.GetTestPartResult(i).message());
        }
        if (!info.result()->Failed()) return;
        const char* extra = std::getenv("TESSERA_TEST_SEED");
        const char* isa = std::getenv("TESSERA_ISA");
        std::printf("  repeat with TESSERA_TEST_SEED=%s TESSERA_ISA=%s\n", extra ? extra : "0",
                    isa ? isa : "");
    }
};

}  // namespace

Context context() {
    if (!context_of_test) context_of_test = wants_cuda() ? Context::cuda() : Context::cpu(2);
    return *context_of_test;
}
Context host(int threads) { return Context::cpu(threads); }
bool full_run() { return is_set("TESSERA_FULL"); }
bool fewer_run() { return is_set("TESSERA_FEWER"); }
std::mt19937_64 generator() { return std::mt19937_64(seed_of_running_test()); }

std::string matrix_folder() {
    const char* folder = std::getenv("TESSERA_TEST_MATRICES");
    return folder != nullptr && std::filesystem::is_directory(folder) ? folder : "";
}

std::string scratch_folder() {
    const auto folder = std::filesystem::temp_directory_path() /
                        ("tessera_test_" + std::to_string(seed_of_running_test()) + "_" +
                         std::to_string(::getpid()));
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    return folder.string();
}

}  // namespace tessera::test

int main(int argc, char** argv) {
    if (argc > 1 && std::string(argv[1]) == "--tessera") {
        return tessera::test::faults::run_command_line(argc - 1, argv + 1);
    }
    ::testing::InitGoogleTest(&argc, argv);
    ::testing::UnitTest::GetInstance()->listeners().Append(new tessera::test::CasePrinter);
    const std::string suite = ::testing::GTEST_FLAG(filter);
    if (tessera::test::wants_cuda()) {
        std::string reason;
        if (tessera::cuda_devices(&reason).empty()) {
            std::printf("SKIPPED %s on cuda: %s\n", suite.c_str(), reason.c_str());
            return 77;
        }
    }
    try {
        tessera::Context::cpu();
    } catch (const tessera::Error& error) {
        std::printf("SKIPPED %s: %s\n", suite.c_str(), error.what());
        return 77;
    }
    const int failed = RUN_ALL_TESTS();
    const auto* unit = ::testing::UnitTest::GetInstance();
    if (failed == 0 && unit->test_to_run_count() > 0 &&
        unit->skipped_test_count() == unit->test_to_run_count()) {
        return 77;
    }
    if (unit->test_to_run_count() == 0) {
        std::printf("no test matches %s\n", suite.c_str());
        return 1;
    }
    return failed;
}
