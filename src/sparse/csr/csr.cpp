#include <cmath>

#include "base/checks.hpp"
#include "base/parallel.hpp"
#include "tessera/csr.hpp"

namespace tessera {

template <class T>
void validate(const CsrView<T>& matrix) {
    check_matrix("validate", matrix);
    require_argument("matrix", matrix.row_offsets[0] == 0, "CSR matrix: row_offsets[0] is not 0");
    require_argument("matrix", matrix.row_offsets[matrix.rows] == matrix.nonzeros,
                     "CSR matrix: the last row offset is not the number of nonzeros");
    const auto fail = [](Index row, const std::string& what) {
        throw InvalidArgument("CSR matrix, row " + std::to_string(row) + ": " + what, "matrix");
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

template void validate<float>(const CsrView<float>&);
template void validate<double>(const CsrView<double>&);

}  // namespace tessera
