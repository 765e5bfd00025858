#include <stdexcept>

#include "peers/spmv_peers.hpp"

/// The product kernels of the SBELL paper, and one for BCSR in its style: FP32 or FP64 values,
/// block columns of 32 bits, y = A x.
namespace tessera::bench {

namespace {

constexpr int block_threads = 256;

/// Columns past the matrix, whose values are zero, read the last element of x.
__device__ Index column_of(const SlicedPattern& a, Offset slot, int block, int c) {
    return min(a.block_columns[slot] * block + c, a.columns - 1);
}

template <int B, class T>
__device__ void store(const SlicedPattern& a, Offset p, const T (&sums)[B], T* y) {
    const Offset first = a.block_row(p) * B;
    for (int r = 0; r < B; ++r) {
        if (first + r < a.rows) y[first + r] = sums[r];
    }
}

/// Sliced product by Algorithm 4 of the paper, with blocks of one row by algorithm 3, with one
/// slice and one thread per row by algorithm 2: `a_slice` threads process the block rows of a
/// slice, each all of its columns, pads included.
template <int B, class T>
__global__ void __launch_bounds__(block_threads)
    slices_kernel(SlicedPattern a, const T* values, Offset a_slice, const T* x, T* y) {
    const Offset thread = Offset(blockIdx.x) * block_threads + threadIdx.x;
    const Offset height = a.slice_height;
    const Offset sets = Offset(gridDim.x) * block_threads / a_slice;
    if (thread >= sets * a_slice) return;
    for (Offset slice = thread / a_slice; slice < a.slices; slice += sets) {
        const Offset start = a.slice_offsets[slice];
        const Index width = Index((a.slice_offsets[slice + 1] - start) / height);
        for (Offset lane = thread % a_slice; lane < height; lane += a_slice) {
            T sums[B] = {};
#pragma unroll 2
            for (Index k = 0; k < width; ++k) {
                T block_x[B];
#pragma unroll
                for (int c = 0; c < B; ++c) {
                    block_x[c] = __ldg(x + column_of(a, start + k * height + lane, B, c));
                }
                const T* const block = values + (start + k * height) * (B * B) + lane;
#pragma unroll
                for (int e = 0; e < B * B; ++e) {
                    sums[e / B] = fma(block[e * height], block_x[e % B], sums[e / B]);
                }
            }
            store(a, slice * height + lane, sums, y);
        }
    }
}

/// BCSR product: `lanes` threads process the scalar columns of a block row in turn, and add up in a
/// tree.
template <int B, class T>
__global__ void __launch_bounds__(block_threads)
    bcsr_kernel(SlicedPattern a, const T* values, int lanes, const T* x, T* y) {
    const Offset p = (Offset(blockIdx.x) * block_threads + threadIdx.x) / lanes;
    const int lane = int(threadIdx.x) % lanes;
    const bool active = p < a.block_rows();
    const Offset start = active ? a.slice_offsets[p] : 0;
    const Offset end = active ? a.slice_offsets[p + 1] : 0;
    T sums[B] = {};
#pragma unroll 2
    for (Offset j = start * B + lane; j < end * B; j += lanes) {
        const Offset slot = j / B;
        const int c = int(j - slot * B);
        const T x_c = __ldg(x + column_of(a, slot, B, c));
#pragma unroll
        for (int r = 0; r < B; ++r) {
            sums[r] = fma(__ldcs(values + slot * (B * B) + r * B + c), x_c, sums[r]);
        }
    }
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
#pragma unroll
        for (int r = 0; r < B; ++r) sums[r] += __shfl_xor_sync(~0u, sums[r], distance);
    }
    if (active && lane == 0) store(a, p, sums, y);
}

unsigned blocks_for(Offset threads) {
    return unsigned((threads + block_threads - 1) / block_threads);
}

template <int B, class T>
void launch(const Context& context, const SlicedMatrix<T>& matrix, int threads, const T* x, T* y) {
    const SlicedPattern a = matrix.view().pattern;
    const auto* const values = static_cast<const T*>(matrix.view().values);
    const auto stream = static_cast<cudaStream_t>(context.stream());
    if (a.slice_height == 1) {
        const double mean = double(matrix.statistics().blocks) / double(a.block_rows());
        int lanes = 1;
        while (lanes < 32 && 2 * lanes < mean * B) lanes *= 2;
        bcsr_kernel<B><<<blocks_for(Offset(a.block_rows()) * lanes), block_threads, 0, stream>>>(
            a, values, lanes, x, y);
    } else {
        const Offset a_slice = threads > 0 ? threads : (a.slice_height + 31) / 32 * Offset(32);
        slices_kernel<B><<<blocks_for(a.slices * a_slice), block_threads, 0, stream>>>(
            a, values, a_slice, x, y);
    }
    if (cudaGetLastError() != cudaSuccess) throw std::runtime_error("paper_product: launch failed");
}

}  // namespace

template <class T>
void paper_product(const Context& context, const SlicedMatrix<T>& matrix, int threads, const T* x,
                   T* y) {
    switch (matrix.statistics().block) {
        case 1:
            return launch<1>(context, matrix, threads, x, y);
        case 2:
            return launch<2>(context, matrix, threads, x, y);
        case 3:
            return launch<3>(context, matrix, threads, x, y);
        case 4:
            return launch<4>(context, matrix, threads, x, y);
        default:
            return launch<6>(context, matrix, threads, x, y);
    }
}

template void paper_product<float>(const Context&, const SlicedMatrix<float>&, int, const float*,
                                   float*);
template void paper_product<double>(const Context&, const SlicedMatrix<double>&, int, const double*,
                                    double*);

}  // namespace tessera::bench
