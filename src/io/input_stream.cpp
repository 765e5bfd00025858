#include "io/input_stream.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/check_time.hpp"
#include "io/interrupts.hpp"
#include "io/text.hpp"
#include "tessera/spec.hpp"

namespace tessera::io {

namespace {

/// "; did you mean 'x'?" if a file of a similar name is in the same folder.
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
    return concat("; did you mean '", (wanted.parent_path() / nearest).string(), "'?");
}

}  // namespace

/// A file as it is unless it is gzipped, then all members of it (zeros or other bytes after the
/// last one are ignored, as by gunzip).
struct InputStream::File {
    explicit File(const std::string& path) : name(path) {
        descriptor = repeated([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
        if (descriptor < 0 && (errno == ENOENT || errno == ENOTDIR)) {
            std::error_code error;
            if (const auto target = std::filesystem::read_symlink(path, error); !error) {
                reject("there is no file '", target.string(), "', to which this link leads");
            }
            reject("there is no such file", similar_file(path));
        }
        expect(descriptor >= 0, "cannot be opened: ", std::strerror(errno));
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() {
        if (descriptor >= 0) ::close(descriptor);
        if (zipped) ::inflateEnd(&stream);
    }

    /// Looks at the beginning, for which a pipe may wait.
    void begin() {
        packed.resize(std::size_t(1) << 18);
        if (!at_member()) return;
        constexpr int gzip_window = 15 + 16;
        if (::inflateInit2(&stream, gzip_window) != Z_OK) {
            throw OutOfMemory(name + ": out of memory while opening it");
        }
        zipped = true;
    }

    /// Loads at least one byte and `bytes` at most; 0 at the end.
    std::size_t load(char* to, std::size_t bytes) {
        if (zipped) return inflated(to, bytes);
        if (stream.avail_in == 0) return received(to, bytes);
        const std::size_t count = std::min<std::size_t>(bytes, stream.avail_in);
        std::copy_n(stream.next_in, count, to);
        stream.next_in += count;
        stream.avail_in -= uInt(count);
        return count;
    }

    void check_unchanged() const {
        if (!S_ISREG(opened.st_mode) || opened.st_size == 0) return;
        struct stat now {};
        if (::fstat(descriptor, &now) == 0 && now.st_size == opened.st_size &&
            now.st_mtim.tv_sec == opened.st_mtim.tv_sec &&
            now.st_mtim.tv_nsec == opened.st_mtim.tv_nsec) {
            return;
        }
        throw ParseError(name, 0, "changed while it was read; read it when it is complete");
    }

    std::string name;
    int descriptor = -1;
    struct stat opened {};  ///< The file's size and time when it was opened.
    bool zipped = false;

  private:
    /// What one read of the descriptor gives.
    std::size_t received(char* to, std::size_t bytes) const {
        const ssize_t count = repeated([&] { return ::read(descriptor, to, bytes); });
        if (count >= 0) return std::size_t(count);
        const std::string reason = std::strerror(errno);
        check_unchanged();
        throw ParseError(name, 0, "cannot be read: " + reason);
    }

    /// Reads until `stream` has this many bytes or the file ends; whether it has.
    bool fill(uInt bytes) {
        if (stream.avail_in >= bytes) return true;
        if (stream.avail_in > 0) std::memmove(packed.data(), stream.next_in, stream.avail_in);
        stream.next_in = reinterpret_cast<Bytef*>(packed.data());
        while (stream.avail_in < bytes) {
            const std::size_t more = received(packed.data() + stream.avail_in,
                                              packed.size() - std::size_t(stream.avail_in));
            if (more == 0) return false;
            stream.avail_in += uInt(more);
        }
        return true;
    }

    bool at_member() { return fill(2) && stream.next_in[0] == 0x1f && stream.next_in[1] == 0x8b; }

    std::size_t inflated(char* to, std::size_t bytes) {
        stream.next_out = reinterpret_cast<Bytef*>(to);
        stream.avail_out = uInt(bytes);
        while (!complete && stream.avail_out == bytes) {
            if (!fill(1)) fail("it ends too early");
            const int status = ::inflate(&stream, Z_NO_FLUSH);
            if (status == Z_STREAM_END) {
                complete = !at_member();
                if (!complete) ::inflateReset(&stream);
                // Zeros fill the last block of a tape or archive.
                if (complete && fill(1) && stream.next_in[0] != 0) {
                    fail("bytes follow its end that are no gzip stream");
                }
            } else if (status == Z_MEM_ERROR) {
                throw OutOfMemory(name + ": out of memory while reading it");
            } else if (status != Z_OK) {
                fail(stream.msg != nullptr ? stream.msg : "it is no gzip stream");
            }
        }
        return bytes - stream.avail_out;
    }

    [[noreturn]] void fail(const std::string& reason) const {
        check_unchanged();
        throw ParseError(name, 0, "the gzip stream is broken: " + reason);
    }

    std::vector<char> packed;  ///< Bytes of the file that are read ahead; `stream` reads them.
    z_stream stream{};
    bool complete = false;  ///< The last member of a gzipped file has ended.
};

InputStream InputStream::open(const std::string& path) {
    InputStream stream("");
    stream.size_.reset();
    stream.file_ = std::make_shared<File>(path);
    File& file = *stream.file_;
    expect(::fstat(file.descriptor, &file.opened) == 0, "cannot be read: ", std::strerror(errno));
    expect(!S_ISDIR(file.opened.st_mode), "is a folder, not a file");
    file.begin();
    // Files of the system such as those in /proc have no size.
    if (!file.zipped && S_ISREG(file.opened.st_mode) && file.opened.st_size > 0) {
        stream.size_ = file.opened.st_size;
    }
    return stream;
}

void InputStream::check_unchanged() const {
    if (file_) file_->check_unchanged();
}

std::size_t InputStream::load(char* to, std::size_t bytes) {
    check_time();
    std::size_t got = 0;
    while (got < bytes && !ended_) {
        std::size_t more = std::min(bytes - got, std::size_t(1) << 30);  // zlib counts in 32 bits.
        if (file_) {
            more = file_->load(to + got, more);
        } else {
            more = std::min(more, text_.size());
            std::copy_n(text_.data(), more, to + got);
            text_.remove_prefix(more);
        }
        ended_ = more == 0;
        got += more;
    }
    loaded_ += Offset(got);
    if (ended_) {
        check_unchanged();
        size_ = loaded_;
    }
    return got;
}

std::string_view InputStream::peek(std::size_t bytes) {
    constexpr std::size_t least = std::size_t(1) << 18;
    if (end_ - begin_ < bytes && !ended_) {
        std::copy(buffer_.begin() + Offset(begin_), buffer_.begin() + Offset(end_),
                  buffer_.begin());
        end_ -= std::exchange(begin_, 0);
        buffer_.resize(std::max({buffer_.size(), bytes, least}));
        end_ += load(buffer_.data() + end_, buffer_.size() - end_);
    }
    return unread();
}

std::size_t InputStream::read(char* to, std::size_t bytes) {
    const std::size_t held = std::min(bytes, end_ - begin_);
    std::copy_n(buffer_.data() + begin_, held, to);
    begin_ += held;
    return held + load(to + held, bytes - held);
}

void InputStream::finish() {
    while (!size_ && !peek(1).empty()) begin_ = end_;
    check_unchanged();
}

std::string_view InputStream::read_lines(std::size_t bytes, std::vector<char>& memory) {
    bytes = std::max<std::size_t>(bytes, 1);
    if (size_) {
        bytes = std::size_t(std::clamp<Offset>(*size_ - position() + 1, 1, Offset(bytes)));
    }
    for (std::size_t size = 0;;) {
        const std::size_t more = std::max(bytes, size);
        if (memory.size() < size + more + 1) memory.resize(size + more + 1);
        const std::size_t got = read(memory.data() + size, more);
        size += got;
        const std::size_t whole = std::string_view(memory.data(), size).rfind('\n') + 1;
        if (got < more || (whole == 0 && size > max_line_bytes)) {
            if (whole != size) memory[size++] = '\n';
            return {memory.data(), size};
        }
        if (whole == 0) continue;
        // The beginning of the next line goes back: all of it is from the buffer unless that is
        // empty now.
        if (begin_ == end_) {
            buffer_.assign(memory.begin() + Offset(whole), memory.begin() + Offset(size));
            begin_ = end_ = size - whole;
        }
        begin_ -= size - whole;
        return {memory.data(), whole};
    }
}

}  // namespace tessera::io
