#include "sparse/spmv_sliced/kernels.hpp"

#include "base/check_cuda.hpp"
#include "sparse/spmv_sliced/task.hpp"

namespace tessera::cuda {

namespace {

/// Of the L2 cache.
Offset cache_bytes(const Context& context) {
    int bytes = 0;
    TESSERA_CUDA(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, context.device()));
    return bytes;
}

}  // namespace

template <class T>
void multiply(const Context& context, const SlicedView<T>& matrix, const FormatOptions& options,
              Offset bytes, T alpha, const T* x, T beta, T* y) {
    const bool stays = bytes < cache_bytes(context) / 2;
    with_stored<T>(matrix.format, [&](auto tag) {
        using Stored = typename decltype(tag)::type;
        const auto* const values = static_cast<const Stored*>(matrix.values);
        multiply_stored<Stored, T>(context, {matrix.pattern, values, alpha, x, beta, y, stays},
                                   options);
    });
}

template void multiply<float>(const Context&, const SlicedView<float>&, const FormatOptions&,
                              Offset, float, const float*, float, float*);
template void multiply<double>(const Context&, const SlicedView<double>&, const FormatOptions&,
                               Offset, double, const double*, double, double*);

}  // namespace tessera::cuda
