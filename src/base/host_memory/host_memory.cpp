#include "base/host_memory/host_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <locale>
#include <sstream>

#include "base/concat.hpp"

namespace tessera {

namespace {

constexpr Offset no_limit = std::numeric_limits<Offset>::max();

std::string file_text(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// The number that a file of the system begins with, in whatever locale.
bool read_number(std::istream&& file, Offset& number) {
    file.imbue(std::locale::classic());
    return bool(file >> number);
}

/// The number after the word `key`, or `otherwise`.
Offset number_after(const std::string& text, const std::string& key, Offset otherwise) {
    std::istringstream words(text);
    words.imbue(std::locale::classic());
    Offset number = 0;
    for (std::string word; words >> word;) {
        if (word == key && words >> number) return number;
    }
    return otherwise;
}

/// The names of the files of one version of control groups.
struct GroupFiles {
    const char* limit;
    const char* usage;
    const char* page_cache[2];  ///< Keys in memory.stat.
};
constexpr GroupFiles version_1 = {
    "memory.limit_in_bytes", "memory.usage_in_bytes", {"total_inactive_file", "total_active_file"}};
constexpr GroupFiles version_2 = {"memory.max", "memory.current", {"inactive_file", "active_file"}};

/// Limit - usage + page cache of the group in this folder.
Offset group_leaves(const std::string& folder, const GroupFiles& files) {
    Offset limit = 0, usage = 0;
    // The limit may be the word "max".
    if (!read_number(std::ifstream(folder + files.limit), limit)) return no_limit;
    if (!read_number(std::ifstream(folder + files.usage), usage)) return no_limit;
    const std::string statistics = file_text(folder + "memory.stat");
    for (const char* key : files.page_cache) usage -= number_after(statistics, key, 0);
    return std::max<Offset>(limit - std::max<Offset>(usage, 0), 0);
}

}  // namespace

namespace host_memory {

Offset system_available(const std::string& meminfo) {
    const Offset kibibytes = number_after(meminfo, "MemAvailable:", -1);
    return kibibytes < 0 ? no_limit : kibibytes * 1024;
}

Offset control_groups_leave(const std::string& mounted, const std::string& memberships) {
    Offset least = no_limit;
    std::istringstream lines(memberships);
    for (std::string line; std::getline(lines, line);) {
        // "ID:CONTROLLERS:PATH"; version 2 has no controllers.
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
        const bool is_version_2 = controllers == ",,";
        if (!is_version_2 && controllers.find(",memory,") == std::string::npos) continue;
        const std::string root = mounted + (is_version_2 ? "" : "/memory");
        for (std::string path = line.substr(second + 1);; path.erase(path.rfind('/'))) {
            if (path == "/") path.clear();
            least = std::min(least,
                             group_leaves(root + path + "/", is_version_2 ? version_2 : version_1));
            if (path.rfind('/') == std::string::npos) break;
        }
    }
    return least;
}

Offset address_space_leaves(std::uint64_t limit, const std::string& statm, Offset page_bytes) {
    Offset pages = 0;
    if (limit > std::uint64_t(no_limit)) return no_limit;
    if (!read_number(std::istringstream(statm), pages)) return no_limit;
    return std::max<Offset>(Offset(limit) - pages * page_bytes, 0);
}

}  // namespace host_memory

Offset free_host_memory() {
    rlimit space{};
    const bool limited = getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY;
    const Offset page_bytes = Offset(sysconf(_SC_PAGESIZE));
    Offset free = std::min(
        host_memory::system_available(file_text("/proc/meminfo")),
        host_memory::control_groups_leave("/sys/fs/cgroup", file_text("/proc/self/cgroup")));
    if (free == no_limit) free = Offset(sysconf(_SC_AVPHYS_PAGES)) * page_bytes;
    if (!limited) return free;
    return std::min(free, host_memory::address_space_leaves(
                              space.rlim_cur, file_text("/proc/self/statm"), page_bytes));
}

std::string bytes_text(double bytes) {
    constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    int unit = 0;
    for (; bytes >= 1000 && unit < 6; ++unit) bytes /= 1000;
    return number_text(bytes, std::chars_format::fixed, unit == 0 ? 0 : 1) + " " + units[unit];
}

void require_host_memory(const std::string& what, double bytes) {
    constexpr double unchecked = double(1 << 26);
    if (bytes < unchecked) return;
    const double free = double(free_host_memory());
    if (bytes <= free) return;
    throw OutOfMemory(what + " needs about " + bytes_text(bytes) + " of host memory, but " +
                      bytes_text(free) +
                      " are free; take a smaller problem, or a machine with more memory");
}

}  // namespace tessera
