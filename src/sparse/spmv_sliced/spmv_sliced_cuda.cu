#include <algorithm>

#include "base/check_cuda.hpp"
#include "gpu/tuning/sparse_h200.hpp"
#include "sparse/spmv_sliced/kernels.hpp"
#include "sparse/stored_value.hpp"

namespace tessera::cuda {

namespace {

Offset l2_cache_bytes(const Context& context) {
    int bytes = 0;
    TESSERA_CUDA(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, context.device()));
    return bytes;
}

template <class Column, class Stored, class T>
void multiply_columns(const Context& context, const SlicedPattern& matrix, const Stored* values,
                      const ProductVectors<T>& vectors, bool cached) {
    const int max_vectors = spmv_vectors(matrix.block, sizeof(Stored), sizeof(T));
    for (int first = 0; first < vectors.x.count; first += max_vectors) {
        const int count = std::min(max_vectors, vectors.x.count - first);
        const SlicedProduct<Stored, T> task{matrix, values, vectors.part(first, count)};
        if (count == 1) {
            multiply_one<Column>(context, task, cached);
        } else {
            multiply_several<Column>(context, task);
        }
    }
}

}  // namespace

template <class T>
void multiply_step(const Context& context, const SlicedView<T>& matrix, Offset matrix_bytes,
                   const ProductVectors<T>& vectors) {
    const SlicedPattern& a = matrix.pattern;
    if (a.rows == 0) return;
    const bool cached = matrix_bytes < l2_cache_bytes(context) / 2;
    with_stored<T>(matrix.format, [&](auto tag) {
        using Stored = typename decltype(tag)::type;
        const auto* const values = static_cast<const Stored*>(matrix.values);
        if (a.column_offsets != nullptr) {
            multiply_columns<std::uint16_t>(context, a, values, vectors, cached);
        } else {
            multiply_columns<Index>(context, a, values, vectors, cached);
        }
    });
}

template decltype(multiply_step<float>) multiply_step<float>;
template decltype(multiply_step<double>) multiply_step<double>;

}  // namespace tessera::cuda
