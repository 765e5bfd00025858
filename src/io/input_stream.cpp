#include "io/input_stream.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <filesystem>

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

/// A file that zlib reads: as it is unless it is gzipped, then all members of it (zeros or other
/// bytes after the last one are ignored, as by gunzip).
struct InputStream::File {
    explicit File(const std::string& path) : name(path) {
        descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (descriptor < 0 && (errno == ENOENT || errno == ENOTDIR)) {
            std::error_code error;
            if (const auto target = std::filesystem::read_symlink(path, error); !error) {
                reject("there is no file '", target.string(), "', to which this link leads");
            }
            reject("there is no such file", similar_file(path));
        }
        expect(descriptor >= 0, "cannot be opened: ", std::strerror(errno));
        zipped = ::gzdopen(descriptor, "rb");
        if (zipped == nullptr) {
            ::close(descriptor);
            throw OutOfMemory(path + ": out of memory while opening it");
        }
        ::gzbuffer(zipped, 1 << 18);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() {
        if (zipped != nullptr) ::gzclose(zipped);
    }

    [[noreturn]] void fail() const {
        int status = Z_OK;
        std::string reason = ::gzerror(zipped, &status);
        const std::size_t name_end = reason.find(": ");
        if (name_end != std::string::npos) reason.erase(0, name_end + 2);
        if (status == Z_BUF_ERROR) reason = "it ends too early";
        throw ParseError(
            name, 0,
            (status == Z_ERRNO ? "cannot be read: " : "the gzip stream is broken: ") + reason);
    }

    std::string name;
    int descriptor = -1;
    gzFile zipped = nullptr;  ///< Owns the descriptor.
    struct stat opened {};    ///< The file's size and time when it was opened.
};

InputStream InputStream::open(const std::string& path) {
    InputStream stream("");
    stream.size_.reset();
    stream.file_ = std::make_shared<File>(path);
    File& file = *stream.file_;
    expect(::fstat(file.descriptor, &file.opened) == 0, "cannot be read: ", std::strerror(errno));
    expect(!S_ISDIR(file.opened.st_mode), "is a folder, not a file");
    const bool is_plain = ::gzdirect(file.zipped) != 0;
    // Files of the system such as those in /proc have no size.
    if (is_plain && S_ISREG(file.opened.st_mode) && file.opened.st_size > 0) {
        stream.size_ = file.opened.st_size;
    }
    return stream;
}

void InputStream::check_unchanged() const {
    if (!file_ || !S_ISREG(file_->opened.st_mode) || file_->opened.st_size == 0) return;
    struct stat now {};
    const auto& then = file_->opened;
    if (::fstat(file_->descriptor, &now) == 0 && now.st_size == then.st_size &&
        now.st_mtim.tv_sec == then.st_mtim.tv_sec && now.st_mtim.tv_nsec == then.st_mtim.tv_nsec) {
        return;
    }
    throw ParseError(file_->name, 0, "changed while it was read; read it when it is complete");
}

std::size_t InputStream::load(char* to, std::size_t bytes) {
    std::size_t got = 0;
    while (got < bytes && !ended_) {
        std::size_t more = std::min(bytes - got, std::size_t(1) << 30);  // zlib counts in 32 bits.
        if (file_) {
            const int count = ::gzread(file_->zipped, to + got, unsigned(more));
            int status = Z_OK;
            if (count <= 0) ::gzerror(file_->zipped, &status);
            if (status != Z_OK && status != Z_STREAM_END) {
                check_unchanged();
                file_->fail();
            }
            more = std::size_t(std::max(count, 0));
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
