#include "io/petsc_binary.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/dispatch.hpp"
#include "base/parallel.hpp"
#include "io/assemble.hpp"
#include "io/output_file.hpp"
#include "io/text.hpp"

namespace tessera::io {

namespace {

constexpr std::int32_t matrix_class = 1211216;
constexpr std::int32_t vector_class = 1211214;
constexpr Offset piece_entries = 1 << 16;

template <class Word>
Word swapped(Word word) {
    static_assert(std::endian::native == std::endian::little);
    if constexpr (sizeof(Word) == 4) {
        return std::bit_cast<Word>(__builtin_bswap32(std::bit_cast<std::uint32_t>(word)));
    } else {
        return std::bit_cast<Word>(__builtin_bswap64(std::bit_cast<std::uint64_t>(word)));
    }
}

/// Number k of the numbers that start at `bytes`.
template <class Word>
Word load(const char* bytes, Offset k) {
    Word word;
    std::memcpy(&word, bytes + k * Offset(sizeof(Word)), sizeof(Word));
    return swapped(word);
}

template <class Word>
void append(std::string& bytes, Word word) {
    word = swapped(word);
    bytes.append(reinterpret_cast<const char*>(&word), sizeof(Word));
}

std::int32_t first_word(std::string_view bytes) {
    return bytes.size() < 4 ? 0 : load<std::int32_t>(bytes.data(), 0);
}

bool is_class(std::int32_t word) { return word == matrix_class || word == vector_class; }

/// Refuses what is no object of class `expected` with 32-bit integers.
void check_class(std::string_view bytes, const std::string& name, std::int32_t expected) {
    const std::int32_t word = first_word(bytes);
    if (word == 0) {
        throw ParseError(name, 0,
                         "was written by a PETSc with 64-bit indices, which Tessera does not read; "
                         "write it by a PETSc configured without --with-64-bit-indices");
    }
    if (!is_class(word)) {
        throw ParseError(name, 0, "is a little-endian PETSc file; PETSc's own are big-endian");
    }
    if (word == expected) return;
    throw ParseError(name, 0,
                     expected == matrix_class ? "is a PETSc vector, but a matrix is expected"
                                              : "is a PETSc matrix, but a vector is expected");
}

/// What an object leaves over must start another one: complex numbers or wrong sizes show here.
void check_length(std::string_view bytes, const std::string& name, Offset needed,
                  const std::string& what) {
    const Offset size = Offset(bytes.size());
    if (needed > size) {
        throw ParseError(name, 0,
                         "is truncated: " + what + " takes " + std::to_string(needed) +
                             " bytes, the file has " + std::to_string(size));
    }
    if (needed < size && !is_class(first_word(bytes.substr(std::size_t(needed))))) {
        throw ParseError(name, 0,
                         "is longer (" + std::to_string(size) + " bytes) than " + what + " (" +
                             std::to_string(needed) +
                             " bytes), and no other object follows; complex numbers or "
                             "precisions other than double are not supported");
    }
}

template <class T>
T load_value(const char* bytes, Offset k, const std::string& name) {
    const double number = load<double>(bytes, k);
    const T value = T(number);
    if (!std::isfinite(value)) {
        throw ParseError(name, 0,
                         "value " + std::to_string(k + 1) +
                             (std::isfinite(number) ? " is out of range of single precision"
                                                    : " is not finite"));
    }
    return value;
}

struct PetscHeader {
    Index rows = 0;
    Index columns = 0;
    bool dense = false;
    Offset entries = 0;
};

PetscHeader parse_header(std::string_view bytes, const std::string& name,
                         const ReadOptions& options) {
    check_class(bytes, name, matrix_class);
    if (bytes.size() < 16) throw ParseError(name, 0, "is truncated: its header takes 16 bytes");
    const Offset rows = load<std::int32_t>(bytes.data(), 1);
    const Offset columns = load<std::int32_t>(bytes.data(), 2);
    const Offset entries = load<std::int32_t>(bytes.data(), 3);
    check_size(name, 0, "rows", rows, bytes.size(), options);
    check_size(name, 0, "columns", columns, bytes.size(), options);
    if (entries < -1) {
        throw ParseError(name, 0, "claims " + std::to_string(entries) + " nonzeros");
    }
    PetscHeader header{Index(rows), Index(columns), entries == -1, entries};
    const std::string shape = std::to_string(rows) + " x " + std::to_string(columns);
    if (header.dense) header.entries = rows * columns;
    if (header.entries > Offset(bytes.size())) {
        throw ParseError(name, 0,
                         "is truncated: its " + std::to_string(bytes.size()) +
                             " bytes cannot hold a matrix of " + shape + " with " +
                             std::to_string(header.entries) + " entries");
    }
    const Offset needed =
        16 + (header.dense ? 8 * header.entries : 4 * rows + (4 + 8) * header.entries);
    check_length(bytes, name, needed,
                 std::string(header.dense ? "a dense" : "a sparse") + " matrix of " + shape +
                     " with " + std::to_string(header.entries) + " entries");
    return header;
}

template <class T>
std::vector<Entry<T>> sparse_entries(std::string_view bytes, const std::string& name,
                                     const PetscHeader& header) {
    const char* const lengths = bytes.data() + 16;
    const char* const columns = lengths + 4 * Offset(header.rows);
    const char* const values = columns + 4 * header.entries;
    std::vector<Entry<T>> entries;
    entries.reserve(std::size_t(header.entries));
    Offset at = 0;
    for (Index i = 0; i < header.rows; ++i) {
        const Offset length = load<std::int32_t>(lengths, i);
        if (length < 0 || at + length > header.entries) {
            throw ParseError(name, 0,
                             "the length " + std::to_string(length) + " of row " +
                                 std::to_string(i) + " does not fit " +
                                 std::to_string(header.entries) + " nonzeros");
        }
        for (const Offset end = at + length; at < end; ++at) {
            const Index column = load<std::int32_t>(columns, at);
            if (column < 0 || column >= header.columns) {
                throw ParseError(name, 0,
                                 "column " + std::to_string(column) + " in row " +
                                     std::to_string(i) + " is not within 0.." +
                                     std::to_string(header.columns - 1));
            }
            entries.push_back({i, column, load_value<T>(values, at, name)});
        }
    }
    if (at != header.entries) {
        throw ParseError(name, 0,
                         "the lengths of the rows sum to " + std::to_string(at) + ", not to " +
                             std::to_string(header.entries) + " nonzeros");
    }
    return entries;
}

/// `count` numbers in pieces; number(k) is the k-th.
template <class Number>
std::string numbers(Offset piece, Offset count, Number&& number) {
    std::string bytes;
    const Offset end = std::min(count, (piece + 1) * piece_entries);
    for (Offset k = piece * piece_entries; k < end; ++k) append(bytes, number(k));
    return bytes;
}

Offset pieces_of(Offset count) { return (count + piece_entries - 1) / piece_entries; }

}  // namespace

bool is_petsc_binary(std::string_view bytes) {
    const std::int32_t word = first_word(bytes);
    return is_class(word) || (bytes.size() >= 4 && is_class(swapped(word))) ||
           (bytes.size() >= 8 && word == 0 && is_class(load<std::int32_t>(bytes.data(), 1)));
}

template <class T>
CsrMatrix<T> parse_petsc_matrix(const Context& cpu, std::string_view bytes, const std::string& name,
                                const ReadOptions& options, FileFacts* facts) {
    const PetscHeader header = parse_header(bytes, name, options);
    FileFacts found{"PETSc", "real", Symmetry::general, header.entries, 0};
    CsrMatrix<T> matrix;
    if (header.dense) {
        std::vector<T> values(static_cast<std::size_t>(header.entries));
        for (Offset k = 0; k < header.entries; ++k) {
            values[std::size_t(k)] = load_value<T>(bytes.data() + 16, k, name);
        }
        matrix = from_dense(cpu, header.rows, header.columns, values.data(), header.columns, 1);
    } else {
        const auto entries = sparse_entries<T>(bytes, name, header);
        const RowBuckets buckets = row_buckets(header.rows, header.entries);
        const EntryChunk<T> chunk(entries, buckets);
        matrix = assemble<T>(cpu, header.rows, header.columns, buckets, {&chunk, 1}, false, name,
                             found.duplicates);
    }
    if (facts != nullptr) *facts = found;
    return matrix;
}

template <class T>
std::vector<T> parse_petsc_vector(const Context&, std::string_view bytes, const std::string& name) {
    check_class(bytes, name, vector_class);
    if (bytes.size() < 8) throw ParseError(name, 0, "is truncated: its header takes 8 bytes");
    const Offset size = load<std::int32_t>(bytes.data(), 1);
    if (size < 0) throw ParseError(name, 0, "claims " + std::to_string(size) + " elements");
    check_length(bytes, name, 8 + 8 * size, "a vector of " + std::to_string(size) + " elements");
    std::vector<T> vector(static_cast<std::size_t>(size));
    for (Offset k = 0; k < size; ++k) {
        vector[std::size_t(k)] = load_value<T>(bytes.data() + 8, k, name);
    }
    return vector;
}

template <class T>
void write_petsc_matrix(const Context& cpu, const std::string& path, const CsrView<T>& matrix) {
    require(matrix.nonzeros <= INT32_MAX,
            "write_matrix: PETSc files with 32-bit indices hold at most 2147483647 entries");
    const Offset row_pieces = pieces_of(matrix.rows);
    const Offset entry_pieces = pieces_of(matrix.nonzeros);
    write_pieces(cpu, path, false, 1 + row_pieces + 2 * entry_pieces, [&](Offset piece) {
        if (piece == 0) {
            std::string header;
            for (const Offset word : {Offset(matrix_class), Offset(matrix.rows),
                                      Offset(matrix.columns), matrix.nonzeros}) {
                append(header, std::int32_t(word));
            }
            return header;
        }
        piece -= 1;
        if (piece < row_pieces) {
            return numbers(piece, matrix.rows, [&](Offset i) {
                return std::int32_t(matrix.row_offsets[i + 1] - matrix.row_offsets[i]);
            });
        }
        piece -= row_pieces;
        if (piece < entry_pieces) {
            return numbers(piece, matrix.nonzeros,
                           [&](Offset k) { return matrix.column_indices[k]; });
        }
        return numbers(piece - entry_pieces, matrix.nonzeros,
                       [&](Offset k) { return double(matrix.values[k]); });
    });
}

template <class T>
void write_petsc_vector(const Context& cpu, const std::string& path, std::span<const T> vector) {
    require(vector.size() <= INT32_MAX,
            "write_vector: PETSc files with 32-bit indices hold at most 2147483647 elements");
    const Offset size = Offset(vector.size());
    write_pieces(cpu, path, false, 1 + pieces_of(size), [&](Offset piece) {
        if (piece == 0) {
            std::string header;
            append(header, vector_class);
            append(header, std::int32_t(size));
            return header;
        }
        return numbers(piece - 1, size, [&](Offset k) { return double(vector[std::size_t(k)]); });
    });
}

#define TESSERA_INSTANTIATE(T)                                                                  \
    template CsrMatrix<T> parse_petsc_matrix<T>(                                                \
        const Context&, std::string_view, const std::string&, const ReadOptions&, FileFacts*);  \
    template std::vector<T> parse_petsc_vector<T>(const Context&, std::string_view,             \
                                                  const std::string&);                          \
    template void write_petsc_matrix<T>(const Context&, const std::string&, const CsrView<T>&); \
    template void write_petsc_vector<T>(const Context&, const std::string&, std::span<const T>);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::io
