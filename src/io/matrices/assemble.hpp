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

template <class T>
struct Entry {
    Index row;
    Index column;
    T value;
};

/// Bytes that an entry needs while a matrix is made of a list of entries.
template <class T>
inline constexpr double matrix_entry_bytes = 2 * sizeof(Entry<T>) + sizeof(T) + sizeof(Index);

/// Writes an entry to `out` and, in a symmetric matrix, its mirror image. Returns the end.
template <class T>
Entry<T>* put_entry(Entry<T>* out, const Entry<T>& entry, Symmetry symmetry) {
    *out++ = entry;
    if (symmetry == Symmetry::general || entry.row == entry.column) return out;
    const T image = symmetry == Symmetry::skew_symmetric ? -entry.value : entry.value;
    *out++ = {entry.column, entry.row, image};
    return out;
}

/// A value of the field; rejects other words.
template <class T>
T value_of(std::string_view word, Field field) {
    return field == Field::integer ? T(integer_of(word, "value")) : real_of<T>(word, "value");
}

/// Errors for unsupported matrices.
inline constexpr const char* complex_message =
    "complex matrices are not supported; write A + iB as the real [A -B; B A]";
inline constexpr const char* hermitian_message = "hermitian matrices are not supported";

/// Rejects a value other than 0 on the diagonal of a skew-symmetric matrix.
template <class T>
void check_diagonal(const Entry<T>& entry, Symmetry symmetry, std::string_view word) {
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
template <class T>
struct EntryChunk {
    std::unique_ptr<Entry<T>[]> entries;
    std::vector<Offset> bucket_starts;  ///< count + 1 positions in `entries`.

    EntryChunk() = default;
    EntryChunk(std::span<const Entry<T>> in_file_order, RowBuckets buckets);
};

/// The matrix sum of the entries: columns sorted, duplicates summed in file order. The result
/// depends neither on how the entries were cut into chunks nor on the threads. Checks the sizes of
/// the header against the bytes that were read. Fills the header of the file; entries that were
/// summed into another count as duplicates, mirror images do not. Throws ParseError if a sum is not
/// finite.
template <class T>
CsrMatrix<T> assemble(const InputFile& file, const MatrixHeader& header, RowBuckets buckets,
                      std::span<const EntryChunk<T>> chunks);
template <class T>
CsrMatrix<T> assemble(const InputFile& file, const MatrixHeader& header,
                      std::span<const Entry<T>> entries);

/// The nonzero elements of a dense matrix given column by column (of a symmetric one the lower
/// triangle, of a skew-symmetric one without its diagonal).
template <class T>
CsrMatrix<T> assemble_dense(const InputFile& file, const MatrixHeader& header,
                            std::span<const T> values);

}  // namespace tessera::io
