#pragma once

#include <cmath>
#include <limits>

#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "gpu/tiles/diagonal_blocks.cuh"
#include "gpu/tiles/tile_sizes.cuh"
#include "precond/block_jacobi/kernels.hpp"

/// Kernels of the block-Jacobi setup; instantiated for one type per source file.
namespace tessera::cuda {

namespace {

constexpr int setup_warps = 4;  ///< A thread block.

/// How blocks of up to `Tile` rows are spread: lanes a block, rows a lane, and the thread blocks a
/// multiprocessor that the registers are limited for (more spills, fewer hides less latency).
template <int Tile>
struct Spread;
template <>
struct Spread<4> {
    static constexpr int lanes = 4, rows = 1, f64 = 8, f32 = 8;
};
template <>
struct Spread<8> {
    static constexpr int lanes = 8, rows = 1, f64 = 6, f32 = 8;
};
template <>
struct Spread<12> {
    static constexpr int lanes = 4, rows = 3, f64 = 4, f32 = 6;
};
template <>
struct Spread<16> {
    static constexpr int lanes = 8, rows = 2, f64 = 4, f32 = 7;
};
template <>
struct Spread<20> {
    static constexpr int lanes = 8, rows = 3, f64 = 3, f32 = 4;
};
template <>
struct Spread<24> {
    static constexpr int lanes = 8, rows = 3, f64 = 2, f32 = 4;
};
template <>
struct Spread<28> {
    static constexpr int lanes = 16, rows = 2, f64 = 3, f32 = 4;
};
template <>
struct Spread<32> {
    static constexpr int lanes = 16, rows = 2, f64 = 3, f32 = 4;
};
template <class T, int Tile>
constexpr int thread_blocks = sizeof(T) == 8 ? Spread<Tile>::f64 : Spread<Tile>::f32;

/// Whether all registers of the group are finite.
template <int Lanes, class T, int Rows, int Tile>
__device__ __forceinline__ bool all_finite(const T (&a)[Rows][Tile]) {
    T check = T(0);
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
#pragma unroll
        for (int j = 0; j < Tile; ++j) check = fma(a[i][j], T(0), check);
    }
    return !any_of_lanes<Lanes>(!(check == T(0)));
}

/// Extracts, inverts and stores 32 / lanes blocks a warp.
template <class T, int Tile>
__global__ void __launch_bounds__(32 * setup_warps, thread_blocks<T, Tile>)
    setup_kernel(CsrView<T> matrix, PackedBlocks<T> blocks, SingularPolicy policy, T* inverses,
                 Index* info, std::int8_t* shifts) {
    constexpr int lanes = Spread<Tile>::lanes;
    constexpr int rows = Spread<Tile>::rows;
    using Warp = WarpBlocks<T, Tile, lanes>;
    extern __shared__ __align__(16) unsigned char setup_memory[];
    const Warp shared(setup_memory + threadIdx.x / 32 * Warp::bytes);
    const int warp_lane = int(threadIdx.x) % 32;
    const int group = warp_lane / lanes;
    const int lane = warp_lane % lanes;
    const Offset warp = Offset(blockIdx.x) * setup_warps + threadIdx.x / 32;
    const Offset first_block = warp * Warp::blocks;
    if (first_block >= blocks.count) return;
    const int here = int(min(Offset(Warp::blocks), blocks.count - first_block));

    const Index start = blocks.block_offsets[first_block + min(warp_lane, here)];
    extract_blocks(matrix, start, shared);
    T a[rows][Tile];
    take_transposed(shared, a);

    const int n = __shfl_sync(full_warp, start, group + 1) - __shfl_sync(full_warp, start, group);
    const int steps = lanes_max(n);
    const bool finite = all_finite<lanes>(a);
    const int failure = invert_blocks(shared, a, n, steps);

    const Offset* entry_offsets = blocks.entry_offsets + first_block;
    const Offset begin = entry_offsets[0];
    const bool identity = policy == SingularPolicy::identity && finite;
    const T nan = std::numeric_limits<T>::quiet_NaN();
    store_inverses(shared, a, n, steps, failure, identity ? T(0) : nan, identity ? T(1) : nan,
                   int(entry_offsets[min(group, here)] - begin), int(entry_offsets[here] - begin),
                   inverses + begin);
    if (lane == 0 && group < here) {
        info[first_block + group] = failure;
        shifts[first_block + group] = -1;
    }
}

/// The largest row sum of |B| of the extracted block of n rows; 1 for a zero block.
template <class T>
__device__ T block_norm(const WarpBlocks<T, 32, 32>& shared, int n) {
    const int row = int(threadIdx.x) % 32;
    T sum = T(0);
    for (int j = 0; j < n; ++j) sum += fabs(shared.value[row * 32 + j]);
    const T norm = lanes_max(sum);
    return norm == T(0) ? T(1) : norm;
}

/// Replaces the inverse of a finite block by that of B + 2^k root_epsilon ||B||_inf I with the
/// smallest k in 0..60 that has one; by one warp.
template <class T>
__device__ __forceinline__ void invert_shifted(const CsrView<T>& matrix,
                                               const PackedBlocks<T>& blocks, T root_epsilon,
                                               Offset block, const WarpBlocks<T, 32, 32>& shared,
                                               T* inverses, std::int8_t* shifts) {
    const int lane = int(threadIdx.x) % 32;
    const Index start = blocks.block_offsets[block + min(lane, 1)];
    const int n = __shfl_sync(full_warp, start, 1) - __shfl_sync(full_warp, start, 0);
    extract_blocks(matrix, start, shared);
    T a[1][32];
    take_transposed(shared, a);
    if (!all_finite<32>(a)) return;
    const T norm = block_norm(shared, n);
    for (int k = 0; k <= 60; ++k) {
        take_transposed(shared, a);
        const T shift = ldexp(root_epsilon, k) * norm;
#pragma unroll
        for (int j = 0; j < 32; ++j) a[0][j] = j == lane && j < n ? a[0][j] + shift : a[0][j];
        if (invert_blocks(shared, a, n, n) != 0) continue;
        store_inverses(shared, a, n, n, 0, T(0), T(0), 0, n * n,
                       inverses + blocks.entry_offsets[block]);
        if (lane == 0) shifts[block] = std::int8_t(k);
        break;
    }
}

/// Looks at 32 blocks a warp and inverts the singular ones with a shift, one after the other.
template <class T>
__global__ void __launch_bounds__(32 * setup_warps)
    shift_kernel(CsrView<T> matrix, PackedBlocks<T> blocks, T root_epsilon, T* inverses,
                 const Index* info, std::int8_t* shifts) {
    using Warp = WarpBlocks<T, 32, 32>;
    extern __shared__ __align__(16) unsigned char setup_memory[];
    const Warp shared(setup_memory + threadIdx.x / 32 * Warp::bytes);
    const Offset warp = Offset(blockIdx.x) * setup_warps + threadIdx.x / 32;
    const Offset block = warp * 32 + threadIdx.x % 32;
    unsigned singular = __ballot_sync(full_warp, block < blocks.count && info[block] != 0);
    while (singular != 0) {
        const int next = __ffs(int(singular)) - 1;
        singular &= singular - 1;
        invert_shifted(matrix, blocks, root_epsilon, warp * 32 + next, shared, inverses, shifts);
        __syncwarp();  // The next block takes the same shared memory.
    }
}

}  // namespace

