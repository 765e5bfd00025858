#include "io/file_contents.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "tessera/error.hpp"
#include "tessera/spec.hpp"

namespace tessera::io {

namespace {

struct Descriptor {
    int number;
    ~Descriptor() {
        if (number >= 0) ::close(number);
    }
};

/// "; did you mean 'x'?" if a file of a similar name lies in the same folder.
std::string similar_file(const std::string& path) {
    const std::filesystem::path wanted(path);
    const auto folder = wanted.has_parent_path() ? wanted.parent_path() : ".";
    std::vector<std::string> names;
    std::error_code failed;
    for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end;
         at.increment(failed)) {
        names.push_back(at->path().filename().string());
    }
    std::sort(names.begin(), names.end());
    const std::string nearest = nearest_word(wanted.filename().string(), names);
    if (nearest.empty()) return "";
    return "; did you mean '" + (wanted.parent_path() / nearest).string() + "'?";
}

int open_to_read(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0) return descriptor;
    if (errno == ENOENT || errno == ENOTDIR) {
        throw ParseError(path, 0, "there is no such file" + similar_file(path));
    }
    throw ParseError(path, 0, std::string("cannot be opened: ") + std::strerror(errno));
}

std::string read_all(const std::string& path, int descriptor) {
    constexpr std::size_t step = std::size_t(1) << 16;
    std::string bytes;
    std::size_t used = 0;
    while (true) {
        bytes.resize(std::max(used + step, bytes.size()));
        const ssize_t got = ::read(descriptor, bytes.data() + used, bytes.size() - used);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            throw ParseError(path, 0, std::string("cannot be read: ") + std::strerror(errno));
        if (got == 0) break;
        used += std::size_t(got);
        if (used == bytes.size()) bytes.resize(2 * used);
    }
    bytes.resize(used);
    return bytes;
}

/// What inflateInit2 allocates.
struct Inflation {
    z_stream stream{};
    ~Inflation() { inflateEnd(&stream); }
};

/// All members of a gzip stream; zeros or other bytes behind the last one are left alone, as by
/// gunzip.
std::string unzip(const std::string& path, std::string_view zipped) {
    Inflation inflation;
    z_stream& stream = inflation.stream;
    constexpr int gzip_window = 15 + 16;
    if (inflateInit2(&stream, gzip_window) != Z_OK) throw OutOfMemory("out of memory for gunzip");
    std::string bytes;
    std::size_t used = 0;
    std::size_t taken = 0;
    int status = Z_OK;
    constexpr std::size_t most = std::size_t(1) << 30;  // zlib counts in 32 bits
    while (true) {
        if (used == bytes.size()) bytes.resize(std::max(4 * zipped.size(), 2 * used));
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(zipped.data() + taken));
        stream.avail_in = uInt(std::min(most, zipped.size() - taken));
        stream.next_out = reinterpret_cast<Bytef*>(bytes.data() + used);
        stream.avail_out = uInt(std::min(most, bytes.size() - used));
        const uInt in = stream.avail_in;
        const uInt out = stream.avail_out;
        status = inflate(&stream, Z_NO_FLUSH);
        taken += in - stream.avail_in;
        used += out - stream.avail_out;
        if (status == Z_STREAM_END) {
            if (!zipped.substr(taken).starts_with("\x1f\x8b")) break;
            inflateReset(&stream);
        } else if (status != Z_OK || (taken == zipped.size() && stream.avail_out > 0)) {
            break;
        }
    }
    const std::string reason = stream.msg != nullptr ? stream.msg : "it ends too early";
    if (status != Z_STREAM_END) {
        throw ParseError(path, 0, "the gzip stream is broken: " + reason);
    }
    bytes.resize(used);
    return bytes;
}

}  // namespace

FileContents::FileContents(const std::string& path) {
    const Descriptor file{open_to_read(path)};
    struct stat about {};
    if (::fstat(file.number, &about) != 0) {
        throw ParseError(path, 0, std::string("cannot be read: ") + std::strerror(errno));
    }
    if (S_ISDIR(about.st_mode)) throw ParseError(path, 0, "is a folder, not a file");
    if (S_ISREG(about.st_mode) && about.st_size > 0) {
        map_size_ = std::size_t(about.st_size);
        map_ = ::mmap(nullptr, map_size_, PROT_READ, MAP_PRIVATE, file.number, 0);
        if (map_ == MAP_FAILED) map_ = nullptr;
    }
    if (map_ == nullptr) owned_ = read_all(path, file.number);
    if (bytes().starts_with("\x1f\x8b")) {
        try {
            owned_ = unzip(path, bytes());
        } catch (...) {
            unmap();
            throw;
        }
        unmap();
    }
    if (bytes().empty()) throw ParseError(path, 0, "the file is empty");
}

FileContents::~FileContents() { unmap(); }

void FileContents::unmap() noexcept {
    if (map_ != nullptr) ::munmap(map_, map_size_);
    map_ = nullptr;
}

}  // namespace tessera::io
