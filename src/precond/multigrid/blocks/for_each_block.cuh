#pragma once

#include "gpu/launch.cuh"
#include "gpu/warp.cuh"
#include "precond/multigrid/blocks/for_each_block.hpp"

namespace tessera::cuda {

inline constexpr int block_loop_threads = 64;

/// Rows with `lanes` threads each, which read that many blocks at a time, one number after the
/// other, into shared memory: threads that each read a block of their own take twice as long. Few
/// long rows are shared by the thread blocks of a column of the grid.
template <class Value, class F>
__global__ void __launch_bounds__(block_loop_threads)
    for_each_block_kernel(const __grid_constant__ BsrView<double> matrix, Value* values, int lanes,
                          unsigned inverse_of_size, const __grid_constant__ F f) {
    extern __shared__ double all_blocks[];
    const int size = matrix.block_size(), stride = size | 1, lane = int(threadIdx.x) % lanes;
    const unsigned group = (~0u >> (32 - lanes)) << (threadIdx.x % 32 / lanes * lanes);
    const Offset i = (Offset(blockIdx.x) * block_loop_threads + threadIdx.x) / lanes;
    if (i >= matrix.block_rows) return;
    double* const blocks = all_blocks + (int(threadIdx.x) - lane) * stride;
    const Offset end = matrix.row_offsets[i + 1];
    for (Offset begin = matrix.row_offsets[i] + lanes * Offset(blockIdx.y); begin < end;
         begin += lanes * Offset(gridDim.y)) {
        const int count = int(min(Offset(lanes), end - begin));
        // Where number e of these blocks is held: stride - size numbers are left out after each.
        const auto place = [&](int e) {
            return e + quotient_of(e, inverse_of_size) * (stride - size);
        };
        for (int e = lane; e < count * size; e += lanes) {
            blocks[place(e)] = values[begin * size + e];
        }
        __syncwarp(group);
        if (lane < count) {
            const Offset k = begin + lane;
            f(k, Index(i), matrix.column_indices[k], blocks + lane * stride);
        }
        __syncwarp(group);
        if constexpr (!std::is_const_v<Value>) {
            for (int e = lane; e < count * size; e += lanes) {
                values[begin * size + e] = blocks[place(e)];
            }
            __syncwarp(group);
        }
    }
}

template <class Value, class F>
void for_each_block(const Context& context, const BsrView<double>& matrix, Value* values,
                    const F& f) {
    if (matrix.blocks == 0) return;
    int lanes = 8;
    while (lanes < 32 && matrix.blocks > lanes * Offset(matrix.block_rows)) lanes *= 2;
    const Offset pieces = matrix.blocks / (lanes * Offset(matrix.block_rows)),
                 threads_to_fill_gpu = 1 << 17,
                 wanted = threads_to_fill_gpu / (lanes * Offset(matrix.block_rows));
    const std::size_t memory =
        block_loop_threads * std::size_t(matrix.block_size() | 1) * sizeof(double);
    const dim3 grid(blocks_for(matrix.block_rows, block_loop_threads / lanes),
                    unsigned(std::max(Offset(1), std::min(pieces, wanted))));
    for_each_block_kernel<<<grid, block_loop_threads, memory, stream_of(context)>>>(
        matrix, values, lanes, inverse_of(matrix.block_size()), f);
    TESSERA_CUDA(cudaGetLastError());
}

}  // namespace tessera::cuda
