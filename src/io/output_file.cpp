#include "io/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <random>
#include <utility>

#include "base/concat.hpp"
#include "io/interrupts.hpp"
#include "tessera/io.hpp"
#include "tessera/spec.hpp"

namespace tessera::io {

/// One place of the table of temporary files that remove_temporary_files deletes.
struct TemporaryFileSlot {
    /// used: the file exists or is about to; taken: remove_temporary_files is deleting it, perhaps
    /// in another thread; abandoned: likewise, and its TemporaryFile has ended; removed: deleted.
    enum class State { empty, filling, used, taken, abandoned, removed };
    std::atomic<State> state = State::empty;
    int folder = -1;  ///< Descriptor.
    char name[32] = {};

    bool change(State from, State to) { return state.compare_exchange_strong(from, to); }
};

namespace {

using State = TemporaryFileSlot::State;

/// Signal handlers have no argument that could lead to these files, so the table is global.
constinit std::array<TemporaryFileSlot, 64> temporary_files{};
static_assert(std::atomic<State>::is_always_lock_free);

/// ".tessera-" and twelve random characters (60 bits). Short, as a file may have the longest name
/// that its folder allows.
std::string random_name() {
    constexpr std::string_view prefix = ".tessera-", digits = "0123456789abcdefghijkmnpqrstuvwx";
    static_assert(digits.size() == 32);
    std::random_device random;
    std::uint64_t bits = (std::uint64_t(random()) << 32) | random();
    std::string name(prefix);
    for (int k = 0; k < 12; ++k, bits >>= 5) name += digits[bits % digits.size()];
    return name;
}

/// Makes the renaming last; the file system may not support it.
void synchronize_folder(int folder) {
    const int opened = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0) return;
    ::fsync(opened);
    ::close(opened);
}

[[noreturn]] void throw_cannot_write(const std::string& path, int error) {
    throw Error(concat(path, ": cannot be written: ", std::strerror(error)));
}

/// The file that a path leads to.
struct Target {
    std::string folder, name;
    bool exists = false;
    bool in_place = false;  ///< Not a regular file, or the open file of a process.
    struct stat about {};   ///< If it exists.

    std::string path() const { return folder + name; }
};

/// Whether a symbolic link leads to a file that a process has open, such as /proc/self/fd/1.
bool is_open_file(const Target& link) {
    constexpr long proc_magic = 0x9fa0;  // PROC_SUPER_MAGIC of Linux.
    struct statfs system {};
    return ::statfs(link.folder.c_str(), &system) == 0 && long(system.f_type) == proc_magic;
}

/// Follows the symbolic links of a path; the file at their end need not exist. Throws Error for a
/// loop of links, a folder, and a file that must not be written.
Target find_target(const std::string& path) {
    std::string next = path;
    constexpr int max_links = 40;  // As in Linux.
    for (int links = 0; links <= max_links; ++links) {
        const std::size_t name = next.rfind('/') + 1;  // 0 where there is no '/'.
        Target target{name == 0 ? "./" : next.substr(0, name), next.substr(name)};
        if (next.empty()) throw_cannot_write(path, ENOENT);
        if (target.name.empty()) throw_cannot_write(path, EISDIR);
        target.exists = ::lstat(next.c_str(), &target.about) == 0;
        if (!target.exists && errno != ENOENT) throw_cannot_write(path, errno);
        const bool is_link = target.exists && S_ISLNK(target.about.st_mode);
        if (is_link && !is_open_file(target)) {
            std::string text(PATH_MAX, '\0');
            const ssize_t size = ::readlink(next.c_str(), text.data(), text.size());
            if (size < 0) throw_cannot_write(path, errno);
            text.resize(std::size_t(size));
            next = text.starts_with('/') ? text : target.folder + text;
            continue;
        }
        if (target.exists && S_ISDIR(target.about.st_mode)) throw_cannot_write(path, EISDIR);
        if (target.exists && ::access(next.c_str(), W_OK) != 0) throw_cannot_write(path, errno);
        target.in_place = target.exists && !S_ISREG(target.about.st_mode);
        return target;
    }
    throw_cannot_write(path, ELOOP);
}

/// Opens a file that is written in place. A descriptor of this process is duplicated, so that both
/// write behind each other.
int open_in_place(const Target& target) {
    const std::string path = target.path();
    std::int64_t number = 0;
    struct stat named {
    }, own{};
    if (S_ISLNK(target.about.st_mode) && parse_integer(target.name, number).empty() &&
        ::stat(path.c_str(), &named) == 0 && ::fstat(int(number), &own) == 0 &&
        named.st_dev == own.st_dev && named.st_ino == own.st_ino) {
        return ::fcntl(int(number), F_DUPFD_CLOEXEC, 0);
    }
    return repeated(
        [&] { return ::open(path.c_str(), O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC); });
}

}  // namespace

