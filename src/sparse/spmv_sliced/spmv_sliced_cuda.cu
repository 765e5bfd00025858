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
void multiply_step(const Context& context, const SlicedView<T>& matrix,
                   const FormatOptions& options, Offset bytes, const T* x,
                   const ProductEnd<T>& end) {
    const bool stays = bytes < cache_bytes(context) / 2;
    SlicedEnd<T> to{end.step, end.y, end.r, end.next, end.xy, {}, nullptr, nullptr};
    if (end.result != nullptr) {
        const ScaledResult& result = *end.result;
        to.wide = {result.z.data(), result.d.empty() ? nullptr : result.d.data(), result.square,
                   result.r.data(), result.rz};
    }
    with_stored<T>(matrix.format, [&](auto tag) {
        using Stored = typename decltype(tag)::type;
        const auto* const values = static_cast<const Stored*>(matrix.values);
        multiply_stored<Stored, T>(context, {matrix.pattern, values, x, stays, to}, options);
    });
}

/// lanes_kernel can, and it takes whole slices of as many rows as a thread has.
bool sums_dots(const FormatOptions& options) {
    const int rows =
        options.values == ValueFormat::f16 || options.values == ValueFormat::bf16 ? 2 : 1;
    return !reads_pads(options) && options.slice_height > 1 && options.slice_height % rows == 0;
}

#define TESSERA_INSTANTIATE(T)                                                                 \
    template void multiply_step<T>(const Context&, const SlicedView<T>&, const FormatOptions&, \
                                   Offset, const T*, const ProductEnd<T>&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::cuda
