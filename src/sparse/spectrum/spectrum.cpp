#include "base/dispatch.hpp"
#include "base/phases.hpp"
#include "sparse/spectrum/kernels.hpp"

namespace tessera {

template <class T>
double gershgorin_bound(const Context& context, const CsrView<T>& matrix) {
    if (matrix.rows == 0) return 0;
    const Phase phase(context, "bounds",
                      double(matrix.nonzeros) * sizeof(T) + double(matrix.rows) * sizeof(Offset));
    return select(context, &cpu::largest_row_sum<T>, TESSERA_IF_CUDA(cuda::largest_row_sum<T>))(
        context, matrix);
}

template double gershgorin_bound<float>(const Context&, const CsrView<float>&);
template double gershgorin_bound<double>(const Context&, const CsrView<double>&);

}  // namespace tessera
