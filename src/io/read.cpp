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
#include "tessera/operator.hpp"
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

struct FileDescriptor {
    int number;
    ~FileDescriptor() {
        if (number >= 0) ::close(number);
    }
};

struct Mapping {
    void* start = MAP_FAILED;
    std::size_t size = 0;
    ~Mapping() {
        if (start != MAP_FAILED) ::munmap(start, size);
    }
};

/// The bytes of a file, mapped into memory if possible; of a gzipped file (by its first bytes,
/// 1f 8b) the unzipped bytes. Rejects a file that does not exist (naming the nearest in the
/// folder), folders, unreadable and empty files, broken gzip streams.
class FileContents {
  public:
    explicit FileContents(const std::string& path)
        : file_{::open(path.c_str(), O_RDONLY | O_CLOEXEC)} {
        if (file_.number < 0 && (errno == ENOENT || errno == ENOTDIR)) {
            reject("there is no such file", similar_file(path));
        }
        expect(file_.number >= 0, "cannot be opened: ", std::strerror(errno));
        struct stat about {};
        expect(::fstat(file_.number, &about) == 0, "cannot be read: ", std::strerror(errno));
        expect(!S_ISDIR(about.st_mode), "is a folder, not a file");
        if (S_ISREG(about.st_mode) && about.st_size > 0) {
            map_.size = std::size_t(about.st_size);
            map_.start = ::mmap(nullptr, map_.size, PROT_READ, MAP_PRIVATE, file_.number, 0);
        }
        if (map_.start != MAP_FAILED) bytes_ = {static_cast<const char*>(map_.start), map_.size};
        if (map_.start == MAP_FAILED || bytes_.starts_with("\x1f\x8b")) unzip();
        expect(!bytes_.empty(), "the file is empty");
    }

    std::string_view bytes() const { return bytes_; }

  private:
    /// All members of a gzip stream (zeros or other bytes after the last one are ignored, as by
    /// gunzip), or the file as it is.
    void unzip() {
        const gzFile file = ::gzdopen(file_.number, "rb");
        if (file == nullptr) throw OutOfMemory("out of memory for gunzip");
        file_.number = -1;  // which gzclose closes
        ::gzbuffer(file, 1 << 18);
        std::size_t used = 0;
        int got = 0;
        do {
            if (used == unzipped_.size()) {
                unzipped_.resize(std::max({4 * map_.size, 2 * used, std::size_t(1) << 16}));
            }
            constexpr std::size_t max_read = std::size_t(1) << 30;  // zlib counts in 32 bits
            got = ::gzread(file, unzipped_.data() + used,
                           unsigned(std::min(max_read, unzipped_.size() - used)));
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
        unzipped_.resize(used);
        bytes_ = unzipped_;
    }

    FileDescriptor file_;
    Mapping map_;
    std::string unzipped_;
    std::string_view bytes_;
};

/// read(file); running out of memory becomes an error that names the file.
template <class Read>
auto with_file(const Context& cpu, const char* function, const std::string& path, Read&& read) {
    require_cpu(cpu, function);
    try {
        return with_error_line(path, 0, [&] {
            const FileContents contents(path);
            return read(InputFile{cpu, contents.bytes(), path});
        });
    } catch (const std::bad_alloc&) {
        throw OutOfMemory(path + ": out of memory while reading");
    }
}

[[noreturn]] void throw_unknown_format(const InputFile& file, const char* formats) {
    std::string_view line;
    Lines(file.bytes).next(line);
    throw ParseError(file.name, 1,
                     concat("the format is not known; files that can be read: ", formats,
                            ". The file starts with ", Quoted{trimmed(line)}));
}

template <class T>
CsrMatrix<T> parse_matrix(const InputFile& file) {
    if (is_matrix_market(file.bytes)) return parse_matrix_market<T>(file);
    if (is_petsc_binary(file.bytes)) return parse_petsc_matrix<T>(file);
    if (is_harwell_boeing(file.bytes)) return parse_harwell_boeing<T>(file);
    throw_unknown_format(file,
                         "Matrix Market (first word %%MatrixMarket), Harwell-Boeing, "
                         "Rutherford-Boeing, PETSc binary");
}

template <class T>
std::vector<T> parse_vector(const InputFile& file) {
    if (is_matrix_market(file.bytes)) return parse_matrix_market_vector<T>(file);
    if (is_petsc_binary(file.bytes)) return parse_petsc_vector<T>(file);
    throw_unknown_format(file, "Matrix Market (first word %%MatrixMarket), PETSc binary vectors");
}

/// Whether a value may have underflowed when it was read in T: it is 0, or a denormal number.
template <class T>
bool may_have_underflowed(std::span<const T> values) {
    return sizeof(T) < sizeof(double) && std::ranges::any_of(values, [](T value) {
               return std::abs(value) < std::numeric_limits<T>::min();
           });
}

}  // namespace

template <class T>
CsrMatrix<T> read_matrix(const Context& cpu, const std::string& path, FileHeader* header,
                         bool allow_empty_rows) {
    return with_file(cpu, "read_matrix", path, [&](InputFile file) {
        FileHeader ignored;
        file.header = header != nullptr ? header : &ignored;
        file.allow_empty_rows = allow_empty_rows;
        CsrMatrix<T> matrix = parse_matrix<T>(file);
        // The zeros of a dense form, which has half a triangle at least, are not stored.
        const bool dense = sizeof(T) < sizeof(double) &&
                           2 * file.header->stored_entries >=
                               Offset(matrix.rows()) * (Offset(matrix.columns()) - 1);
        if (dense || may_have_underflowed(std::as_const(matrix).view().values_span())) {
            const std::string fault = float_range_fault(parse_matrix<double>(file).view());
            expect(fault.empty(), fault);
        }
        return matrix;
    });
}

template <class T>
std::vector<T> read_vector(const Context& cpu, const std::string& path) {
    return with_file(cpu, "read_vector", path, [&](const InputFile& file) {
        std::vector<T> vector = parse_vector<T>(file);
        if (may_have_underflowed<T>(vector)) {
            const std::string fault = float_range_fault(parse_vector<double>(file));
            expect(fault.empty(), fault);
        }
        return vector;
    });
}

Mesh read_mesh(const Context& cpu, const std::string& path) {
    return with_file(cpu, "read_mesh", path, [&](const InputFile& file) {
        if (is_gmsh(file.bytes)) return parse_gmsh(file);
        throw_unknown_format(file,
                             "Gmsh .msh of the versions 4.1 and 2.2 (first word $MeshFormat)");
    });
}

#define TESSERA_INSTANTIATE(T)                                                                   \
    template CsrMatrix<T> read_matrix<T>(const Context&, const std::string&, FileHeader*, bool); \
    template std::vector<T> read_vector<T>(const Context&, const std::string&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::io
