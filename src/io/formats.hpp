#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/file_sections.hpp"
#include "io/input_stream.hpp"
#include "tessera/io.hpp"

/// The file formats: how each is recognised, parsed and written. Parsers throw ParseError.
namespace tessera::io {

/// A file to parse in host memory. Parsers read it once.
struct InputFile {
    const Context& cpu;  ///< Context whose threads parse.
    InputStream stream;
    std::string name;  ///< Name for messages.
    FileHeader* header = nullptr;
    bool allow_empty_rows = false;
};

/// The formats are recognised by this many bytes at the beginning of a file, or fewer where it
/// ends.
inline constexpr std::size_t recognised_bytes = std::size_t(1) << 16;

/// Some editors begin a text in UTF-8 with it.
inline constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
inline void skip_byte_order_mark(InputStream& stream) {
    if (stream.peek(byte_order_mark.size()).starts_with(byte_order_mark)) {
        stream.skip(byte_order_mark.size());
    }
}

bool is_matrix_market(std::string_view start);

/// Number of bytes of text parsed as one task.
inline constexpr std::size_t default_chunk_bytes = std::size_t(1) << 18;

/// The result does not depend on `chunk_bytes`.
CsrMatrix<double> parse_matrix_market(InputFile&& file,
                                      std::size_t chunk_bytes = default_chunk_bytes);
/// Vectors as the columns of a dense array, one after the other.
struct DenseColumns {
    Index rows = 0, columns = 0;
    std::vector<double> values;
};
/// The columns of a Matrix Market file; one row is one column.
DenseColumns parse_matrix_market_columns(InputFile&& file);

/// Numbers divided by blanks, commas, semicolons or ends of lines; # and % begin comments. Lines of
/// several numbers, equally many in each, are the rows of an array; otherwise they are one vector.
/// Throws ParseError where every word is digits, a comma and digits, which may be decimals.
bool is_plain_text(std::string_view start);
DenseColumns parse_plain_text(InputFile&& file);

/// Matrix Market text of a matrix (its lower triangle where `symmetry` is not general), numbers
/// (finite ones) in the shortest form that reads back bitwise.
template <class T>
std::vector<FileSection> matrix_market_text(const Context& cpu, const CsrView<T>& matrix,
                                            Symmetry symmetry);

/// Harwell-Boeing and Rutherford-Boeing files: four header lines (five with right-hand sides), then
/// by columns the column starts, the row indices and the values, in the Fortran formats of the
/// fourth line; then right-hand sides. Source: I. S. Duff, R. G. Grimes, J. G. Lewis: Users'
/// Guide for the Harwell-Boeing Sparse Matrix Collection, 1992; The Rutherford-Boeing Sparse Matrix
/// Collection, RAL-TR-97-031.
bool is_harwell_boeing(std::string_view start);
CsrMatrix<double> parse_harwell_boeing(InputFile&& file);

/// The field of one number in a line with a Fortran format.
struct FortranField {
    std::size_t begin;  ///< First character of the field, from 0.
    std::size_t width;
    std::size_t decimals;  ///< Digits after the implied point.
    int scale;             ///< k of kP: a number without exponent is divided by 10^k.
    bool integer;
};
/// The numbers of one line by a format such as (13I6), (1P,5D16.8), (3(1X,E22.15)). Rejects other
/// formats, and those that differ between lines (groups after numbers).
std::vector<FortranField> parse_fortran_format(std::string_view format);
/// The text of a field for parse_real: without blanks, with the implied point and scale.
std::string fortran_number(std::string_view text, const FortranField& field);

/// PETSc's binary files: big-endian; 32-bit integers, 64-bit reals. A matrix is its class id
/// 1211216, rows, columns, nonzeros, the lengths of all rows, the columns of all entries, their
/// values; a dense matrix has -1 nonzeros and its values row by row. A vector is its class id
/// 1211214, its size, its values. Objects may follow one another: of a matrix the first one is
/// read, and the vector after it as its right-hand side.
/// Also true for files that look like PETSc's but cannot be read (64-bit integers, other byte
/// order); parsing them throws.
bool is_petsc_binary(std::string_view start);
CsrMatrix<double> parse_petsc_matrix(InputFile&& file);
std::vector<double> parse_petsc_vector(InputFile&& file);
/// Throw InvalidArgument for more entries than 32 bits count.
template <class T>
std::vector<FileSection> petsc_binary(const CsrView<T>& matrix);
template <class T>
std::vector<FileSection> petsc_binary(std::span<const T> vector);

/// Gmsh's .msh files of the versions 4.1 and 2.2.
bool is_gmsh(std::string_view start);
Mesh parse_gmsh(InputFile&& file);

}  // namespace tessera::io
