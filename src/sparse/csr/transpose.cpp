#include "base/checks.hpp"
#include "base/transpose_pattern.hpp"
#include "tessera/csr.hpp"

namespace tessera {

namespace {

template <class T>
CsrMatrix<T> transpose_on_host(const Context& host, const CsrView<T>& matrix) {
    CsrMatrix<T> result(host, matrix.columns, matrix.rows, matrix.nonzeros);
    T* const values = result.values().data();
    transpose_pattern(matrix.rows, matrix.row_offsets, matrix.column_indices,
                      result.row_offsets().view(), result.column_indices().data(),
                      [&](Offset k, Offset to) { values[to] = matrix.values[k]; });
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
