#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>

#include "base/checks.hpp"
#include "base/parallel.hpp"
#include "io/formats.hpp"
#include "io/text.hpp"

namespace tessera::io {

namespace {

void check_ending(const std::string& path) {
    for (const char* ending : {".mtx", ".mtx.gz", ".petsc"}) {
        if (path.ends_with(ending)) return;
    }
    throw InvalidArgument(path + ": the ending chooses the format. Valid: .mtx, .mtx.gz, .petsc",
                          "path");
}

void append_text(std::string& text, auto number, char next) {
    char digits[32];  // enough for a shortest double with a sign and an exponent
    const auto result = std::to_chars(digits, digits + sizeof(digits), number);
    text.append(digits, result.ptr);
    text += next;
}

/// The least k in 0..count for which wrong(k), else count.
template <class Wrong>
Offset first_wrong(const Context& cpu, Offset count, Wrong&& wrong) {
    std::atomic<Offset> first{count};
    parallel_ranges(cpu.threads(), count, [&](Offset begin, Offset end) {
        while (begin < end && !wrong(begin)) ++begin;
        if (begin == end) return;
        for (Offset known = first; begin < known && !first.compare_exchange_weak(known, begin);) {
        }
    });
    return first;
}

/// Throws InvalidArgument that names the first number that would not be read back.
template <class T>
void check_finite(const Context& cpu, const char* what, std::span<const T> values) {
    const Offset position = first_wrong(cpu, Offset(values.size()), [&](Offset k) {
        return !std::isfinite(values[std::size_t(k)]);
    });
    if (position == Offset(values.size())) return;
    throw InvalidArgument(concat(what, ": value ", position,
                                 " (counted from 0) is not finite and could not be read back"));
}

/// First symmetry violation in row i, or "".
template <class T>
std::string asymmetry(const CsrView<T>& matrix, Index i, bool skew) {
    const auto position = [](Index row, Index column) {
        return concat("(", row, ", ", column, ")");
    };
    for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
        const Index j = matrix.column_indices[k];
        const T value = matrix.values[k];
        if (i == j && skew && value != 0) return "entry " + position(i, i) + " is not 0";
        if (i == j) continue;
        const Index* const end = matrix.column_indices + matrix.row_offsets[j + 1];
        const Index* const image =
            std::lower_bound(matrix.column_indices + matrix.row_offsets[j], end, i);
        if (image == end || *image != i) {
            return "entry " + position(i, j) + " is stored, " + position(j, i) + " is not";
        }
        if (matrix.values[image - matrix.column_indices] == (skew ? -value : value)) continue;
        return concat("entries ", position(i, j), " and ", position(j, i), " differ",
                      skew ? " other than in sign" : "");
    }
    return "";
}

/// Throws InvalidArgument that names the first entry at fault (0-based).
template <class T>
void check_symmetry(const Context& cpu, const CsrView<T>& matrix, Symmetry symmetry) {
    if (symmetry == Symmetry::general) return;
    const bool skew = symmetry == Symmetry::skew_symmetric;
    const std::string what =
        concat("write_matrix: the matrix is not ", skew ? "skew-symmetric: " : "symmetric: ");
    require(matrix.rows == matrix.columns, what, matrix.rows, " x ", matrix.columns);
    const Offset row = first_wrong(
        cpu, matrix.rows, [&](Offset i) { return !asymmetry(matrix, Index(i), skew).empty(); });
    if (row < matrix.rows) throw InvalidArgument(what + asymmetry(matrix, Index(row), skew));
}

/// Row of entry k.
template <class T>
Index row_of(const CsrView<T>& matrix, Offset k) {
    const Offset* const begin = matrix.row_offsets;
    return Index(std::upper_bound(begin, begin + matrix.rows + 1, k) - begin - 1);
}

/// Stored entries on or below the diagonal.
template <class T>
Offset lower_entries(const Context& cpu, const CsrView<T>& matrix) {
    std::atomic<Offset> sum{0};
    parallel_ranges(cpu.threads(), matrix.rows, [&](Offset first, Offset last) {
        for (Offset i = first; i < last; ++i) {
            const Index* const begin = matrix.column_indices + matrix.row_offsets[i];
            const Index* const end = matrix.column_indices + matrix.row_offsets[i + 1];
            sum += std::upper_bound(begin, end, Index(i)) - begin;
        }
    });
    return sum;
}

template <class T>
std::vector<FileSection> matrix_market_text(std::span<const T> vector, int columns) {
    const auto append = [vector](Offset k, std::string& text) {
        append_text(text, vector[std::size_t(k)], '\n');
    };
    return {text_section(concat("%%MatrixMarket matrix array real general\n",
                                vector.size() / std::size_t(columns), " ", columns, "\n")),
            item_section(Offset(vector.size()), append)};
}

}  // namespace

