#pragma once

#include "batched/norm/kernels.hpp"
#include "gpu/matrix_ring.cuh"

namespace tessera::batched::cuda {

using namespace tessera::cuda;

/// Infinity norms of a uniform batch; persistent warps, each with a pipeline of bulk copies
/// (cp.async.bulk) into shared memory; Shape::lanes lanes per matrix, Shape::rows rows per lane.
template <class T, class Shape>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    norm_ring_kernel(const T* a, Index count, T* norms) {
    constexpr int n = Shape::n;
    using Run = TileRun<T, n * n, Shape::matrices>;
    extern __shared__ __align__(128) unsigned char memory[];
    __shared__ unsigned long long barriers[Shape::warps * Shape::stages];
    const int lane = int(threadIdx.x) % 32;
    const int warp = int(threadIdx.x) / 32;
    const Index step = Index(gridDim.x) * (Shape::warps * Shape::matrices);
    Index first = (Index(blockIdx.x) * Shape::warps + warp) * Shape::matrices;
    Index to_copy = count - first;
    Run matrices(a, first, step);
    WarpRing<Shape::stages> ring(memory + warp * Shape::stages * Run::place_bytes, Run::place_bytes,
                                 barriers + warp * Shape::stages);
    const auto start = [&] {
        const int here = min(to_copy, Shape::matrices);
        if (here > 0 && lane == 0) {
            ring.barrier().expect(Run::in_chunks(here));
            matrices.copy(ring.barrier(), ring.place(), here);
        }
        matrices.advance_copies();
        to_copy -= step;
    };
    begin_dependent();
#pragma unroll
    for (int s = 0; s < Shape::stages; ++s) {
        start();
        ring.advance();
    }
    ring.rewind();
#pragma unroll 1
    for (; first < count; first += step) {
        const int here = min(count - first, Shape::matrices);
        T* const staged = matrices.staged(ring.place());
        ring.wait();
        if (here < Shape::matrices) matrices.copy_rest(staged, here, Shape::stages);
        __syncwarp();
        T norm[Shape::turns];
#pragma unroll
        for (int turn = 0; turn < Shape::turns; ++turn) {
            const int m = turn * Shape::together + lane / Shape::lanes;
            T sums[Shape::rows] = {};
            for_own_rows<Shape>(staged + m * n * n,
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
        __syncwarp();
        start();
#pragma unroll
        for (int turn = 0; turn < Shape::turns; ++turn) {
            const int m = turn * Shape::together + lane / Shape::lanes;
            if (lane % Shape::lanes == 0 && m < here) norms[first + m] = norm[turn];
        }
        matrices.advance();
        ring.advance();
    }
}

/// Norms by the kernel made for the size of the matrices; false where there is none.
template <class T>
bool norm_of_run(const Context& context, const BatchView<const T>& a, T* norms) {
    if (!is_ring_batch(a)) return false;
    const cudaStream_t stream = stream_of(context);
    return with_ring_size(a.size, [&](auto size) {
        constexpr int n = decltype(size)::value;
        using Shape = RingShape<T, n, 0>;
        constexpr int bytes =
            Shape::warps * Shape::stages * TileRun<T, n * n, Shape::matrices>::place_bytes;
        const auto kernel = norm_ring_kernel<T, Shape>;
        static FillingBlocks filling;
        const unsigned blocks = blocks_for(a.count, Shape::warps * Shape::matrices);
        launch_dependent(kernel,
                         std::min(blocks, filling(context.device(), kernel, Shape::threads, bytes)),
                         Shape::threads, bytes, stream, a.values, a.count, norms);
    });
}

}  // namespace tessera::batched::cuda
