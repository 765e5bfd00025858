#include <algorithm>

#include "base/check_cuda.hpp"
#include "base/context_state.hpp"
#include "base/for_each.hpp"
#include "base/scratch/scratch.hpp"
#include "gpu/launch.cuh"
#include "gpu/warp.cuh"
#include "krylov/row_scan.hpp"

namespace tessera::cuda {

namespace {

constexpr int scan_threads = 128;
constexpr int lanes_per_row = 8;
constexpr Offset max_scan_blocks = 4096;  ///< Several for each multiprocessor.

/// Sums over the lanes of a row, in all of them.
__device__ RowSums summed_by_lanes(RowSums row) {
#pragma unroll
    for (int distance = lanes_per_row / 2; distance > 0; distance /= 2) {
        const auto other = [&](double value) {
            return __shfl_xor_sync(full_warp, value, distance);
        };
        row.largest = fmax(row.largest, other(row.largest));
        row.diagonal += other(row.diagonal);  // One lane has it.
        row.others += other(row.others);
        row.sum += other(row.sum);
    }
    return row;
}

/// A few lanes for each row. Numbers are raised in memory once all rows of a thread were seen:
/// atomics for each row would take longer than the row.
template <class T>
__global__ void __launch_bounds__(scan_threads)
    scan_rows_kernel(const __grid_constant__ CsrView<T> a, RowScan* scan) {
    const int lane = int(threadIdx.x) % lanes_per_row;
    const Offset groups = Offset(gridDim.x) * scan_threads / lanes_per_row;
    RowScan mine;
    for (Offset first = Offset(blockIdx.x) * scan_threads / lanes_per_row; first < a.rows;
         first += groups) {
        const Offset i = first + threadIdx.x / lanes_per_row;
        RowSums part;
        if (i < a.rows) part = summed(a, Index(i), lane, lanes_per_row);
        const RowSums row = summed_by_lanes(part);
        if (i < a.rows && lane == 0) mine.note(a, Index(i), row);
    }
    if (lane == 0) {
        scan->join(mine, [](Offset& number, Offset value) { raise_to(&number, value); });
    }
}

}  // namespace

template <class T>
RowScan scan_rows(const Context& context, const CsrView<T>& matrix) {
    const Scratch<RowScan> scan(context, 1);
    context.state().fill_bytes(scan.data(), 0, Offset(sizeof(RowScan)));
    const auto blocks =
        std::min<Offset>(max_scan_blocks, blocks_for(matrix.rows, scan_threads / lanes_per_row));
    scan_rows_kernel<<<unsigned(blocks), scan_threads, 0, stream_of(context)>>>(matrix,
                                                                                scan.data());
    TESSERA_CUDA(cudaGetLastError());
    RowScan result;
    copy_to_host(context, std::span<const RowScan>(scan.view()), std::span<RowScan>(&result, 1));
    return result;
}

template RowScan scan_rows(const Context&, const CsrView<float>&);
template RowScan scan_rows(const Context&, const CsrView<double>&);

}  // namespace tessera::cuda