template <class T>
void setup(const Context& context, const CsrView<T>& matrix, const PackedBlocks<T>& blocks,
           SingularPolicy policy, T* inverses, Index* info, std::int8_t* shifts) {
    if (blocks.count == 0) return;
    const cudaStream_t stream = stream_of(context);
    with_tile<4>(blocks.largest, [&](auto tile) {
        constexpr int width = decltype(tile)::value;
        using Warp = WarpBlocks<T, width, Spread<width>::lanes>;
        constexpr int bytes = setup_warps * Warp::bytes;
        const auto kernel = setup_kernel<T, width>;
        TESSERA_CUDA(
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
        const unsigned grid = blocks_for(blocks.count, setup_warps * Warp::blocks);
        kernel<<<grid, 32 * setup_warps, bytes, stream>>>(matrix, blocks, policy, inverses, info,
                                                          shifts);
        TESSERA_CUDA(cudaGetLastError());
    });
    if (policy != SingularPolicy::shift) return;
    const T root_epsilon = std::sqrt(std::numeric_limits<T>::epsilon());
    shift_kernel<T><<<blocks_for(blocks.count, 32 * setup_warps), 32 * setup_warps,
                      setup_warps * WarpBlocks<T, 32, 32>::bytes, stream>>>(
        matrix, blocks, root_epsilon, inverses, info, shifts);
    TESSERA_CUDA(cudaGetLastError());
}

}  // namespace tessera::cuda
