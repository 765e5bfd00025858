#include "tessera/symmetry.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/dispatch.hpp"
#include "sparse/symmetry/kernels.hpp"

namespace tessera {

namespace {

std::string position(Index row, Index column) {
    return "(" + std::to_string(row) + ", " + std::to_string(column) + ")";
}

template <class T>
void require_on_host(const Context& cpu, const CsrView<T>& matrix, const std::string& who) {
    const Offset k = cpu::first_unsymmetric(cpu, matrix);
    if (k < 0) return;
    if (!std::isfinite(matrix.values[k])) {
        throw InvalidArgument(who + ": the matrix holds values that are not finite");
    }
    const auto offsets = matrix.row_offsets_span();
    const Index i = Index(std::ranges::upper_bound(offsets, k) - offsets.begin()) - 1;
    const Index j = matrix.column_indices[k];
    const auto row = matrix.column_indices_span().subspan(std::size_t(offsets[j]),
                                                          std::size_t(offsets[j + 1] - offsets[j]));
    throw InvalidArgument(
        who + ": the matrix is not symmetric: entry " + position(i, j) +
        (std::ranges::binary_search(row, i) ? " differs from " : " is stored, but not ") +
        position(j, i));
}

}  // namespace

template <class T>
SymmetryCheck<T>::SymmetryCheck(const Context& context, Index rows)
    : rows_(rows),
      largest_(context, context.on_gpu() ? rows : 0),
      faults_(context, context.on_gpu() ? 1 : 0) {}

template <class T>
bool SymmetryCheck<T>::is_symmetric(const Context& context, const CsrView<T>& matrix) {
    if (matrix.rows != matrix.columns) return false;
    require(matrix.rows <= rows_,
            "SymmetryCheck: the matrix has more rows than memory was taken for");
    if (!context.on_gpu()) return cpu::first_unsymmetric(context, matrix) < 0;
    const auto on_gpu = select<bool(const Context&, const CsrView<T>&, T*, int*)>(
        context, nullptr, TESSERA_IF_CUDA(cuda::is_symmetric<T>));
    return on_gpu(context, matrix, largest_.data(), faults_.data());
}

template <class T>
void SymmetryCheck<T>::require_symmetric(const Context& context, const CsrView<T>& matrix,
                                         const char* who) {
    if (matrix.rows != matrix.columns) {
        throw InvalidArgument(std::string(who) + ": the matrix must be square");
    }
    if (is_symmetric(context, matrix)) return;
    if (!context.on_gpu()) return require_on_host(context, matrix, who);
    // What is wrong is found on the host.
    const Context cpu = Context::cpu(context.threads());
    CsrMatrix<T> on_host(cpu, matrix.rows, matrix.columns, matrix.nonzeros);
    copy_to_host(context, matrix.row_offsets_span(), on_host.row_offsets().view());
    copy_to_host(context, matrix.column_indices_span(), on_host.column_indices().view());
    copy_to_host(context, matrix.values_span(), on_host.values().view());
    require_on_host(cpu, std::as_const(on_host).view(), who);
}

template class SymmetryCheck<float>;
template class SymmetryCheck<double>;

}  // namespace tessera
