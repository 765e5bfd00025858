#include <cmath>

#include "io/formats.hpp"
#include "io/matrices/assemble.hpp"
#include "io/text.hpp"

namespace tessera::io {

namespace {

constexpr std::int32_t matrix_class = 1211216;
constexpr std::int32_t vector_class = 1211214;
constexpr bool big_endian = true;

/// Number k of the big-endian numbers that start at `bytes`.
template <class Word>
Word load(const char* bytes, Offset k) {
    return load_number<Word>(bytes + k * Offset(sizeof(Word)), true);
}

std::int32_t first_word(std::string_view bytes) {
    return bytes.size() < 4 ? 0 : load<std::int32_t>(bytes.data(), 0);
}

bool is_class(std::int32_t word) { return word == matrix_class || word == vector_class; }

/// Throws unless the object has class id `expected` and 32-bit integers.
void check_class(std::string_view bytes, std::int32_t expected) {
    const std::int32_t word = first_word(bytes);
    expect(word != 0,
           "was written by a PETSc with 64-bit indices, which Tessera does not read; write it by a "
           "PETSc configured without --with-64-bit-indices");
    expect(is_class(word), "is a little-endian PETSc file; PETSc's own are big-endian");
    expect(word == expected, expected == matrix_class
                                 ? "is a PETSc vector, but a matrix is expected"
                                 : "is a PETSc matrix, but a vector is expected");
}

/// Bytes after an object must start another one: complex numbers or wrong sizes are found here.
void check_length(std::string_view bytes, Offset needed, const std::string& what) {
    const Offset size = Offset(bytes.size());
    expect(needed <= size, "is truncated: ", what, " takes ", needed, " bytes, the file has ",
           size);
    expect(needed == size || is_class(first_word(bytes.substr(std::size_t(needed)))), "is longer (",
           size, " bytes) than ", what, " (", needed,
           " bytes), and no other object follows; complex numbers or precisions other than double "
           "are not supported");
}

template <class T>
T load_value(const char* bytes, Offset k) {
    const double number = load<double>(bytes, k);
    const T value = T(number);
    expect(std::isfinite(value), "value ", k + 1,
           std::isfinite(number) ? " is out of range of single precision" : " is not finite");
    return value;
}

struct PetscHeader : MatrixHeader {
    bool dense = false;
};

PetscHeader parse_header(const InputFile& file) {
    const std::string_view bytes = file.bytes;
    check_class(bytes, matrix_class);
    expect(bytes.size() >= 16, "is truncated: its header has 16 bytes");
    const auto word = [&](int k) { return Offset(load<std::int32_t>(bytes.data(), k)); };
    PetscHeader header{{.format = "PETSc"}};
    header.set_sizes(word(1), word(2), file);
    expect(word(3) >= -1, "claims ", word(3), " nonzeros");
    header.dense = word(3) == -1;
    header.entries = header.dense ? word(1) * word(2) : word(3);
    const std::string claim =
        concat(header.rows, " x ", header.columns, " with ", header.entries, " entries");
    expect(header.entries <= Offset(bytes.size()), "is truncated: its ", bytes.size(),
           " bytes cannot hold a matrix of ", claim);
    const Offset needed =
        header.dense ? 8 * header.entries : 4 * Offset(header.rows) + (4 + 8) * header.entries;
    check_length(bytes, 16 + needed,
                 concat(header.dense ? "a dense" : "a sparse", " matrix of ", claim));
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
    Offset position = 0;
    for (Index i = 0; i < header.rows; ++i) {
        const Offset length = load<std::int32_t>(lengths, i);
        expect(length >= 0 && position + length <= header.entries, "the length ", length,
               " of row ", i, " does not fit ", header.entries, " nonzeros");
        for (const Offset end = position + length; position < end; ++position) {
            const Index column = load<std::int32_t>(columns, position);
            expect(column >= 0 && column < header.columns, "column ", column, " in row ", i,
                   " is not within 0..", header.columns - 1);
            entries.push_back({i, column, load_value<T>(values, position)});
        }
    }
    expect(position == header.entries, "the lengths of the rows sum to ", position, ", not to ",
           header.entries, " nonzeros");
    return entries;
}

FileSection header_section(std::vector<std::int32_t> words) {
    const auto word = [words](Offset k) { return words[std::size_t(k)]; };
    return number_section(Offset(words.size()), word, big_endian);
}

}  // namespace

bool is_petsc_binary(std::string_view bytes) {
    const std::int32_t word = first_word(bytes);
    return is_class(word) ||
           (bytes.size() >= 4 && is_class(load_number<std::int32_t>(bytes.data(), false))) ||
           (bytes.size() >= 8 && word == 0 && is_class(load<std::int32_t>(bytes.data(), 1)));
}

template <class T>
CsrMatrix<T> parse_petsc_matrix(const InputFile& file) {
    return with_error_line(file.name, 0, [&] {
        const PetscHeader header = parse_header(file);
        if (!header.dense) return assemble<T>(file, header, sparse_entries<T>(file.bytes, header));
        const std::vector<T> values = load_values<T>(file.bytes.data() + 16, header.entries);
        return assemble_dense<T>(file, header, values, true);
    });
}

template <class T>
std::vector<T> parse_petsc_vector(const InputFile& file) {
    const std::string_view bytes = file.bytes;
    return with_error_line(file.name, 0, [&] {
        check_class(bytes, vector_class);
        expect(bytes.size() >= 8, "is truncated: its header has 8 bytes");
        const Offset size = load<std::int32_t>(bytes.data(), 1);
        expect(size >= 0, "claims ", size, " elements");
        check_length(bytes, 8 + 8 * size, concat("a vector of ", size, " elements"));
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
        number_section(matrix.rows, length, big_endian),
        number_section(matrix.nonzeros, column, big_endian),
        number_section(matrix.nonzeros, value, big_endian)};
}

template <class T>
std::vector<FileSection> petsc_binary(std::span<const T> vector) {
    require(vector.size() <= INT32_MAX,
            "write_vector: PETSc files with 32-bit indices hold at most 2147483647 elements");
    const auto value = [vector](Offset k) { return double(vector[std::size_t(k)]); };
    return {header_section({vector_class, std::int32_t(vector.size())}),
            number_section(Offset(vector.size()), value, big_endian)};
}

#define TESSERA_INSTANTIATE(T)                                            \
    template CsrMatrix<T> parse_petsc_matrix<T>(const InputFile&);        \
    template std::vector<T> parse_petsc_vector<T>(const InputFile&);      \
    template std::vector<FileSection> petsc_binary<T>(const CsrView<T>&); \
    template std::vector<FileSection> petsc_binary<T>(std::span<const T>);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::io
