#include <algorithm>

#include "base/checks.hpp"
#include "tessera/csr.hpp"

namespace tessera {

namespace {

/// Counting sort of the entries by columns; rows ascend in each of them.
template <class T>
CsrMatrix<T> transpose_on_host(const Context& host, const CsrView<T>& matrix) {
    CsrMatrix<T> result(host, matrix.columns, matrix.rows, matrix.nonzeros);
    const std::span<Offset> offsets = result.row_offsets().view();
    std::ranges::fill(offsets, 0);
    for (const Index column : matrix.column_indices_span()) {
        require(column >= 0 && column < matrix.columns, "transpose: column ", column,
                " is outside 0..", matrix.columns - 1);
        ++offsets[std::size_t(column) + 1];
    }
    for (std::size_t j = 1; j < offsets.size(); ++j) offsets[j] += offsets[j - 1];
    std::vector<Offset> next(offsets.begin(), offsets.end() - 1);
    for (Index i = 0; i < matrix.rows; ++i) {
        for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
            const Offset to = next[std::size_t(matrix.column_indices[k])]++;
            result.column_indices().data()[to] = i;
            result.values().data()[to] = matrix.values[k];
        }
    }
    return result;
}

}  // namespace

template <class T>
CsrMatrix<T> transpose(const Context& context, const CsrView<T>& matrix) {
    check_matrix("transpose", matrix);
    check_memory(context, "transpose", matrix);
    if (!context.on_gpu()) return transpose_on_host(context, matrix);
    const CsrMatrix<T> copied = copy_to_host(context, matrix);
    return copy_to(context, transpose_on_host(Context::cpu(context.threads()), copied.view()));
}

template decltype(transpose<float>) transpose<float>;
template decltype(transpose<double>) transpose<double>;

}  // namespace tessera
