#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "gpu/load.cuh"
#include "gpu/warp.cuh"
#include "precond/block_jacobi/kernels.hpp"

namespace tessera::cuda {

namespace {

constexpr int apply_threads = 256;

/// Columns of an n x n block that `Lanes` lanes read at once are at most this many: the largest
/// min(Lanes / n, n).
template <int Lanes>
constexpr int most_columns = Lanes == 32   ? 5
                             : Lanes == 16 ? 4
                                           : 2;

/// What a lane does for one block: it works on one row and on the columns column, column + columns,
/// ... of the block.
template <class T>
struct BlockShare {
    const T* values;  ///< Entry (its row, column) of X.
    const T* r;       ///< Entry `column` of r.
    Index first_row;
    int n;        ///< Rows of the block, 0 behind the last block.
    int columns;  ///< Columns that the lanes of the block read at once.
    int column;   ///< Next column; n or more where nothing is left.
};

/// The lanes of a block read `columns` whole columns at once, that is columns * n consecutive
/// values.
template <int Lanes, class T>
__device__ __forceinline__ BlockShare<T> share_block(const PackedBlocks<T>& blocks, Offset block,
                                                     int lane, const T* inverses, const T* r) {
    if (block >= blocks.count) return {inverses, r, 0, 0, 1, 0};
    const Index first_row = __ldg(blocks.block_offsets + block);
    const int n = __ldg(blocks.block_offsets + block + 1) - first_row;
    // Quotients of numbers below 33: the half keeps the exact one at least 1/64 off an integer.
    const float inverse_n = 1.0f / float(n);
    const int columns = min(int((float(Lanes) + 0.5f) * inverse_n), n);
    const int column = int((float(lane) + 0.5f) * inverse_n);
    const T* values = inverses + __ldg(blocks.entry_offsets + block) + lane;
    return {values, r + first_row + column, first_row, n, columns, column < columns ? column : n};
}

/// z_b = X_b r_b: `Lanes` lanes a block, `Together` blocks a lane in turn, whose reads are all
/// under way at once, `Depth` of each. Every sum runs over ascending columns in steps of `columns`,
/// then over the lanes in ascending order.
template <class T, int Lanes, int Together, int Depth>
__global__ void __launch_bounds__(apply_threads)
    apply_kernel(PackedBlocks<T> blocks, const T* __restrict__ inverses, const T* __restrict__ r,
                 T* __restrict__ z) {
    constexpr int groups = apply_threads / Lanes;
    const int lane = int(threadIdx.x) % Lanes;
    const Offset first = Offset(blockIdx.x) * (groups * Together) + threadIdx.x / Lanes;
    BlockShare<T> share[Together];
    T sum[Together];
    bool more = false;
#pragma unroll
    for (int q = 0; q < Together; ++q) {
        share[q] = share_block<Lanes>(blocks, first + q * groups, lane, inverses, r);
        sum[q] = T(0);
        more = more || share[q].column < share[q].n;
    }
    while (more) {
        T value[Together][Depth];
        T factor[Together][Depth];
#pragma unroll
        for (int q = 0; q < Together; ++q) {
#pragma unroll
            for (int u = 0; u < Depth; ++u) {
                const int offset = u * share[q].columns;
                const bool inside = share[q].column + offset < share[q].n;
                value[q][u] = load_if(inside, share[q].values + offset * share[q].n, T(0));
                factor[q][u] = load_if(inside, share[q].r + offset, T(0));
            }
        }
        more = false;
#pragma unroll
        for (int q = 0; q < Together; ++q) {
#pragma unroll
            for (int u = 0; u < Depth; ++u) sum[q] = fma(value[q][u], factor[q][u], sum[q]);
            const int offset = Depth * share[q].columns;
            share[q].values += offset * share[q].n;
            share[q].r += offset;
            share[q].column += offset;
            more = more || share[q].column < share[q].n;
        }
    }
    __syncwarp();
#pragma unroll
    for (int q = 0; q < Together; ++q) {
        T total = sum[q];
#pragma unroll
        for (int c = 1; c < most_columns<Lanes>; ++c) {
            const T other = __shfl_sync(full_warp, sum[q], (lane + c * share[q].n) % Lanes, Lanes);
            if (c < share[q].columns) total += other;
        }
        if (lane < share[q].n) z[share[q].first_row + lane] = total;
    }
}

template <class T, int Lanes, int Together, int Depth>
void launch_apply(const Context& context, const PackedBlocks<T>& blocks, const T* inverses,
                  const T* r, T* z) {
    const unsigned grid = blocks_for(blocks.count, apply_threads / Lanes * Together);
    apply_kernel<T, Lanes, Together, Depth>
        <<<grid, apply_threads, 0, stream_of(context)>>>(blocks, inverses, r, z);
    TESSERA_CUDA(cudaGetLastError());
}

}  // namespace

template <class T>
void apply(const Context& context, const PackedBlocks<T>& blocks, const T* inverses, const T* r,
           T* z) {
    if (blocks.count == 0) return;
    if (blocks.largest <= 8) {
        launch_apply<T, 8, 4, 2>(context, blocks, inverses, r, z);
    } else if (blocks.largest <= 16) {
        launch_apply<T, 16, 2, 4>(context, blocks, inverses, r, z);
    } else {
        launch_apply<T, 32, 1, 8>(context, blocks, inverses, r, z);
    }
}

template void apply<float>(const Context&, const PackedBlocks<float>&, const float*, const float*,
                           float*);
template void apply<double>(const Context&, const PackedBlocks<double>&, const double*,
                            const double*, double*);

}  // namespace tessera::cuda
