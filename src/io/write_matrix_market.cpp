#include <algorithm>
#include <charconv>

#include "base/dispatch.hpp"
#include "base/parallel.hpp"
#include "io/matrix_market.hpp"

namespace tessera::io {

namespace {

constexpr Offset piece_entries = 1 << 16;
constexpr std::size_t longest_number = 32;  ///< Of a shortest double, with a sign and an exponent.

template <class Number>
void append_number(std::string& text, Number number, char behind) {
    char digits[longest_number];
    const auto result = std::to_chars(digits, digits + longest_number, number);
    text.append(digits, result.ptr);
    text += behind;
}

const char* to_string(Symmetry symmetry) {
    return symmetry == Symmetry::general     ? "general"
           : symmetry == Symmetry::symmetric ? "symmetric"
                                             : "skew-symmetric";
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
    const Offset parts = std::max<Offset>(1, matrix.rows / 4096);
    std::vector<Offset> counts(static_cast<std::size_t>(parts));
    parallel_parts(cpu.threads(), matrix.rows, parts, [&](Offset part, Offset first, Offset last) {
        for (Offset i = first; i < last; ++i) {
            const Index* const begin = matrix.column_indices + matrix.row_offsets[i];
            const Index* const end = matrix.column_indices + matrix.row_offsets[i + 1];
            counts[std::size_t(part)] += std::upper_bound(begin, end, Index(i)) - begin;
        }
    });
    Offset sum = 0;
    for (const Offset count : counts) sum += count;
    return sum;
}

}  // namespace

template <class T>
TextPieces format_matrix_market(const Context& cpu, const CsrView<T>& matrix, Symmetry symmetry) {
    const bool lower = symmetry != Symmetry::general;
    const Offset written = lower ? lower_entries(cpu, matrix) : matrix.nonzeros;
    const Offset pieces = (matrix.nonzeros + piece_entries - 1) / piece_entries;
    return {1 + pieces, [=](Offset piece) {
                std::string text;
                if (piece == 0) {
                    text = std::string("%%MatrixMarket matrix coordinate real ") +
                           to_string(symmetry) + "\n";
                    append_number(text, matrix.rows, ' ');
                    append_number(text, matrix.columns, ' ');
                    append_number(text, written, '\n');
                    return text;
                }
                const Offset first = (piece - 1) * piece_entries;
                const Offset last = std::min(matrix.nonzeros, first + piece_entries);
                Index row = row_of(matrix, first);
                for (Offset k = first; k < last; ++k) {
                    while (k >= matrix.row_offsets[row + 1]) ++row;
                    const Index column = matrix.column_indices[k];
                    if (lower && column > row) continue;
                    append_number(text, std::int64_t(row) + 1, ' ');
                    append_number(text, std::int64_t(column) + 1, ' ');
                    append_number(text, matrix.values[k], '\n');
                }
                return text;
            }};
}

template <class T>
TextPieces format_matrix_market(const Context&, std::span<const T> vector) {
    const Offset size = Offset(vector.size());
    const Offset pieces = (size + piece_entries - 1) / piece_entries;
    return {1 + pieces, [=](Offset piece) {
                std::string text;
                if (piece == 0) {
                    text = "%%MatrixMarket matrix array real general\n";
                    append_number(text, size, ' ');
                    append_number(text, 1, '\n');
                    return text;
                }
                const Offset first = (piece - 1) * piece_entries;
                const Offset last = std::min(size, first + piece_entries);
                for (Offset k = first; k < last; ++k) {
                    append_number(text, vector[std::size_t(k)], '\n');
                }
                return text;
            }};
}

#define TESSERA_INSTANTIATE(T)                                                                \
    template TextPieces format_matrix_market<T>(const Context&, const CsrView<T>&, Symmetry); \
    template TextPieces format_matrix_market<T>(const Context&, std::span<const T>);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::io
