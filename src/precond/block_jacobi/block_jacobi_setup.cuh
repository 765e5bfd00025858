#pragma once

#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "gpu/tiles/inverted_blocks.cuh"
#include "gpu/tiles/tile_sizes.cuh"
#include "precond/block_jacobi/kernels.hpp"

/// Kernels of the block-Jacobi setup; instantiated for one type per source file.
namespace tessera::cuda {

namespace {

constexpr int setup_warps = 4;  ///< A thread block.

/// How blocks of up to `Tile` rows are spread: lanes a block, rows a lane, and the thread blocks a
/// multiprocessor that the registers are limited for (more spills, fewer hides less latency).
template <class T, int Tile>
struct Spread {
    static constexpr int lanes = Tile == 12 ? 8 : Tile <= 16 ? Tile : Tile <= 24 ? 8 : 16;
    static constexpr int rows = (Tile + lanes - 1) / lanes;
    static constexpr int thread_blocks = Tile <= 8 ? 8 : Tile == 12 ? 6 : Tile <= 16 ? 8 : 4;
};
template <int Tile>
struct Spread<double, Tile> {
    static constexpr int lanes = Tile == 12 ? 16 : Tile <= 16 ? Tile : Tile <= 24 ? 8 : 32;
    static constexpr int rows = (Tile + lanes - 1) / lanes;
    static constexpr int thread_blocks = Tile <= 12   ? 8
                                         : Tile == 16 ? 7
                                         : Tile == 20 ? 3
                                         : Tile == 24 ? 2
                                                      : 4;
};

/// How the kernels of the papers are spread: a warp a block (shared_full, shared), or as above.
template <class T, int Tile, BlockExtraction extraction>
struct Shape {
    static constexpr bool warp_a_block =
        extraction == BlockExtraction::shared_full || extraction == BlockExtraction::shared;
    static constexpr int lanes = warp_a_block ? 32 : Spread<T, Tile>::lanes;
    static constexpr int rows = warp_a_block ? 1 : Spread<T, Tile>::rows;
    static constexpr int thread_blocks = !warp_a_block    ? Spread<T, Tile>::thread_blocks
                                         : sizeof(T) == 4 ? 6
                                         : Tile <= 16     ? 6
                                                          : 4;
    using Warp = WarpBlocks<T, Tile, lanes>;
};

/// One row of the matrix, swept by a warp from its start to the last column of the block; the
/// entries in the columns of the block go to row[column - first].
template <class T>
__device__ __forceinline__ void sweep_row(const CsrView<T>& matrix, Index row, Index first, int n,
                                          T* values) {
    const Offset end = __ldg(matrix.row_offsets + row + 1);
    Offset x = __ldg(matrix.row_offsets + row) + threadIdx.x % 32;
    for (bool more = true; more; x += 32) {
        const Index c = load_if(x < end, matrix.column_indices + x, first + n) - first;
        if (c >= 0 && c < n) values[c] = __ldg(matrix.values + x);
        more = __all_sync(full_warp, c < n);
    }
}

/// Fills the block area as extract_blocks does; each of the papers' ways to read.
template <BlockExtraction extraction, class T, int Tile, int Lanes>
__device__ __forceinline__ void extract_as(const CsrView<T>& matrix, Index start,
                                           const WarpBlocks<T, Tile, Lanes>& shared) {
    using Warp = WarpBlocks<T, Tile, Lanes>;
    const int warp_lane = int(threadIdx.x) % 32;
    const int group = warp_lane / Lanes;
    const Index first = __shfl_sync(full_warp, start, group);
    const int n = __shfl_sync(full_warp, start, group + 1) - first;
    if constexpr (extraction == BlockExtraction::shared_multiple) {
        extract_blocks(matrix, start, shared);
    } else if constexpr (extraction == BlockExtraction::cached) {
        shared.clear();
        __syncwarp();
        for (int i = warp_lane % Lanes; i < n; i += Lanes) {
            T* const row = shared.value + group * Warp::block_values + i * Warp::stride;
            const Offset end = __ldg(matrix.row_offsets + first + i + 1);
            for (Offset x = __ldg(matrix.row_offsets + first + i); x < end; ++x) {
                const Index c = __ldg(matrix.column_indices + x) - first;
                if (c >= n) break;
                if (c >= 0) row[c] = __ldg(matrix.values + x);
            }
        }
    } else if constexpr (extraction == BlockExtraction::shared_full) {
        shared.clear();
        __syncwarp();
        for (int i = 0; i < n; ++i) {
            sweep_row(matrix, first + i, first, n, shared.value + i * Warp::stride);
        }
    } else {
        // Row by row through one shared row into registers; the area behind takes them at the end.
        T* const row = reinterpret_cast<T*>(shared.row);
        T a[Tile];
#pragma unroll
        for (int i = 0; i < Tile; ++i) {
            a[i] = T(0);
            if (i >= n) continue;
            if (warp_lane < Tile) row[warp_lane] = T(0);
            __syncwarp();
            sweep_row(matrix, first + i, first, n, row);
            __syncwarp();
            if (warp_lane < Tile) a[i] = row[warp_lane];
            __syncwarp();
        }
#pragma unroll
        for (int i = 0; i < Tile; ++i) {
            if (warp_lane < Tile) shared.value[i * Warp::stride + warp_lane] = a[i];
        }
    }
    __syncwarp();
}

/// Extracts, inverts and stores 32 / lanes blocks a warp.
template <class T, int Tile, BlockExtraction extraction>
__global__ void __launch_bounds__(32 * setup_warps, Shape<T, Tile, extraction>::thread_blocks)
    setup_kernel(CsrView<T> matrix, PackedBlocks<T> blocks, T* inverses, Index* info,
                 T* reciprocal_condition, T* largest) {
    using Form = Shape<T, Tile, extraction>;
    using Warp = typename Form::Warp;
    constexpr int lanes = Form::lanes;
    extern __shared__ __align__(16) unsigned char setup_memory[];
    const Warp shared(setup_memory + threadIdx.x / 32 * Warp::bytes);
    const int warp_lane = int(threadIdx.x) % 32;
    const int group = warp_lane / lanes;
    const Offset warp = Offset(blockIdx.x) * setup_warps + threadIdx.x / 32;
    const Offset first_block = warp * Warp::blocks;
    if (first_block >= blocks.count) return;
    const int here = int(min(Offset(Warp::blocks), blocks.count - first_block));

    const Index start = blocks.block_offsets[first_block + min(warp_lane, here)];
    extract_as<extraction>(matrix, start, shared);
    T a[Form::rows][Tile];
    take_blocks(shared, a);
    const BlockFacts<T> block = examine_blocks(shared, a);
    const int n = __shfl_sync(full_warp, start, group + 1) - __shfl_sync(full_warp, start, group);
    int failure = invert_blocks(shared, a, n, lanes_max(n));
    T* const out = inverses + blocks.entry_offsets[first_block + min(group, here)];
    const InverseFacts<T> inverse =
        store_inverses(shared, n, block.symmetric, largest != nullptr, out);
    if (failure == 0 && !inverse.finite) failure = n;
    if (warp_lane % lanes == 0 && group < here) {
        info[first_block + group] = failure;
        reciprocal_condition[first_block + group] =
            failure == 0 ? T(1) / block.norm / inverse.norm : T(0);
        if (largest != nullptr) {
            largest[first_block + group] = failure == 0 ? inverse.largest : T(0);
        }
    }
}

template <class T, int Tile, BlockExtraction extraction>
void launch_setup(const Context& context, const SetupJob<T>& job) {
    using Warp = typename Shape<T, Tile, extraction>::Warp;
    constexpr int bytes = setup_warps * Warp::bytes;
    const auto kernel = setup_kernel<T, Tile, extraction>;
    const cudaStream_t stream = stream_of(context);
    TESSERA_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    const unsigned grid = blocks_for(job.blocks.count, setup_warps * Warp::blocks);
    kernel<<<grid, 32 * setup_warps, bytes, stream>>>(
        job.matrix, job.blocks, job.inverses, job.info, job.reciprocal_condition, job.largest);
    TESSERA_CUDA(cudaGetLastError());
}

}  // namespace

}  // namespace tessera::cuda
