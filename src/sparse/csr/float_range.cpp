#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/concat.hpp"
#include "tessera/operator.hpp"

namespace tessera {

namespace {

constexpr double smallest = std::numeric_limits<float>::min();

bool overflows(double value) { return std::isfinite(value) && !std::isfinite(float(value)); }

std::string fault(double value, const std::string& where) {
    return "value " + number_text(value) + " " + where + " is out of range of single precision";
}

}  // namespace

std::string float_range_fault(const CsrView<double>& matrix) {
    const auto position = [](Index row, Index column) {
        return concat("in row ", row + 1, ", column ", column + 1);
    };
    std::vector<double> largest_of_column(std::size_t(matrix.columns), 0);
    for (Index i = 0; i < matrix.rows; ++i) {
        Offset largest = matrix.row_offsets[i];
        for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
            const Index j = matrix.column_indices[k];
            const double value = matrix.values[k];
            const bool vanishes = i == j && value != 0 && float(value) == 0;
            if (overflows(value) || vanishes) return fault(value, position(i, j));
            if (std::abs(value) > std::abs(matrix.values[largest])) largest = k;
            double& of_column = largest_of_column[std::size_t(j)];
            of_column = std::max(of_column, std::abs(value));
        }
        if (largest == matrix.row_offsets[i + 1]) continue;
        const double value = matrix.values[largest];
        if (value != 0 && std::abs(value) < smallest) {
            return fault(value,
                         position(i, matrix.column_indices[largest]) + ", the largest of the row,");
        }
    }
    for (Index j = 0; j < matrix.columns; ++j) {
        const double value = largest_of_column[std::size_t(j)];
        if (value == 0 || value >= smallest) continue;
        return fault(value, concat("in column ", j + 1, ", the largest of the column,"));
    }
    return {};
}

std::string float_range_fault(std::span<const double> vector) {
    std::size_t largest = 0;
    for (std::size_t i = 0; i < vector.size(); ++i) {
        if (overflows(vector[i])) return fault(vector[i], concat("in row ", i + 1));
        if (std::abs(vector[i]) > std::abs(vector[largest])) largest = i;
    }
    if (vector.empty() || vector[largest] == 0 || std::abs(vector[largest]) >= smallest) return {};
    return fault(vector[largest], concat("in row ", largest + 1, ", the largest of the vector,"));
}

}  // namespace tessera
