#pragma once

#include "batched/multiply/kernels.hpp"
#include "gpu/matrix_ring.cuh"

namespace tessera::batched::cuda {

using namespace tessera::cuda;

/// y_b = alpha A_b x_b + beta y_b of a uniform batch; persistent warps, each with a pipeline of
/// bulk copies (cp.async.bulk) of matrices and vectors into shared memory; Shape::lanes lanes per
/// matrix, Shape::rows rows per lane. Sums run in ascending order of their index.
template <class T, class Shape>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    multiply_ring_kernel(const T* a, Index count, T alpha, const T* x, T beta, T* y) {
    constexpr int n = Shape::n;
    constexpr int lines = Shape::matrices * n;
    using Matrices = TileRun<T, n * n, Shape::matrices>;
    using Vectors = TileRun<T, n, Shape::matrices>;
    extern __shared__ __align__(128) unsigned char memory[];
    __shared__ unsigned long long barriers[Shape::warps * Shape::stages];
    __shared__ __align__(16) T results[Shape::warps * lines];
    const int lane = int(threadIdx.x) % 32;
    const int warp = int(threadIdx.x) / 32;
    const bool adds = beta != T(0);
    const int place_bytes = Matrices::place_bytes + (adds ? 2 : 1) * Vectors::place_bytes;
    const Index step = Index(gridDim.x) * (Shape::warps * Shape::matrices);
    Index first = (Index(blockIdx.x) * Shape::warps + warp) * Shape::matrices;
    Index to_copy = count - first;
    Matrices matrices(a, first, step);
    Vectors factors(x, first, step);
    Vectors addends(y, first, step);
    WarpRing<Shape::stages> ring(memory + warp * Shape::stages * place_bytes, place_bytes,
                                 barriers + warp * Shape::stages);
    const auto start = [&] {
        const int here = min(to_copy, Shape::matrices);
        if (here > 0 && lane == 0) {
            const CopyBarrier barrier = ring.barrier();
            unsigned char* const place = ring.place();
            barrier.expect(Matrices::in_chunks(here) + (adds ? 2 : 1) * Vectors::in_chunks(here));
            matrices.copy(barrier, place, here);
            factors.copy(barrier, place + Matrices::place_bytes, here);
            if (adds) addends.copy(barrier, place + place_bytes - Vectors::place_bytes, here);
        }
        matrices.advance_copies();
        factors.advance_copies();
        addends.advance_copies();
        to_copy -= step;
    };
    begin_dependent();
#pragma unroll
    for (int s = 0; s < Shape::stages; ++s) {
        start();
        ring.advance();
    }
    ring.rewind();
    T* const result = results + warp * lines;
#pragma unroll 1
    for (; first < count; first += step) {
        const int here = min(count - first, Shape::matrices);
        unsigned char* const place = ring.place();
        T* const staged = matrices.staged(place);
        T* const factor = factors.staged(place + Matrices::place_bytes);
        T* const addend = addends.staged(place + place_bytes - Vectors::place_bytes);
        ring.wait();
        if (here < Shape::matrices) {
            matrices.copy_rest(staged, here, Shape::stages);
            factors.copy_rest(factor, here, Shape::stages);
            if (adds) addends.copy_rest(addend, here, Shape::stages);
        }
        __syncwarp();
        const int m = lane / Shape::lanes;
        T sums[Shape::rows] = {};
        for_own_rows<Shape>(staged + m * n * n, [&](int column, int row, T element) {
            sums[row] = fma(element, factor[m * n + column], sums[row]);
        });
        // Lanes that take the same row write the same value.
        const int line = m * n + Shape::first_row();
#pragma unroll
        for (int r = 0; r < Shape::rows; ++r) {
            result[line + r] =
                adds ? fma(alpha, sums[r], beta * addend[line + r]) : alpha * sums[r];
        }
        __syncwarp();
        start();
        store_run<lines>(result, y + Offset(first) * n, here * n);
        matrices.advance();
        factors.advance();
        addends.advance();
        ring.advance();
        __syncwarp();
    }
}

/// One product with each matrix by the kernel made for their size; false where there is none.
template <class T>
bool multiply_runs(const Context& context, T alpha, const BatchView<const T>& a,
                   const VectorsView<const T>& x, T beta, const VectorsView<T>& y) {
    const auto is_run = [&](const auto& v) {
        return v.vectors == 1 && v.offsets == nullptr && v.starts == nullptr &&
               v.stride == a.size && reinterpret_cast<std::uintptr_t>(v.values) % 16 == 0;
    };
    if (!is_ring_batch(a) || !is_run(x) || !is_run(y)) return false;
    const cudaStream_t stream = stream_of(context);
    return with_ring_size(a.size, [&](auto size) {
        constexpr int n = decltype(size)::value;
        using Shape = RingShape<T, n, 2>;
        constexpr int most_bytes = Shape::warps * Shape::stages * Shape::place_bytes;
        constexpr int vector_bytes =
            Shape::warps * Shape::stages * TileRun<T, n, Shape::matrices>::place_bytes;
        const auto kernel = multiply_ring_kernel<T, Shape>;
        static FillingBlocks filling[2];
        const bool adds = beta != T(0);
        const unsigned blocks = blocks_for(a.count, Shape::warps * Shape::matrices);
        const int bytes = most_bytes - (adds ? 0 : vector_bytes);
        const unsigned most = filling[adds](context.device(), kernel, Shape::threads, bytes);
        launch_dependent(kernel, std::min(blocks, most), Shape::threads, bytes, stream, a.values,
                         a.count, alpha, x.values, beta, static_cast<T*>(y.values));
    });
}

}  // namespace tessera::batched::cuda
