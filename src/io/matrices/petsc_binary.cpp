#include <cmath>
#include <limits>

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

/// The object that is read, and its length.
struct PetscObject {
    std::string description;
    Offset bytes = 0;

    /// Rejects a file that is too short, as far as its size is known.
    void check_size(const InputStream& stream) const {
        if (!stream.size()) return;
        expect(bytes <= *stream.size(), "is truncated: ", description, " takes ", bytes,
               " bytes, the file has ", *stream.size());
    }

    /// Bytes after an object must start another one: complex numbers or wrong sizes are found here.
    void check_end(InputStream& stream) const {
        const std::string_view next = stream.peek(4);
        if (next.empty() || is_class(first_word(next))) return;
        const std::string size = stream.size() ? concat(" (", *stream.size(), " bytes)") : "";
        reject("is longer", size, " than ", description, " (", bytes,
               " bytes), and no other object follows; complex numbers or precisions other than "
               "double are not supported");
    }

    /// visit(k, number) for the next `count` numbers of the object.
    template <class Word, class Visit>
    void each_number(InputStream& stream, Offset count, Visit&& visit) const {
        constexpr Offset word_bytes = sizeof(Word);
        for (Offset k = 0; k < count;) {
            const std::string_view words = stream.peek(sizeof(Word));
            const Offset found = std::min(Offset(words.size()) / word_bytes, count - k);
            if (found == 0) check_size(stream);  // The end, which makes the size known.
            for (Offset i = 0; i < found; ++i) visit(k++, load<Word>(words.data(), i));
            stream.skip(std::size_t(found * word_bytes));
        }
    }
};

void check_value(Offset k, double number) {
    expect(std::isfinite(number), "value ", k + 1, " is not finite");
}

struct PetscHeader : MatrixHeader {
    bool dense = false;
    PetscObject object;
};

PetscHeader parse_header(InputFile& file) {
    constexpr std::size_t header_bytes = 16;
    const std::string_view bytes = file.stream.peek(header_bytes);
    check_class(bytes, matrix_class);
    expect(bytes.size() >= header_bytes, "is truncated: its header has 16 bytes");
    const auto word = [&](int k) { return Offset(load<std::int32_t>(bytes.data(), k)); };
    PetscHeader header;
    header.format = "PETSc";
    header.set_sizes(word(1), word(2), file);
    expect(word(3) >= -1, "claims ", word(3), " nonzeros");
    header.dense = word(3) == -1;
    header.entries = header.dense ? word(1) * word(2) : word(3);
    file.stream.skip(header_bytes);
    const std::string claim =
        concat(header.rows, " x ", header.columns, " with ", header.entries, " entries");
    expect(header.entries <= std::numeric_limits<Offset>::max() / 16, "claims ", claim,
           ", more than a file can hold");
    header.object = {
        concat(header.dense ? "a dense" : "a sparse", " matrix of ", claim),
        Offset(header_bytes) + (header.dense ? 8 * header.entries
                                             : 4 * Offset(header.rows) + (4 + 8) * header.entries)};
    header.object.check_size(file.stream);
    return header;
}

std::vector<Entry> dense_entries(InputFile& file, const PetscHeader& header) {
    constexpr std::size_t entries_between_checks = 1 << 20;
    std::vector<Entry> entries;  // Without zeros, so that its size is not known.
    header.object.each_number<double>(file.stream, header.entries, [&](Offset k, double number) {
        check_value(k, number);
        if (number == 0) return;
        if (entries.size() % entries_between_checks == 0) {
            require_memory(file, double(entries.size()) * matrix_entry_bytes);
        }
        entries.push_back({Index(k / header.columns), Index(k % header.columns), number});
    });
    return entries;
}

std::vector<Entry> sparse_entries(InputFile& file, const PetscHeader& header) {
    require_memory(file, double(header.entries) * matrix_entry_bytes);
    std::vector<Offset> ends;  // Ends of the rows.
    header.object.each_number<std::int32_t>(file.stream, header.rows, [&](Offset i, Offset length) {
        ends.push_back((i == 0 ? 0 : ends.back()) + length);
        expect(length >= 0 && ends.back() <= header.entries, "the length ", length, " of row ", i,
               " does not fit ", header.entries, " nonzeros");
    });
    const Offset sum = ends.empty() ? 0 : ends.back();
    expect(sum == header.entries, "the lengths of the rows sum to ", sum, ", not to ",
           header.entries, " nonzeros");
    std::vector<Entry> entries;
    if (file.stream.size()) entries.reserve(std::size_t(header.entries));
    Index row = 0;
    header.object.each_number<std::int32_t>(file.stream, sum, [&](Offset k, Index column) {
        while (k >= ends[std::size_t(row)]) ++row;
        expect(column >= 0 && column < header.columns, "column ", column, " in row ", row,
               " is not within 0..", header.columns - 1);
        entries.push_back({row, column, 0});
    });
    header.object.each_number<double>(file.stream, sum, [&](Offset k, double number) {
        check_value(k, number);
        entries[std::size_t(k)].value = number;
    });
    return entries;
}

/// The vector that begins here.
std::vector<double> vector_elements(InputFile& file) {
    const std::string_view bytes = file.stream.peek(8);
    check_class(bytes, vector_class);
    expect(bytes.size() >= 8, "is truncated: its header has 8 bytes");
    const Offset size = load<std::int32_t>(bytes.data(), 1);
    expect(size >= 0, "claims ", size, " elements");
    file.stream.skip(8);
    const PetscObject object{concat("a vector of ", size, " elements"), 8 + 8 * size};
    object.check_size(file.stream);
    require_memory(file, double(size) * sizeof(double));
    std::vector<double> values;
    if (file.stream.size()) values.reserve(std::size_t(size));
    object.each_number<double>(file.stream, size, [&](Offset k, double number) {
        check_value(k, number);
        values.push_back(number);
    });
    object.check_end(file.stream);
    return values;
}

FileSection header_section(std::vector<std::int32_t> words) {
    const auto word = [words](Offset k) { return words[std::size_t(k)]; };
    return number_section(Offset(words.size()), word, big_endian);
}

}  // namespace

bool is_petsc_binary(std::string_view start) {
    const std::int32_t word = first_word(start);
    return is_class(word) ||
           (start.size() >= 4 && is_class(load_number<std::int32_t>(start.data(), false))) ||
           (start.size() >= 8 && word == 0 && is_class(load<std::int32_t>(start.data(), 1)));
}

CsrMatrix<double> parse_petsc_matrix(InputFile&& file) {
    return with_error_line(file.name, 0, [&] {
        const PetscHeader header = parse_header(file);
        const auto entries =
            header.dense ? dense_entries(file, header) : sparse_entries(file, header);
        header.object.check_end(file.stream);
        std::vector<double> next;
        if (file.header != nullptr && first_word(file.stream.peek(8)) == vector_class) {
            next = vector_elements(file);
        }
        CsrMatrix<double> matrix = assemble(file, header, entries);
        if (file.header != nullptr && Offset(next.size()) == matrix.rows()) {
            file.header->right_hand_side = std::move(next);
        } else if (!next.empty()) {
            file.header->note = "The vector after the matrix has another size and was not read.";
        }
        return matrix;
    });
}

std::vector<double> parse_petsc_vector(InputFile&& file) {
    return with_error_line(file.name, 0, [&] { return vector_elements(file); });
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
    template std::vector<FileSection> petsc_binary<T>(const CsrView<T>&); \
    template std::vector<FileSection> petsc_binary<T>(std::span<const T>);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::io
