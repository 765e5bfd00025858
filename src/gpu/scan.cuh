#pragma once

#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "gpu/tuning/primitives_h200.hpp"
#include "gpu/warp.cuh"

/// Exclusive prefix sums of any length in 64 bits. Sums are integers, so the result is exact and
/// the same on every run.
namespace tessera::cuda {

inline constexpr int scan_tile = scan_threads * scan_items;

/// Exclusive scan of one value per thread over a thread block of whole warps, at most 1024 threads;
/// `total` receives the sum. `shared` has 33 values; reusable after the next barrier.
__device__ inline Offset block_exclusive_scan(Offset value, Offset* shared, Offset& total) {
    const int lane = int(threadIdx.x) % 32;
    const int warp = int(threadIdx.x) / 32;
    const int warps = int(blockDim.x) / 32;
    const Offset inclusive = warp_inclusive_scan(value);
    if (lane == 31) shared[warp] = inclusive;
    __syncthreads();
    if (warp == 0) {
        const Offset sum = lane < warps ? shared[lane] : 0;
        const Offset scanned = warp_inclusive_scan(sum);
        if (lane < warps) shared[lane] = scanned - sum;
        if (lane == 31) shared[32] = scanned;
    }
    __syncthreads();
    total = shared[32];
    return shared[warp] + inclusive - value;
}

/// Reduce-then-scan, first pass: the sum of each tile; one tile per thread block.
template <class Values>
__global__ void __launch_bounds__(scan_threads)
    scan_tile_sums_kernel(Offset count, Values values, Offset* tile_sums) {
    __shared__ Offset shared[33];
    const Offset first = Offset(blockIdx.x) * scan_tile;
    Offset sum = 0;
#pragma unroll
    for (int k = 0; k < scan_items; ++k) {
        const Offset i = first + k * scan_threads + threadIdx.x;
        if (i < count) sum += values(i);
    }
    Offset total = 0;
    block_exclusive_scan(sum, shared, total);
    if (threadIdx.x == 0) tile_sums[blockIdx.x] = total;
}

/// Reduce-then-scan, second pass: exclusive scan of the tile sums in place; one thread block.
static __global__ void __launch_bounds__(scan_sums_threads)
    scan_sums_kernel(Offset tiles, Offset* tile_sums) {
    __shared__ Offset shared[33];
    Offset before = 0;
    for (Offset start = 0; start < tiles; start += scan_sums_threads) {
        const Offset i = start + threadIdx.x;
        const Offset value = i < tiles ? tile_sums[i] : 0;
        Offset total = 0;
        const Offset scanned = block_exclusive_scan(value, shared, total);
        if (i < tiles) tile_sums[i] = before + scanned;
        before += total;
        __syncthreads();
    }
}

/// Reduce-then-scan, last pass: exclusive scan of each tile from its start; one tile per thread
/// block, scan_items consecutive items per thread.
template <class Values>
__global__ void __launch_bounds__(scan_threads)
    scan_write_kernel(Offset count, Values values, const Offset* tile_starts, Offset* sums) {
    __shared__ Offset shared[33];
    const Offset first = Offset(blockIdx.x) * scan_tile + Offset(threadIdx.x) * scan_items;
    Offset mine[scan_items];
    Offset sum = 0;
#pragma unroll
    for (int k = 0; k < scan_items; ++k) {
        mine[k] = first + k < count ? values(first + k) : 0;
        sum += mine[k];
    }
    Offset total = 0;
    Offset running = tile_starts[blockIdx.x] + block_exclusive_scan(sum, shared, total);
#pragma unroll
    for (int k = 0; k < scan_items; ++k) {
        if (first + k <= count) sums[first + k] = running;
        running += mine[k];
    }
}

/// sums[i] = values(0) + ... + values(i-1) for i = 0..count: count + 1 sums, the last the total.
/// Reduce-then-scan in three kernels. `values` is a device functor. Asynchronous.
template <class Values>
void exclusive_scan(const Context& context, Offset count, Values values, Offset* sums) {
    const cudaStream_t stream = stream_of(context);
    const unsigned tiles = blocks_for(count + 1, scan_tile);
    Buffer<Offset> tile_sums(context, tiles);
    scan_tile_sums_kernel<<<tiles, scan_threads, 0, stream>>>(count, values, tile_sums.data());
    TESSERA_CUDA(cudaGetLastError());
    scan_sums_kernel<<<1, scan_sums_threads, 0, stream>>>(tiles, tile_sums.data());
    TESSERA_CUDA(cudaGetLastError());
    scan_write_kernel<<<tiles, scan_threads, 0, stream>>>(count, values, tile_sums.data(), sums);
    TESSERA_CUDA(cudaGetLastError());
}

}  // namespace tessera::cuda
