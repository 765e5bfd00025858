#pragma once

#include <string>

#include "tessera/types.hpp"

namespace tessera {

/// Bytes of host memory that this process can still use without swapping: the least of what the
/// system has available (MemAvailable, which counts the page cache), what the limits of its control
/// groups leave, and what its limit of address space (ulimit -v) leaves.
Offset free_host_memory();

/// Throws OutOfMemory, "WHAT needs about 3.2 GB of host memory, but 1.1 GB are free; ..", unless
/// `bytes` are free: the system lends more memory than there is, and kills the process that then
/// uses it. Amounts below 64 MiB are not checked. A double, because sizes from outside may exceed
/// 2^63.
void require_host_memory(const std::string& what, double bytes);

/// "3.2 GB".
std::string bytes_text(double bytes);

/// The parts of free_host_memory. Each returns the largest Offset where there is no such limit.
namespace host_memory {
/// From the text of /proc/meminfo.
Offset system_available(const std::string& meminfo);
/// The least rest of all control groups of a process and of their ancestors, of version 1 or 2:
/// limit - usage + page cache. `memberships` is the text of /proc/self/cgroup; groups that are not
/// below `mounted` (/sys/fs/cgroup), as in a container, are left out.
Offset control_groups_leave(const std::string& mounted, const std::string& memberships);
/// `limit` of address space minus what is used, from the text of /proc/self/statm.
Offset address_space_leaves(std::uint64_t limit, const std::string& statm, Offset page_bytes);
}  // namespace host_memory

}  // namespace tessera
