#include "sparse/spmv_sliced/kernels.hpp"

#include "sparse/spmv_sliced/task.hpp"

namespace tessera::cuda {

template <class T>
void multiply(const Context& context, const SlicedView<T>& matrix, const FormatOptions& options,
              T alpha, const T* x, T beta, T* y) {
    with_stored<T>(matrix.format, [&](auto tag) {
        using Stored = typename decltype(tag)::type;
        const auto* const values = static_cast<const Stored*>(matrix.values);
        multiply_stored<Stored, T>(context, {matrix.pattern, values, alpha, x, beta, y}, options);
    });
}

template void multiply<float>(const Context&, const SlicedView<float>&, const FormatOptions&, float,
                              const float*, float, float*);
template void multiply<double>(const Context&, const SlicedView<double>&, const FormatOptions&,
                               double, const double*, double, double*);

}  // namespace tessera::cuda
