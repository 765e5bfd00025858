#pragma once

#include <charconv>
#include <cstring>
#include <fstream>
#include <string>

#include "io/text.hpp"
#include "tessera/tessera.hpp"

/// Common parts of the tests of readers and writers.
namespace tessera::io {

/// f(), or the message of the error that it throws.
template <class F>
std::string outcome(F&& f) {
    try {
        return f();
    } catch (const Error& error) {
        return error.what();
    }
}

template <class T>
std::string shortest(T number) {
    char digits[32];
    return {digits, std::to_chars(digits, digits + 32, number).ptr};
}

/// "2x3 (1,1)=3 (2,3)=0.5 1 duplicate", numbers in their shortest form.
template <class T>
std::string described(const CsrView<T>& matrix, const FileHeader& header = {}) {
    std::string text = std::to_string(matrix.rows) + "x" + std::to_string(matrix.columns);
    for (Index i = 0; i < matrix.rows; ++i) {
        for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
            text += " (" + std::to_string(i + 1) + "," +
                    std::to_string(matrix.column_indices[k] + 1) +
                    ")=" + shortest(matrix.values[k]);
        }
    }
    if (header.duplicates == 1) text += " 1 duplicate";
    if (header.duplicates > 1) text += " " + std::to_string(header.duplicates) + " duplicates";
    return text;
}

template <class T>
bool same_bits(const CsrView<T>& a, const CsrView<T>& b) {
    const auto equal = [](const auto& x, const auto& y) {
        return x.size() == y.size() &&
               (x.empty() || std::memcmp(x.data(), y.data(), x.size_bytes()) == 0);
    };
    return a.rows == b.rows && a.columns == b.columns &&
           equal(a.row_offsets_span(), b.row_offsets_span()) &&
           equal(a.column_indices_span(), b.column_indices_span()) &&
           equal(a.values_span(), b.values_span());
}

inline std::string write_text(const std::string& path, const std::string& bytes) {
    std::ofstream file(path, std::ios::binary);
    file << bytes;
    return path;
}

inline std::string read_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace tessera::io
