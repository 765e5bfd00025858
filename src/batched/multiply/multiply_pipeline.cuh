#pragma once

#include "batched/multiply/kernels.hpp"
#include "gpu/matrix_pipeline.cuh"

namespace tessera::batched::cuda {

using namespace tessera::cuda;

/// y_b = alpha A_b x_b + beta y_b of a uniform batch; persistent warps, each with a pipeline of
/// bulk copies (cp.async.bulk) of matrices and vectors into shared memory; Shape::lanes lanes per
/// matrix, Shape::rows rows per lane. Sums run in ascending order of their index.
template <class T, class Shape>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    multiply_pipeline_kernel(const T* a, Index count, T alpha, const T* x, T beta, T* y) {
    constexpr int n = Shape::n;
    constexpr int lines = Shape::matrices * n;
    __shared__ __align__(16) T results[Shape::warps * lines];
    const bool adds = beta != T(0);
    T* const result = results + int(threadIdx.x) / 32 * lines;
    const auto work = [&](Index first, int matrices, auto&& release, const T* staged,
                          const T* factor, const T* addend) {
        const int m = int(threadIdx.x) % 32 / Shape::lanes;
        T sums[Shape::rows] = {};
        for_rows_of_lane<Shape>(staged + m * n * n, [&](int column, int row, T element) {
            sums[row] = fma(element, factor[m * n + column], sums[row]);
        });
        // Lanes that share a row store the same value.
        const int line = m * n + Shape::first_row();
#pragma unroll
        for (int r = 0; r < Shape::rows; ++r) {
            result[line + r] =
                adds ? fma(alpha, sums[r], beta * addend[line + r]) : alpha * sums[r];
        }
        release();
        store_vectors<lines>(result, y + Offset(first) * n, matrices * n);
        __syncwarp();
    };
    using Vectors = TileArray<T, n, Shape::matrices>;
    for_tiles<Shape>(count, Shape::stage_bytes(adds ? 2 : 1), work,
                     TileArray<T, n * n, Shape::matrices>(a, 0), Vectors(x, Shape::stage_bytes(0)),
                     Vectors(adds ? y : nullptr, Shape::stage_bytes(1)));
}

template <class T>
bool multiply_pipelined(const Context& context, T alpha, const BatchView<const T>& a,
                        const VectorsView<const T>& x, T beta, const VectorsView<T>& y) {
    const auto is_contiguous_vector = [&](const auto& v) {
        return v.vectors == 1 && v.offsets == nullptr && v.starts == nullptr &&
               v.stride == a.size && reinterpret_cast<std::uintptr_t>(v.values) % 16 == 0;
    };
    return fits_pipeline(a) && is_contiguous_vector(x) && is_contiguous_vector(y) &&
           with_compiled_size(a.size, [&](auto size) {
               using Shape = PipelineShape<T, decltype(size)::value, 2>;
               launch_pipeline(context, Shape(), beta != T(0) ? 2 : 1, a.count,
                               multiply_pipeline_kernel<T, Shape>, a.values, a.count, alpha,
                               x.values, beta, y.values);
           });
}

}  // namespace tessera::batched::cuda