int TemporaryFile::create(const std::string& folder, unsigned permissions) {
    name_ = random_name();
    folder_ = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder_ < 0) return -1;
    // Entered first, as a signal may come as soon as the file exists.
    for (auto& slot : temporary_files) {
        if (!slot.change(State::empty, State::filling)) continue;
        slot.folder = folder_;
        slot.name[name_.copy(slot.name, sizeof slot.name - 1)] = '\0';
        slot.state = State::used;
        slot_ = &slot;
        break;
    }
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    const int file =
        repeated([&] { return ::openat(folder_, name_.c_str(), flags, mode_t(permissions)); });
    if (file < 0) {
        const int error = errno;
        withdraw();
        errno = error;
    }
    return file;
}

bool TemporaryFile::rename(const std::string& name) {
    if (::renameat(folder_, name_.c_str(), folder_, name.c_str()) != 0) return false;
    synchronize_folder(folder_);
    withdraw();
    return true;
}

void TemporaryFile::remove() {
    if (folder_ < 0) return;
    ::unlinkat(folder_, name_.c_str(), 0);
    withdraw();
}

/// Empties the slot and closes the folder; where remove_temporary_files is using them, it does so.
void TemporaryFile::withdraw() {
    const int folder = std::exchange(folder_, -1);
    TemporaryFileSlot* const slot = std::exchange(slot_, nullptr);
    while (slot != nullptr && !slot->change(State::used, State::empty) &&
           !slot->change(State::removed, State::empty)) {
        if (slot->change(State::taken, State::abandoned)) return;
    }
    ::close(folder);
}

OutputFile::OutputFile(const std::string& path) : path_(path) {
    const Target target = find_target(path);
    if (target.in_place) {
        file_ = open_in_place(target);
        if (file_ < 0) fail();
        return;
    }
    name_ = target.name;
    file_ = temporary_.create(target.folder, target.exists ? 0600 : 0666);
    if (file_ < 0) fail();
    if (target.exists && ::fchmod(file_, target.about.st_mode & 0777) != 0) fail();
}

OutputFile::~OutputFile() {
    if (file_ >= 0) ::close(file_);
}

void OutputFile::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written =
            repeated([&] { return ::write(file_, bytes.data(), bytes.size()); });
        if (written < 0) fail();
        bytes.remove_prefix(std::size_t(written));
    }
}

void OutputFile::close() {
    const bool in_place = name_.empty();
    // Without it a crash of the machine could leave the new name without its bytes.
    if (!in_place && repeated([&] { return ::fsync(file_); }) != 0 && errno != EINVAL) fail();
    // Linux has closed the file also where a signal interrupts that.
    if (::close(std::exchange(file_, -1)) != 0 && errno != EINTR) fail();
    if (!in_place && !temporary_.rename(name_)) fail();
}

void OutputFile::fail() {
    const int error = errno;
    if (file_ >= 0) ::close(std::exchange(file_, -1));
    temporary_.remove();
    throw_cannot_write(path_, error);
}

void write_file(const std::string& path, std::string_view bytes) {
    OutputFile file(path);
    file.write(bytes);
    file.close();
}

void check_writable(const std::string& path) {
    if (!find_target(path).in_place) OutputFile file(path);
}

int remove_temporary_files() noexcept {
    const int error = errno;  // Restored for the code that the signal interrupted.
    int removed = 0;
    for (auto& slot : temporary_files) {
        if (!slot.change(State::used, State::taken)) continue;
        if (::unlinkat(slot.folder, slot.name, 0) == 0) ++removed;
        if (slot.change(State::taken, State::removed)) continue;
        ::close(slot.folder);
        slot.state = State::empty;
    }
    errno = error;
    return removed;
}

}  // namespace tessera::io
