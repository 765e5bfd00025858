#include "io/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/concat.hpp"
#include "base/parallel.hpp"

namespace tessera::io {

namespace {

/// Writes to PATH.part, which is renamed to PATH when it is complete. A PATH that exists and is not
/// a regular file (a device, a pipe, a link such as /dev/stdout) is written in place.
class OutputFile {
  public:
    explicit OutputFile(const std::string& path) : path_(path), written_(path) {
        struct stat about {};
        const bool exists = ::lstat(path.c_str(), &about) == 0;
        in_place_ = exists && !S_ISREG(about.st_mode);
        if (exists && !in_place_ && ::access(path.c_str(), W_OK) != 0) fail();
        if (!in_place_) written_ += ".part";
        const int no_follow = in_place_ ? 0 : O_NOFOLLOW;
        file_ =
            ::open(written_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | no_follow, 0666);
        if (file_ < 0) fail();
        temporary_ = !in_place_;
        if (exists && temporary_ && ::fchmod(file_, about.st_mode & 07777) != 0) fail();
    }
    ~OutputFile() { discard(); }
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    void write(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t written = ::write(file_, bytes.data(), bytes.size());
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) fail();
            bytes.remove_prefix(std::size_t(written));
        }
    }

    /// Write errors of a full disk may be reported only here.
    void close() {
        if (::close(std::exchange(file_, -1)) != 0) fail();
        if (temporary_ && ::rename(written_.c_str(), path_.c_str()) != 0) fail();
        temporary_ = false;
    }

  private:
    [[noreturn]] void fail() {
        const std::string reason = std::strerror(errno);
        discard();
        throw Error(concat(path_, ": cannot be written: ", reason));
    }

    void discard() {
        if (file_ >= 0) ::close(std::exchange(file_, -1));
        if (std::exchange(temporary_, false)) ::unlink(written_.c_str());
    }

    std::string path_;
    std::string written_;  ///< PATH or PATH.part.
    bool in_place_ = false;
    bool temporary_ = false;  ///< PATH.part exists.
    int file_ = -1;
};

/// Memory allocated by deflateInit2.
struct Deflation {
    z_stream stream{};
    ~Deflation() { deflateEnd(&stream); }
};

std::string gzip_member(const std::string& text) {
    Deflation deflation;
    z_stream& stream = deflation.stream;
    constexpr int gzip_window = 15 + 16;
    constexpr int default_memory = 8;
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window, default_memory,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        throw OutOfMemory("out of memory for gzip");
    }
    std::string zipped(deflateBound(&stream, uLong(text.size())), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = uInt(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(zipped.data());
    stream.avail_out = uInt(zipped.size());
    const int status = deflate(&stream, Z_FINISH);
    zipped.resize(stream.total_out);
    if (status != Z_STREAM_END) throw Error("gzip failed");
    return zipped;
}

/// One range of a section.
struct Piece {
    const FileSection* section;
    Offset first, last;
};

}  // namespace

FileSection text_section(std::string text) {
    return item_section(1, [text](Offset, std::string& bytes) { bytes += text; });
}

void write_sections(const Context& cpu, const std::string& path, bool zip,
                    const std::vector<FileSection>& sections) {
    constexpr Offset items_per_piece = 1 << 16;
    std::vector<Piece> pieces;
    for (const FileSection& section : sections) {
        for (Offset first = 0; first < section.count; first += items_per_piece) {
            pieces.push_back({&section, first, std::min(section.count, first + items_per_piece)});
        }
    }
    OutputFile file(path);
    const Offset at_once = 4 * Offset(cpu.threads());
    for (Offset first = 0; first < Offset(pieces.size()); first += at_once) {
        const Offset count = std::min(at_once, Offset(pieces.size()) - first);
        std::vector<std::string> made(static_cast<std::size_t>(count));
        parallel_tasks(cpu.threads(), count, [&](Offset k) {
            const Piece& piece = pieces[std::size_t(first + k)];
            std::string& bytes = made[std::size_t(k)];
            piece.section->append(piece.first, piece.last, bytes);
            if (zip) bytes = gzip_member(bytes);
        });
        for (const std::string& bytes : made) file.write(bytes);
    }
    file.close();
}

}  // namespace tessera::io
