#include <new>

#include "io/formats.hpp"
#include "io/text.hpp"
#include "tessera/operator.hpp"

namespace tessera::io {

namespace {

/// read(file, start of the file); running out of memory becomes an error that names the file. The
/// first error of a file that was changed meanwhile is that.
template <class Read>
auto with_file(const Context& cpu, const char* function, const std::string& path, Read&& read) {
    require_cpu(cpu, function);
    try {
        return with_error_line(path, 0, [&] {
            InputFile file{cpu, InputStream::open(path), path};
            const std::string start(file.stream.peek(recognised_bytes).substr(0, recognised_bytes));
            expect(!start.empty(), "the file is empty");
            try {
                auto result = read(file, start);
                file.stream.finish();
                return result;
            } catch (const ParseError&) {
                file.stream.check_unchanged();
                throw;
            }
        });
    } catch (const std::bad_alloc&) {
        throw OutOfMemory(path + ": out of memory while reading");
    }
}

/// Formats of other programs: bytes at a position, what they are and what to do.
struct OtherFormat {
    std::string_view bytes;
    std::size_t position;
    const char* sentence;
};
using namespace std::string_view_literals;
constexpr OtherFormat other_formats[] = {
    {"PK\x03\x04"sv, 0,
     "a .zip archive, as .npz files are: unpack it, or in Python "
     "scipy.io.mmwrite('A.mtx', scipy.sparse.load_npz('A.npz'))"},
    {"\xfd"
     "7zXZ"sv,
     0, "compressed by xz: decompress it with xz -d"},
    {"BZh"sv, 0, "compressed by bzip2: decompress it with bunzip2"},
    {"\x28\xb5\x2f\xfd"sv, 0, "compressed by zstd: decompress it with unzstd"},
    {"7z\xbc\xaf"sv, 0, "a .7z archive: unpack it"},
    {"ustar"sv, 257, "a .tar archive: unpack it with tar -xf; the matrix is one of its files"},
    {"MATLAB 5.0 MAT-file"sv, 0,
     "a MATLAB file: in Python scipy.io.mmwrite('A.mtx', scipy.io.loadmat('A.mat')['A'])"},
    {"\x89HDF\r\n"sv, 0,
     "an HDF5 file, as MATLAB's of version 7.3 are: write its matrix as Matrix Market"},
    {"\x93NUMPY"sv, 0,
     "an array of NumPy: in Python scipy.io.mmwrite('A.mtx', numpy.load('A.npy'))"},
    {"%%NVAMGBin"sv, 0,
     "a binary system of AMGX: write it as text, by its option matrix_writer=matrixmarket"},
    {"\xff\xfe"sv, 0, "text in UTF-16: save it as UTF-8"},
    {"\xfe\xff"sv, 0, "text in UTF-16: save it as UTF-8"},
};

[[noreturn]] void throw_unknown_format(const InputFile& file, std::string_view start,
                                       const char* formats) {
    for (const OtherFormat& other : other_formats) {
        const bool found =
            start.size() > other.position && start.substr(other.position).starts_with(other.bytes);
        if (found) throw ParseError(file.name, 0, concat("this is ", other.sentence));
    }
    start = start.substr(0, start.find('\n'));
    throw ParseError(file.name, 1,
                     concat("the format is not known; files that can be read: ", formats,
                            ". The file starts with ", Quoted{trimmed(start)}));
}

CsrMatrix<double> parse_matrix(InputFile&& file, std::string_view start) {
    if (is_matrix_market(start)) return parse_matrix_market(std::move(file));
    if (is_petsc_binary(start)) return parse_petsc_matrix(std::move(file));
    if (is_harwell_boeing(start)) return parse_harwell_boeing(std::move(file));
    throw_unknown_format(file, start,
                         "Matrix Market (first word %%MatrixMarket), Harwell-Boeing, "
                         "Rutherford-Boeing, PETSc binary");
}

DenseColumns parse_columns(InputFile&& file, std::string_view start) {
    if (is_matrix_market(start)) return parse_matrix_market_columns(std::move(file));
    if (is_petsc_binary(start)) {
        std::vector<double> values = parse_petsc_vector(std::move(file));
        return {Index(values.size()), 1, std::move(values)};
    }
    if (is_plain_text(start)) return parse_plain_text(std::move(file));
    throw_unknown_format(file, start,
                         "Matrix Market (first word %%MatrixMarket), PETSc binary vectors, plain "
                         "text with numbers alone");
}

/// What was read in double precision, in T.
template <class T>
CsrMatrix<T> rounded(const Context& cpu, CsrMatrix<double> matrix) {
    if constexpr (std::is_same_v<T, double>) {
        return matrix;
    } else {
        const std::string fault = float_range_fault(matrix.view());
        expect(fault.empty(), fault);
        return rounded_to_float(cpu, matrix.view());
    }
}
template <class T>
std::vector<T> rounded(std::vector<double> vector) {
    if constexpr (std::is_same_v<T, double>) {
        return vector;
    } else {
        const std::string fault = float_range_fault(vector);
        expect(fault.empty(), fault);
        return {vector.begin(), vector.end()};
    }
}

}  // namespace

template <class T>
CsrMatrix<T> read_matrix(const Context& cpu, const std::string& path, FileHeader* header,
                         bool allow_empty_rows) {
    return with_file(cpu, "read_matrix", path, [&](InputFile& file, std::string_view start) {
        file.header = header;
        file.allow_empty_rows = allow_empty_rows;
        return rounded<T>(cpu, parse_matrix(std::move(file), start));
    });
}

template <class T>
std::vector<T> read_vector(const Context& cpu, const std::string& path) {
    return with_file(cpu, "read_vector", path, [&](InputFile& file, std::string_view start) {
        const std::string name = file.name;
        DenseColumns found = parse_columns(std::move(file), start);
        if (found.columns == 1) return rounded<T>(std::move(found.values));
        throw ParseError(name, 0,
                         concat("expected a vector (one row or one column), found a matrix of ",
                                found.rows, " x ", found.columns));
    });
}

template <class T>
std::vector<T> read_vectors(const Context& cpu, const std::string& path, Index rows) {
    return with_file(cpu, "read_vectors", path, [&](InputFile& file, std::string_view start) {
        const bool is_plain = !is_matrix_market(start) && is_plain_text(start);
        const std::string name = file.name;
        DenseColumns found = parse_columns(std::move(file), start);
        std::vector<double>& values = found.values;
        // Text that begins with its number of elements.
        if (is_plain && found.columns == 1 && found.rows == rows + 1 && values[0] == rows) {
            values.erase(values.begin());
            found.rows = rows;
        }
        if (found.rows != rows) {
            throw ParseError(name, 0,
                             concat("expected vectors of ", rows, " elements, found ", found.rows,
                                    found.columns == 1 ? "" : " in each column"));
        }
        if (found.columns == 0 && rows > 0) {
            throw ParseError(name, 0, "expected vectors, found no column");
        }
        return rounded<T>(std::move(values));
    });
}

Mesh read_mesh(const Context& cpu, const std::string& path) {
    return with_file(cpu, "read_mesh", path, [&](InputFile& file, std::string_view start) {
        if (is_gmsh(start)) return parse_gmsh(std::move(file));
        throw_unknown_format(file, start,
                             "Gmsh .msh of the versions 4.1 and 2.2 (first word $MeshFormat)");
    });
}

#define TESSERA_INSTANTIATE(T)                                                                   \
    template CsrMatrix<T> read_matrix<T>(const Context&, const std::string&, FileHeader*, bool); \
    template std::vector<T> read_vector<T>(const Context&, const std::string&);                  \
    template std::vector<T> read_vectors<T>(const Context&, const std::string&, Index);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::io
