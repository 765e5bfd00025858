#pragma once

#include <memory>
#include <span>

#include "io/formats.hpp"
#include "io/text.hpp"

namespace tessera::io {

enum class Field : std::uint8_t { real, integer, pattern };

/// The header of a matrix file.
struct MatrixHeader {
    const char* format = "";
    Field field = Field::real;
    Symmetry symmetry = Symmetry::general;
    Index rows = 0;
    Index columns = 0;
    Offset entries = 0;  ///< Number of entries stored in the file.
    Offset line = 0;     ///< Number of the line with the sizes; 0: not known.

    /// Sets the sizes. Rejects negative ones, those above 2^31 - 1, and symmetric matrices that are
    /// not square; checks the rest as below if the size of the file is known.
    void set_sizes(Offset row_count, Offset column_count, const InputFile& file);
    /// Rejects sizes too large for a file of `bytes` unless its options allow empty rows.
    void check_sizes(const InputFile& file, Offset bytes) const;
    /// Rejects patterns that are skew-symmetric.
    void check_pattern() const;
};

/// Throws OutOfMemory, "reading FILE needs ..", unless that many bytes of host memory are free.
void require_memory(const InputFile& file, double bytes);

struct Entry {
    Index row;
    Index column;
    double value;
};

/// Bytes that an entry needs while a matrix is made of a list of entries.
inline constexpr double matrix_entry_bytes = 2 * sizeof(Entry) + sizeof(double) + sizeof(Index);

/// Writes an entry to `out` and, in a symmetric matrix, its mirror image. Returns the end.
inline Entry* put_entry(Entry* out, const Entry& entry, Symmetry symmetry) {
    *out++ = entry;
    if (symmetry == Symmetry::general || entry.row == entry.column) return out;
    const double image = symmetry == Symmetry::skew_symmetric ? -entry.value : entry.value;
    *out++ = {entry.column, entry.row, image};
    return out;
}

/// Whether a double holds the number.
inline bool is_exact(Offset number) {
    constexpr double limit = 0x1p63;
    return double(number) < limit && Offset(double(number)) == number;
}

/// A value of the field; rejects other words, and integers that a double cannot hold.
inline double value_of(std::string_view word, Field field) {
    if (field != Field::integer) return real_of(word, "value");
    const Offset number = integer_of(word, "value");
    expect(
        is_exact(number), "value ", Quoted{word},
        " is too large to be exact in double precision; declare the field real to have it rounded");
    return double(number);
}

/// Errors for unsupported matrices.
inline constexpr const char* complex_message =
    "complex matrices are not supported; write A + iB as the real [A -B; B A]";
inline constexpr const char* hermitian_message =
    "hermitian matrices are not supported; of a real one write symmetric";

/// Rejects a value other than 0 on the diagonal of a skew-symmetric matrix.
inline void check_diagonal(const Entry& entry, Symmetry symmetry, std::string_view word) {
    expect(symmetry != Symmetry::skew_symmetric || entry.row != entry.column || entry.value == 0,
           "the diagonal of a skew-symmetric matrix is zero, found value ", Quoted{word});
}

/// Rows cut into ranges of 2^shift, so that the entries of one range fit a core's cache.
struct RowBuckets {
    int shift = 0;
    Index count = 1;
};
RowBuckets row_buckets(Index rows, Offset entries);

/// Entries of one piece of a file, grouped by bucket, in file order within each.
struct EntryChunk {
    std::unique_ptr<Entry[]> entries;
    std::vector<Offset> bucket_starts;  ///< count + 1 positions in `entries`.

    EntryChunk() = default;
    EntryChunk(std::span<const Entry> in_file_order, RowBuckets buckets);
};

/// The matrix sum of the entries: columns sorted, duplicates summed in file order. The result
/// depends neither on how the entries were cut into chunks nor on the threads. Checks the sizes of
/// the header against the bytes that were read. Fills the header of the file; entries that were
/// summed into another count as duplicates, mirror images do not. Throws ParseError if a sum is not
/// finite.
CsrMatrix<double> assemble(const InputFile& file, const MatrixHeader& header, RowBuckets buckets,
                           std::span<const EntryChunk> chunks);
CsrMatrix<double> assemble(const InputFile& file, const MatrixHeader& header,
                           std::span<const Entry> entries);

/// The nonzero elements of a dense matrix given column by column (of a symmetric one the lower
/// triangle, of a skew-symmetric one without its diagonal).
CsrMatrix<double> assemble_dense(const InputFile& file, const MatrixHeader& header,
                                 std::span<const double> values);

}  // namespace tessera::io
