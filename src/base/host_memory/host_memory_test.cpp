#include "base/host_memory/host_memory.hpp"

#include <filesystem>
#include <fstream>

#include "support/messages.hpp"
#include "support/test.hpp"

namespace tessera::host_memory {
namespace {

constexpr Offset no_limit = std::numeric_limits<Offset>::max();

/// A folder like /sys/fs/cgroup with these files.
std::string mounted(const std::vector<std::pair<std::string, std::string>>& files) {
    const std::string folder = test::scratch_folder();
    for (const auto& [name, text] : files) {
        const std::filesystem::path path = folder + name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text;
    }
    return folder;
}

TEST(host_memory, what_the_system_has) {
    EXPECT_EQ(system_available("MemTotal:  24682504 kB\nMemFree: 1 kB\nMemAvailable: 20768 kB\n"),
              20768 * 1024);
    EXPECT_EQ(system_available("MemTotal:  24682504 kB\n"), no_limit);
    EXPECT_EQ(system_available(""), no_limit);
    EXPECT_GT(free_host_memory(), 0);
    EXPECT_EQ(test::host().free_memory() > 0, true);
}

TEST(host_memory, control_groups_of_version_2) {
    const std::string folder = mounted({{"/a/memory.max", "1000000\n"},
                                        {"/a/memory.current", "300000\n"},
                                        {"/a/memory.stat",
                                         "anon 5\ninactive_file 1000\n"
                                         "active_file 200\nshmem 7\n"},
                                        {"/a/b/memory.max", "max\n"},
                                        {"/a/b/memory.current", "200000\n"},
                                        {"/full/memory.max", "1000\n"},
                                        {"/full/memory.current", "2000\n"}});
    EXPECT_EQ(control_groups_leave(folder, "0::/a\n"), 701200);
    EXPECT_EQ(control_groups_leave(folder, "0::/a/b\n"), 701200);
    EXPECT_EQ(control_groups_leave(folder, "0::/full\n"), 0);
    EXPECT_EQ(control_groups_leave(folder, "0::/\n"), no_limit);
    EXPECT_EQ(control_groups_leave(folder, "0::/elsewhere/c\n"), no_limit);
    EXPECT_EQ(control_groups_leave(folder, "1:name=systemd:/a\nnonsense\n"), no_limit);
}

TEST(host_memory, control_groups_of_version_1) {
    const std::string folder =
        mounted({{"/memory/memory.limit_in_bytes", "5000000\n"},
                 {"/memory/memory.usage_in_bytes", "1000000\n"},
                 {"/memory/memory.stat",
                  "inactive_file 9\ntotal_inactive_file 100\n"
                  "total_active_file 10\n"},
                 {"/memory/a/memory.limit_in_bytes", "9223372036854771712\n"},
                 {"/memory/a/memory.usage_in_bytes", "400000\n"},
                 {"/memory/a/b/memory.limit_in_bytes", "600000\n"},
                 {"/memory/a/b/memory.usage_in_bytes", "400000\n"}});
    EXPECT_EQ(control_groups_leave(folder, "3:cpuset:/\n2:cpu,memory:/a/b\n0::/\n"), 200000);
    EXPECT_EQ(control_groups_leave(folder, "2:memory:/a\n"), 4000110);
    // In a container the path may be that of the host.
    EXPECT_EQ(control_groups_leave(folder, "2:memory:/docker/0123\n"), 4000110);
}

TEST(host_memory, limit_of_address_space) {
    EXPECT_EQ(address_space_leaves(1 << 20, "100 5 3 1 0 2 0\n", 4096), (1 << 20) - 409600);
    EXPECT_EQ(address_space_leaves(1 << 10, "100 5 3 1 0 2 0\n", 4096), 0);
    EXPECT_EQ(address_space_leaves(~std::uint64_t(0), "100 5", 4096), no_limit);
}

TEST(host_memory, more_than_is_free_is_refused_with_both_amounts) {
    EXPECT_NO_THROW(require_host_memory("a trifle", 100));
    const auto refused = test::message_of<OutOfMemory>([] { require_host_memory("x:3", 1e30); });
    EXPECT_EQ(refused.find("x:3 needs about 1000000000000.0 EB of host memory, but "), 0u)
        << refused;
    test::expect_contains(refused, " are free");
    // Refused before the system is asked, which might lend it.
    const auto buffer =
        test::message_of<OutOfMemory>([] { Buffer<char>(test::host(), Offset(1) << 45); });
    EXPECT_EQ(buffer.find("an array needs about 35.2 TB of host memory, but "), 0u) << buffer;
}

TEST(host_memory, amounts_are_short) {
    EXPECT_EQ(bytes_text(999), "999 B");
    EXPECT_EQ(bytes_text(1000), "1.0 kB");
    EXPECT_EQ(bytes_text(3.24e9), "3.2 GB");
}

}  // namespace
}  // namespace tessera::host_memory
