#include "base/dispatch.hpp"
#include "base/phases.hpp"
#include "sparse/spectrum/kernels.hpp"

namespace tessera {

template <class T>
double gershgorin_bound(const Context& context, const CsrView<T>& matrix,
                        std::span<const std::type_identity_t<T>> scaling) {
    require(scaling.empty() ||
                (matrix.rows == matrix.columns && scaling.size() == std::size_t(matrix.rows)),
            "gershgorin_bound: scaling needs a square matrix and a number for each row");
    if (matrix.rows == 0) return 0;
    const Phase phase(context, "bounds",
                      double(matrix.nonzeros) * sizeof(T) + double(matrix.rows) * sizeof(Offset));
    return select(context, &cpu::largest_row_sum<T>, TESSERA_IF_CUDA(cuda::largest_row_sum<T>))(
        context, matrix, scaling.empty() ? nullptr : scaling.data());
}

template double gershgorin_bound<float>(const Context&, const CsrView<float>&,
                                        std::span<const float>);
template double gershgorin_bound<double>(const Context&, const CsrView<double>&,
                                         std::span<const double>);

}  // namespace tessera
