#include <cmath>

#include "base/dispatch.hpp"
#include "io/formats.hpp"
#include "io/matrices/assemble.hpp"
#include "io/text.hpp"

namespace tessera::io {

namespace {

constexpr std::int32_t matrix_class = 1211216;
constexpr std::int32_t vector_class = 1211214;

/// Number k of the big-endian numbers that start at `bytes`.
template <class Word>
Word load(const char* bytes, Offset k) {
    return load_number<Word>(bytes + k * Offset(sizeof(Word)), true);
}

std::int32_t first_word(std::string_view bytes) {
    return bytes.size() < 4 ? 0 : load<std::int32_t>(bytes.data(), 0);
}

bool is_class(std::int32_t word) { return word == matrix_class || word == vector_class; }

/// Refuses what is no object of class `expected` with 32-bit integers.
void check_class(std::string_view bytes, std::int32_t expected) {
    const std::int32_t word = first_word(bytes);
    if (word == 0) {
        reject(
            "was written by a PETSc with 64-bit indices, which Tessera does not read; "
            "write it by a PETSc configured without --with-64-bit-indices");
    }
    if (!is_class(word)) {
        reject("is a little-endian PETSc file; PETSc's own are big-endian");
    }
    if (word == expected) return;
    reject(expected == matrix_class ? "is a PETSc vector, but a matrix is expected"
                                    : "is a PETSc matrix, but a vector is expected");
}

/// What an object leaves over must start another one: complex numbers or wrong sizes show here.
void check_length(std::string_view bytes, Offset needed, const std::string& what) {
    const Offset size = Offset(bytes.size());
    if (needed > size) {
        reject("is truncated: " + what + " takes " + std::to_string(needed) +
               " bytes, the file has " + std::to_string(size));
    }
    if (needed < size && !is_class(first_word(bytes.substr(std::size_t(needed))))) {
        reject("is longer (" + std::to_string(size) + " bytes) than " + what + " (" +
               std::to_string(needed) +
               " bytes), and no other object follows; complex numbers or "
               "precisions other than double are not supported");
    }
}

template <class T>
T load_value(const char* bytes, Offset k) {
    const double number = load<double>(bytes, k);
    const T value = T(number);
    if (!std::isfinite(value)) {
        reject("value " + std::to_string(k + 1) +
               (std::isfinite(number) ? " is out of range of single precision" : " is not finite"));
    }
    return value;
}

struct PetscHeader : MatrixHeader {
    bool dense = false;
};

PetscHeader parse_header(std::string_view bytes, const ReadOptions& options) {
    check_class(bytes, matrix_class);
    if (bytes.size() < 16) reject("is truncated: its header takes 16 bytes");
    const auto word = [&](int k) { return Offset(load<std::int32_t>(bytes.data(), k)); };
    PetscHeader header{{.format = "PETSc"}};
    header.set_sizes(word(1), word(2), bytes.size(), options);
    if (word(3) < -1) reject("claims " + std::to_string(word(3)) + " nonzeros");
    header.dense = word(3) == -1;
    header.entries = header.dense ? word(1) * word(2) : word(3);
    const std::string claim = shape_text(header.rows, header.columns) + " with " +
                              std::to_string(header.entries) + " entries";
    if (header.entries > Offset(bytes.size())) {
        reject("is truncated: its " + std::to_string(bytes.size()) +
               " bytes cannot hold a matrix of " + claim);
    }
    const Offset needed =
        header.dense ? 8 * header.entries : 4 * Offset(header.rows) + (4 + 8) * header.entries;
    check_length(bytes, 16 + needed,
                 std::string(header.dense ? "a dense" : "a sparse") + " matrix of " + claim);
    return header;
}

template <class T>
std::vector<T> load_values(const char* bytes, Offset count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    for (Offset k = 0; k < count; ++k) values[std::size_t(k)] = load_value<T>(bytes, k);
    return values;
}

template <class T>
std::vector<Entry<T>> sparse_entries(std::string_view bytes, const PetscHeader& header) {
    const char* const lengths = bytes.data() + 16;
    const char* const columns = lengths + 4 * Offset(header.rows);
    const char* const values = columns + 4 * header.entries;
    std::vector<Entry<T>> entries;
    entries.reserve(std::size_t(header.entries));
    Offset at = 0;
    for (Index i = 0; i < header.rows; ++i) {
        const Offset length = load<std::int32_t>(lengths, i);
        if (length < 0 || at + length > header.entries) {
            reject("the length " + std::to_string(length) + " of row " + std::to_string(i) +
                   " does not fit " + std::to_string(header.entries) + " nonzeros");
        }
        for (const Offset end = at + length; at < end; ++at) {
            const Index column = load<std::int32_t>(columns, at);
            if (column < 0 || column >= header.columns) {
                reject("column " + std::to_string(column) + " in row " + std::to_string(i) +
                       " is not within 0.." + std::to_string(header.columns - 1));
            }
            entries.push_back({i, column, load_value<T>(values, at)});
        }
    }
    if (at != header.entries) {
        reject("the lengths of the rows sum to " + std::to_string(at) + ", not to " +
               std::to_string(header.entries) + " nonzeros");
    }
    return entries;
}

/// number(k) for k in 0..count.
template <class Number>
FileSection number_section(Offset count, Number number) {
    return item_section(
        count, [number](Offset k, std::string& bytes) { append_number(bytes, number(k), true); });
}

FileSection header_section(std::vector<std::int32_t> words) {
    return number_section(Offset(words.size()),
                          [words](Offset k) { return words[std::size_t(k)]; });
}

}  // namespace

bool is_petsc_binary(std::string_view bytes) {
    const std::int32_t word = first_word(bytes);
    return is_class(word) ||
           (bytes.size() >= 4 && is_class(load_number<std::int32_t>(bytes.data(), false))) ||
           (bytes.size() >= 8 && word == 0 && is_class(load<std::int32_t>(bytes.data(), 1)));
}

template <class T>
CsrMatrix<T> parse_petsc_matrix(const Context& cpu, std::string_view bytes, const std::string& name,
                                const ReadOptions& options, FileFacts* facts) {
    return with_place(name, 0, [&] {
        const PetscHeader header = parse_header(bytes, options);
        if (header.dense) {
            const std::vector<T> values = load_values<T>(bytes.data() + 16, header.entries);
            return assemble_dense<T>(cpu, header, values, true, name, facts);
        }
        const std::vector<Entry<T>> entries = sparse_entries<T>(bytes, header);
        return assemble<T>(cpu, header, entries, name, facts);
    });
}

template <class T>
std::vector<T> parse_petsc_vector(std::string_view bytes, const std::string& name) {
    return with_place(name, 0, [&] {
        check_class(bytes, vector_class);
        if (bytes.size() < 8) reject("is truncated: its header takes 8 bytes");
        const Offset size = load<std::int32_t>(bytes.data(), 1);
        if (size < 0) reject("claims " + std::to_string(size) + " elements");
        check_length(bytes, 8 + 8 * size, "a vector of " + std::to_string(size) + " elements");
        return load_values<T>(bytes.data() + 8, size);
    });
}

template <class T>
std::vector<FileSection> petsc_binary(const CsrView<T>& matrix) {
    require(matrix.nonzeros <= INT32_MAX,
            "write_matrix: PETSc files with 32-bit indices hold at most 2147483647 entries");
    const auto length = [matrix](Offset i) {
        return std::int32_t(matrix.row_offsets[i + 1] - matrix.row_offsets[i]);
    };
    const auto column = [matrix](Offset k) { return matrix.column_indices[k]; };
    const auto value = [matrix](Offset k) { return double(matrix.values[k]); };
    return {
        header_section({matrix_class, matrix.rows, matrix.columns, std::int32_t(matrix.nonzeros)}),
        number_section(matrix.rows, length), number_section(matrix.nonzeros, column),
        number_section(matrix.nonzeros, value)};
}

template <class T>
std::vector<FileSection> petsc_binary(std::span<const T> vector) {
    require(vector.size() <= INT32_MAX,
            "write_vector: PETSc files with 32-bit indices hold at most 2147483647 elements");
    const auto value = [vector](Offset k) { return double(vector[std::size_t(k)]); };
    return {header_section({vector_class, std::int32_t(vector.size())}),
            number_section(Offset(vector.size()), value)};
}

#define TESSERA_INSTANTIATE(T)                                                                 \
    template CsrMatrix<T> parse_petsc_matrix<T>(                                               \
        const Context&, std::string_view, const std::string&, const ReadOptions&, FileFacts*); \
    template std::vector<T> parse_petsc_vector<T>(std::string_view, const std::string&);       \
    template std::vector<FileSection> petsc_binary<T>(const CsrView<T>&);                      \
    template std::vector<FileSection> petsc_binary<T>(std::span<const T>);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::io
