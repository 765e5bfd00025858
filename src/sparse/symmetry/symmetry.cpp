#include "tessera/csr.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/dispatch.hpp"
#include "sparse/symmetry/kernels.hpp"

namespace tessera {

namespace {

std::string position(Index row, Index column) {
    return "(" + std::to_string(row) + ", " + std::to_string(column) + ")";
}

template <class T>
void check_on_host(const Context& cpu, const CsrView<T>& matrix, const std::string& who) {
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
bool is_symmetric(const Context& context, const CsrView<T>& matrix) {
    if (matrix.rows != matrix.columns) return false;
    if (!context.on_gpu()) return cpu::first_unsymmetric(context, matrix) < 0;
    const auto on_gpu = select<bool(const Context&, const CsrView<T>&)>(
        context, nullptr, TESSERA_IF_CUDA(cuda::is_symmetric<T>));
    return on_gpu(context, matrix);
}

template <class T>
void check_symmetry(const Context& context, const CsrView<T>& matrix, const char* who) {
    if (matrix.rows != matrix.columns) {
        throw InvalidArgument(std::string(who) + ": the matrix must be square");
    }
    if (!context.on_gpu()) return check_on_host(context, matrix, who);
    if (is_symmetric(context, matrix)) return;
    // The first entry at fault is found on the host.
    const CsrMatrix<T> copied = copy_to_host(context, matrix);
    check_on_host(Context::cpu(context.threads()), copied.view(), who);
}

template bool is_symmetric(const Context&, const CsrView<float>&);
template bool is_symmetric(const Context&, const CsrView<double>&);
template void check_symmetry(const Context&, const CsrView<float>&, const char*);
template void check_symmetry(const Context&, const CsrView<double>&, const char*);

}  // namespace tessera
