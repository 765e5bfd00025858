#include "sparse/matching/symmetry.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/parallel.hpp"
#include "sparse/matching/entries.hpp"

namespace tessera::matching {

namespace {

std::string position(Index row, Index column) {
    return "(" + std::to_string(row) + ", " + std::to_string(column) + ")";
}

}  // namespace

template <class T>
void check_symmetry(const Context& cpu, const CsrView<T>& matrix, const char* who) {
    std::vector<T> largest(std::size_t(matrix.rows), T(0));
    const auto find_largest = [&](Offset first, Offset last) {
        for (Offset i = first; i < last; ++i) {
            for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
                largest[i] = std::max(largest[i], std::abs(matrix.values[k]));
            }
        }
    };
    parallel_ranges(cpu.threads(), matrix.rows, find_largest, 1024);

    const T tolerance = 1000 * std::numeric_limits<T>::epsilon();
    const auto is_fine = [&](Index i, Offset k) {
        const Index j = matrix.column_indices[k];
        if (i == j) return true;
        const Offset mirror = find_entry(matrix, j, i);
        if (mirror < 0) return false;
        if (j < i) return true;  // Row j compared the values.
        return std::abs(matrix.values[k] - matrix.values[mirror]) <=
               tolerance * std::min(largest[i], largest[j]);
    };
    std::vector<Offset> fault(std::size_t(matrix.rows), -1);
    const auto check = [&](Offset first, Offset last) {
        for (Offset i = first; i < last; ++i) {
            for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
                if (is_fine(Index(i), k)) continue;
                fault[i] = k;
                break;
            }
        }
    };
    parallel_ranges(cpu.threads(), matrix.rows, check, 1024);
    for (Index i = 0; i < matrix.rows; ++i) {
        if (fault[i] < 0) continue;
        const Index j = matrix.column_indices[fault[i]];
        throw InvalidArgument(
            std::string(who) + ": the matrix is not symmetric: entry " + position(i, j) +
            (find_entry(matrix, j, i) < 0 ? " is stored, but not " : " differs from ") +
            position(j, i));
    }
}

template void check_symmetry<float>(const Context&, const CsrView<float>&, const char*);
template void check_symmetry<double>(const Context&, const CsrView<double>&, const char*);

}  // namespace tessera::matching
