#include <cmath>

#include "base/checks.hpp"
#include "base/parallel.hpp"
#include "tessera/csr.hpp"

namespace tessera {

template <class T>
void validate(const CsrView<T>& matrix) {
    check_matrix("validate", matrix);
    require(matrix.row_offsets[0] == 0, "CSR matrix: row_offsets[0] is not 0");
    require(matrix.row_offsets[matrix.rows] == matrix.nonzeros,
            "CSR matrix: the last row offset is not the number of nonzeros");
    const auto fail = [](Index row, const std::string& what) {
        throw InvalidArgument("CSR matrix, row " + std::to_string(row) + ": " + what);
    };
    for (Index i = 0; i < matrix.rows; ++i) {
        const Offset begin = matrix.row_offsets[i];
        const Offset end = matrix.row_offsets[i + 1];
        if (end < begin || end > matrix.nonzeros) fail(i, "row offsets do not ascend");
        for (Offset k = begin; k < end; ++k) {
            const Index column = matrix.column_indices[k];
            if (column < 0 || column >= matrix.columns) {
                fail(i, "column " + std::to_string(column) + " is outside 0.." +
                            std::to_string(matrix.columns - 1));
            }
            if (k > begin && column <= matrix.column_indices[k - 1]) {
                fail(i, "columns are not sorted and unique");
            }
            if (!std::isfinite(matrix.values[k])) {
                fail(i, "the entry in column " + std::to_string(column) + " is not finite");
            }
        }
    }
}

template <class T>
CsrMatrix<T> csr_from_arrays(const Context& context, Index rows, Index columns,
                             std::span<const std::int32_t> row_offsets,
                             std::span<const Index> column_indices, std::span<const T> values) {
    require(rows >= 0 && row_offsets.size() == std::size_t(rows) + 1,
            "csr_from_arrays: row_offsets must have rows + 1 elements");
    require(column_indices.size() == values.size(),
            "csr_from_arrays: column_indices and values differ in size");
    require(row_offsets.data() != nullptr, "csr_from_arrays: row_offsets is null");
    require(row_offsets.front() == 0 && std::size_t(row_offsets.back()) == values.size(),
            "csr_from_arrays: row_offsets must begin with 0 and end with the number of values");
    CsrMatrix<T> matrix(context, rows, columns, Offset(values.size()));
    const std::vector<Offset> widened(row_offsets.begin(), row_offsets.end());
    copy_from_host(context, std::span<const Offset>(widened), matrix.row_offsets().view());
    copy_from_host(context, column_indices, matrix.column_indices().view());
    copy_from_host(context, values, matrix.values().view());
    return matrix;
}

#define TESSERA_INSTANTIATE(T)                                              \
    template void validate<T>(const CsrView<T>&);                           \
    template CsrMatrix<T> csr_from_arrays<T>(const Context&, Index, Index,  \
                                             std::span<const std::int32_t>, \
                                             std::span<const Index>, std::span<const T>);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
