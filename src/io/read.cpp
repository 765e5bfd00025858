#include <new>

#include "io/file_contents.hpp"
#include "io/gmsh.hpp"
#include "io/harwell_boeing.hpp"
#include "io/matrix_market.hpp"
#include "io/petsc_binary.hpp"
#include "io/text.hpp"

namespace tessera::io {

namespace {

/// Runs a reader; memory that is not there becomes an error that names the file.
template <class Read>
auto with_memory_check(const std::string& path, Read&& read) {
    try {
        return read();
    } catch (const std::bad_alloc&) {
        throw OutOfMemory(path + ": out of memory while reading");
    }
}

[[noreturn]] void throw_unknown_format(std::string_view bytes, const std::string& path,
                                       const char* formats) {
    std::string_view line;
    Lines(bytes).next(line);
    throw ParseError(path, 1,
                     std::string("the format is not known; files that can be read: ") + formats +
                         ". The file starts with " + shown(trimmed(line)));
}

}  // namespace

template <class T>
CsrMatrix<T> read_matrix(const Context& cpu, const std::string& path, const ReadOptions& options,
                         FileFacts* facts) {
    require_cpu(cpu, "read_matrix");
    return with_memory_check(path, [&] {
        const FileContents file(path);
        const std::string_view bytes = file.bytes();
        if (is_matrix_market(bytes))
            return parse_matrix_market<T>(cpu, bytes, path, options, facts);
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
    require_cpu(cpu, "read_vector");
    return with_memory_check(path, [&] {
        const FileContents file(path);
        const std::string_view bytes = file.bytes();
        if (is_matrix_market(bytes)) return parse_matrix_market_vector<T>(cpu, bytes, path);
        if (is_petsc_binary(bytes)) return parse_petsc_vector<T>(cpu, bytes, path);
        throw_unknown_format(bytes, path,
                             "Matrix Market (first word %%MatrixMarket), PETSc binary vectors");
    });
}

Mesh read_mesh(const Context& cpu, const std::string& path) {
    require_cpu(cpu, "read_mesh");
    return with_memory_check(path, [&] {
        const FileContents file(path);
        if (is_gmsh(file.bytes())) return parse_gmsh(file.bytes(), path);
        throw_unknown_format(file.bytes(), path,
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
