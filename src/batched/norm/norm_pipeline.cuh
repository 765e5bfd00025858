#pragma once

#include "batched/norm/kernels.hpp"
#include "gpu/matrix_pipeline.cuh"

namespace tessera::batched::cuda {

using namespace tessera::cuda;

/// Infinity norms of a uniform batch; persistent warps, each with a pipeline of bulk copies
/// (cp.async.bulk) into shared memory; Shape::lanes lanes per matrix, Shape::rows rows per lane.
template <class T, class Shape>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    norm_pipeline_kernel(const T* a, Index count, T* norms) {
    constexpr int n = Shape::n;
    const int lane = int(threadIdx.x) % 32;
    const auto work = [&](Index first, int matrices, auto&& release, const T* staged) {
        T norm[Shape::turns];
#pragma unroll
        for (int turn = 0; turn < Shape::turns; ++turn) {
            const int m = turn * Shape::matrices_per_turn + lane / Shape::lanes;
            T sums[Shape::rows] = {};
            for_rows_of_lane<Shape>(staged + m * n * n,
                                    [&](int, int row, T element) { sums[row] += fabs(element); });
            norm[turn] = sums[0];
#pragma unroll
            for (int r = 1; r < Shape::rows; ++r) norm[turn] = max_or_nan(sums[r], norm[turn]);
#pragma unroll
            for (int distance = Shape::lanes / 2; distance > 0; distance /= 2) {
                norm[turn] =
                    max_or_nan(__shfl_xor_sync(full_warp, norm[turn], distance), norm[turn]);
            }
        }
        release();
#pragma unroll
        for (int turn = 0; turn < Shape::turns; ++turn) {
            const int m = turn * Shape::matrices_per_turn + lane / Shape::lanes;
            if (lane % Shape::lanes == 0 && m < matrices) norms[first + m] = norm[turn];
        }
    };
    for_tiles<Shape>(count, Shape::stage_bytes(0), work,
                     TileArray<T, n * n, Shape::matrices>(a, 0));
}

template <class T>
bool norm_pipelined(const Context& context, const BatchView<const T>& a, T* norms) {
    return fits_pipeline(a) && with_compiled_size(a.size, [&](auto size) {
               using Shape = PipelineShape<T, decltype(size)::value, 0>;
               launch_pipeline(context, Shape(), 0, a.count, norm_pipeline_kernel<T, Shape>,
                               a.values, a.count, norms);
           });
}

}  // namespace tessera::batched::cuda
