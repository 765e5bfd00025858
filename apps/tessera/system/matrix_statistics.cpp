#include "system/matrix_statistics.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::cli {

template <class T>
SymmetryStatistics find_symmetry(const CsrView<T>& matrix) {
    SymmetryStatistics result;
    // Rows are visited in order, so the mirror images of the entries (i, j) of column j are found
    // in order too: one cursor per row is enough.
    std::vector<Offset> cursor(matrix.row_offsets, matrix.row_offsets + matrix.rows);
    double largest = 0;
    double difference = 0;
    for (Index i = 0; i < matrix.rows; ++i) {
        for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
            const Index j = matrix.column_indices[k];
            const Offset partner = cursor[std::size_t(j)]++;
            if (partner >= matrix.row_offsets[j + 1] || matrix.column_indices[partner] != i) {
                return result;
            }
            const double value = double(matrix.values[k]);
            largest = std::max(largest, std::abs(value));
            difference = std::max(difference, std::abs(value - double(matrix.values[partner])));
        }
    }
    result.pattern = true;
    result.asymmetry = largest > 0 ? difference / largest : 0;
    return result;
}

template <class T>
DiagonalStatistics find_diagonal(const CsrView<T>& matrix) {
    DiagonalStatistics result;
    for (Index i = 0; i < std::min(matrix.rows, matrix.columns); ++i) {
        const Index* const begin = matrix.column_indices + matrix.row_offsets[i];
        const Index* const end = matrix.column_indices + matrix.row_offsets[i + 1];
        const Index* const entry = std::lower_bound(begin, end, i);
        if (entry == end || *entry != i) {
            ++result.missing;
            continue;
        }
        const T value = matrix.values[entry - matrix.column_indices];
        result.zero += value == T(0);
        result.negative += value < T(0);
    }
    return result;
}

template <class T>
RowStatistics find_rows(const CsrView<T>& matrix) {
    RowStatistics result;
    result.min = matrix.rows > 0 ? matrix.columns : 0;
    for (Index i = 0; i < matrix.rows; ++i) {
        const Offset begin = matrix.row_offsets[i];
        const Offset end = matrix.row_offsets[i + 1];
        result.min = std::min(result.min, end - begin);
        result.max = std::max(result.max, end - begin);
        if (begin == end) {
            ++result.empty;
            continue;
        }
        result.lower_bandwidth = std::max(result.lower_bandwidth, i - matrix.column_indices[begin]);
        result.upper_bandwidth =
            std::max(result.upper_bandwidth, matrix.column_indices[end - 1] - i);
    }
    return result;
}

#define TESSERA_INSTANTIATE(T)                                       \
    template SymmetryStatistics find_symmetry<T>(const CsrView<T>&); \
    template DiagonalStatistics find_diagonal<T>(const CsrView<T>&); \
    template RowStatistics find_rows<T>(const CsrView<T>&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::cli