template <class T>
std::vector<FileSection> matrix_market_text(const Context& cpu, const CsrView<T>& matrix,
                                            Symmetry symmetry) {
    constexpr const char* words[] = {"general", "symmetric", "skew-symmetric"};
    const bool lower = symmetry != Symmetry::general;
    const std::string header = concat(
        "%%MatrixMarket matrix coordinate real ", words[int(symmetry)], "\n", matrix.rows, " ",
        matrix.columns, " ", lower ? lower_entries(cpu, matrix) : matrix.nonzeros, "\n");
    const auto append = [matrix, lower](Offset first, Offset last, std::string& text) {
        Index row = row_of(matrix, first);
        for (Offset k = first; k < last; ++k) {
            while (k >= matrix.row_offsets[row + 1]) ++row;
            const Index column = matrix.column_indices[k];
            if (lower && column > row) continue;
            append_text(text, std::int64_t(row) + 1, ' ');
            append_text(text, std::int64_t(column) + 1, ' ');
            append_text(text, matrix.values[k], '\n');
        }
    };
    return {text_section(header), {matrix.nonzeros, append}};
}

template <class T>
void write_matrix(const Context& cpu, const std::string& path, const CsrView<T>& matrix,
                  Symmetry symmetry) {
    require_cpu(cpu, "write_matrix");
    check_matrix("write_matrix", matrix);
    check_ending(path);
    naming_argument("matrix", [&] {
        check_finite(cpu, "write_matrix", matrix.values_span());
        check_symmetry(cpu, matrix, symmetry);
    });
    const bool petsc = path.ends_with(".petsc");
    write_sections(cpu, path, path.ends_with(".gz"),
                   petsc ? petsc_binary(matrix) : matrix_market_text(cpu, matrix, symmetry));
}

template <class T>
void write_vector(const Context& cpu, const std::string& path, std::span<const T> vector) {
    write_vectors(cpu, path, vector, 1);
}

template <class T>
void write_vectors(const Context& cpu, const std::string& path, std::span<const T> vector,
                   int count) {
    require_cpu(cpu, "write_vector");
    require_argument("count", count >= 1 && vector.size() % std::size_t(count) == 0,
                     "write_vectors: ", vector.size(), " numbers are not ", count, " vectors");
    check_vector("write_vector", "vector", vector, Offset(vector.size()));
    check_ending(path);
    naming_argument("vector", [&] { check_finite(cpu, "write_vector", vector); });
    const bool petsc = path.ends_with(".petsc");
    require_argument("path", !petsc || count == 1,
                     "write_vectors: a PETSc file has one vector; write a .mtx file");
    write_sections(cpu, path, path.ends_with(".gz"),
                   petsc ? petsc_binary(vector) : matrix_market_text(vector, count));
}

#define TESSERA_INSTANTIATE(T)                                                                 \
    template std::vector<FileSection> matrix_market_text<T>(const Context&, const CsrView<T>&, \
                                                            Symmetry);                         \
    template void write_matrix<T>(const Context&, const std::string&, const CsrView<T>&,       \
                                  Symmetry);                                                   \
    template void write_vector<T>(const Context&, const std::string&, std::span<const T>);     \
    template void write_vectors<T>(const Context&, const std::string&, std::span<const T>, int);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::io
