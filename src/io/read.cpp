#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <filesystem>
#include <new>

#include "io/formats.hpp"
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

/// The bytes of a file, mapped into memory where it can be; of a gzipped file (by its first bytes,
/// 1f 8b) the unzipped bytes. Rejects a file that does not exist (naming the nearest in the
/// folder), folders, unreadable and empty files, broken gzip streams.
class FileContents {
  public:
    explicit FileContents(const std::string& path)
        : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        try {
            read(path);
        } catch (...) {
            release();
            throw;
        }
    }
    ~FileContents() { release(); }
    FileContents(const FileContents&) = delete;
    FileContents& operator=(const FileContents&) = delete;

    std::string_view bytes() const {
        return map_ != MAP_FAILED ? std::string_view(static_cast<const char*>(map_), map_size_)
                                  : std::string_view(owned_);
    }

  private:
    void read(const std::string& path) {
        if (file_ < 0 && (errno == ENOENT || errno == ENOTDIR)) {
            reject("there is no such file", similar_file(path));
        }
        expect(file_ >= 0, "cannot be opened: ", std::strerror(errno));
        struct stat about {};
        expect(::fstat(file_, &about) == 0, "cannot be read: ", std::strerror(errno));
        expect(!S_ISDIR(about.st_mode), "is a folder, not a file");
        if (S_ISREG(about.st_mode) && about.st_size > 0) {
            map_size_ = std::size_t(about.st_size);
            map_ = ::mmap(nullptr, map_size_, PROT_READ, MAP_PRIVATE, file_, 0);
        }
        if (map_ == MAP_FAILED || bytes().starts_with("\x1f\x8b")) {
            unmap();
            unzip();
        }
        expect(!bytes().empty(), "the file is empty");
    }

    /// All members of a gzip stream (zeros or other bytes after the last one are ignored, as by
    /// gunzip), or the file as it is.
    void unzip() {
        const gzFile file = ::gzdopen(file_, "rb");
        if (file == nullptr) throw OutOfMemory("out of memory for gunzip");
        file_ = -1;  // which gzclose closes
        ::gzbuffer(file, 1 << 18);
        std::size_t used = 0;
        int got = 0;
        do {
            if (used == owned_.size()) {
                owned_.resize(std::max({4 * map_size_, 2 * used, std::size_t(1) << 16}));
            }
            constexpr std::size_t max_read = std::size_t(1) << 30;  // zlib counts in 32 bits
            got = ::gzread(file, owned_.data() + used,
                           unsigned(std::min(max_read, owned_.size() - used)));
            used += std::size_t(std::max(got, 0));
        } while (got > 0);
        int status = Z_OK;
        std::string reason = ::gzerror(file, &status);
        if (status == Z_BUF_ERROR) reason = "it ends too early";
        if (status == Z_ERRNO) reason = std::strerror(errno);
        ::gzclose(file);
        expect(status != Z_ERRNO, "cannot be read: ", reason);
        const std::size_t name_end = reason.find(": ");
        if (name_end != std::string::npos) reason.erase(0, name_end + 2);
        expect(status == Z_OK || status == Z_STREAM_END, "the gzip stream is broken: ", reason);
        owned_.resize(used);
    }

    void unmap() noexcept {
        if (map_ != MAP_FAILED) ::munmap(map_, map_size_);
        map_ = MAP_FAILED;
    }
    void release() noexcept {
        unmap();
        if (file_ >= 0) ::close(file_);
    }

    int file_;
    void* map_ = MAP_FAILED;
    std::size_t map_size_ = 0;
    std::string owned_;
};

/// read(bytes of the file). Memory that is missing becomes an error that names the file.
template <class Read>
auto with_bytes(const Context& cpu, const char* function, const std::string& path, Read&& read) {
    require_cpu(cpu, function);
    try {
        return with_line(path, 0, [&] {
            const FileContents file(path);
            return read(file.bytes());
        });
    } catch (const std::bad_alloc&) {
        throw OutOfMemory(path + ": out of memory while reading");
    }
}

[[noreturn]] void throw_unknown_format(std::string_view bytes, const std::string& path,
                                       const char* formats) {
    std::string_view line;
    Lines(bytes).next(line);
    throw ParseError(path, 1,
                     concat("the format is not known; files that can be read: ", formats,
                            ". The file starts with ", Quoted{trimmed(line)}));
}

}  // namespace

template <class T>
CsrMatrix<T> read_matrix(const Context& cpu, const std::string& path, const ReadOptions& options,
                         FileFacts* facts) {
    return with_bytes(cpu, "read_matrix", path, [&](std::string_view bytes) {
        if (is_matrix_market(bytes)) {
            return parse_matrix_market<T>(cpu, bytes, path, options, facts);
        }
        if (is_petsc_binary(bytes)) return parse_petsc_matrix<T>(cpu, bytes, path, options, facts);
        if (is_harwell_boeing(bytes)) {
            return parse_harwell_boeing<T>(cpu, bytes, path, options, facts);
        }
        throw_unknown_format(bytes, path,
                             "Matrix Market (first word %%MatrixMarket), Harwell-Boeing, "
                             "Rutherford-Boeing, PETSc binary");
    });
}

template <class T>
std::vector<T> read_vector(const Context& cpu, const std::string& path) {
    return with_bytes(cpu, "read_vector", path, [&](std::string_view bytes) {
        if (is_matrix_market(bytes)) return parse_matrix_market_vector<T>(cpu, bytes, path);
        if (is_petsc_binary(bytes)) return parse_petsc_vector<T>(bytes, path);
        throw_unknown_format(bytes, path,
                             "Matrix Market (first word %%MatrixMarket), PETSc binary vectors");
    });
}

Mesh read_mesh(const Context& cpu, const std::string& path) {
    return with_bytes(cpu, "read_mesh", path, [&](std::string_view bytes) {
        if (is_gmsh(bytes)) return parse_gmsh(bytes, path);
        throw_unknown_format(bytes, path,
                             "Gmsh .msh of the versions 4.1 and 2.2 (first word $MeshFormat)");
    });
}

#define TESSERA_INSTANTIATE(T)                                                                   \
    template CsrMatrix<T> read_matrix<T>(const Context&, const std::string&, const ReadOptions&, \
                                         FileFacts*);                                            \
    template std::vector<T> read_vector<T>(const Context&, const std::string&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::io
