#include "sparse/solution_errors/row_errors.hpp"

#include <algorithm>

#include "gpu/for_each.cuh"
#include "gpu/warp.cuh"

namespace tessera::cuda {

namespace {

constexpr int measure_threads = 128;
/// Fills a GPU several times. Each warp raises a result once: 800 million numbers take 1.4 ms,
/// where all raise it 8.0 (H200).
constexpr unsigned max_blocks = 8192;

template <class T>
__global__ void __launch_bounds__(measure_threads)
    measure_largest_kernel(Offset count, ElementSize<T> sizes, Offset* largest) {
    begin_dependent();
    Offset mine = 0;
    const Offset step = Offset(gridDim.x) * measure_threads;
    for (Offset i = Offset(blockIdx.x) * measure_threads + threadIdx.x; i < count; i += step) {
        mine = max(mine, sizes(i));
    }
    mine = lanes_max(mine);
    if (threadIdx.x % 32 == 0) raise_to(largest, mine);
}

/// Row i by `lanes` threads of a warp, all of whose threads take part; `reads`: whether these have
/// a row.
template <int lanes, class T>
__device__ void measure_row(const RowErrors<T>& f, Offset i, bool reads, double max_x,
                            Offset& largest) {
    const int lane = int(threadIdx.x) % lanes;
    RowTerms row;
    if (reads) {
        const double start = lane == 0 ? double(f.b[i]) : 0;
        row = compensated_terms(f.a, f.x, i, start, lane, lanes);
    }
    for (int step = lanes / 2; step > 0; step /= 2) {
        row.error += __shfl_down_sync(full_warp, row.error, step, lanes);
        row.terms += __shfl_down_sync(full_warp, row.terms, step, lanes);
        row.size += __shfl_down_sync(full_warp, row.size, step, lanes);
        row.add(__shfl_down_sync(full_warp, row.sum, step, lanes));
    }
    if (reads && lane == 0) largest = max(largest, order_bits(f.set(i, row, max_x)));
}

/// `lanes` threads of a warp share a row, and all 32 of them one that is much longer.
template <int lanes, class T>
__global__ void __launch_bounds__(measure_threads)
    measure_kernel(const __grid_constant__ RowErrors<T> f) {
    begin_dependent();
    constexpr int rows_of_block = measure_threads / lanes;
    const double max_x = std::bit_cast<double>(*f.largest_x);
    Offset largest = 0;
    for (Offset first = Offset(blockIdx.x) * rows_of_block; first < f.a.rows;
         first += Offset(gridDim.x) * rows_of_block) {
        const Offset i = first + int(threadIdx.x) / lanes;
        const bool is_row = i < f.a.rows,
                   is_long = is_row && f.a.row_offsets[i + 1] - f.a.row_offsets[i] > 64 * lanes;
        measure_row<lanes>(f, i, is_row && !is_long, max_x, largest);
        unsigned left = __ballot_sync(full_warp, is_long && int(threadIdx.x) % lanes == 0);
        for (; left != 0; left &= left - 1) {
            const Offset longer = __shfl_sync(full_warp, i, __ffs(int(left)) - 1);
            measure_row<32>(f, longer, true, max_x, largest);
        }
    }
    largest = lanes_max(largest);
    if (threadIdx.x % 32 == 0) raise_to(f.largest_error, largest);
}

template <int lanes, class T>
void launch_measure(const Context& context, const RowErrors<T>& body) {
    const unsigned blocks =
        std::min(max_blocks, blocks_for(Offset(body.a.rows) * lanes, measure_threads));
    launch_dependent(&measure_kernel<lanes, T>, blocks, measure_threads, 0, stream_of(context),
                     body);
}

}  // namespace

template <class T>
void measure_largest(const Context& context, Offset count, const ElementSize<T>& sizes,
                     Offset* largest) {
    if (count == 0) return;
    launch_dependent(&measure_largest_kernel<T>,
                     std::min(max_blocks, blocks_for(count, measure_threads)), measure_threads, 0,
                     stream_of(context), count, sizes, largest);
}

template void measure_largest(const Context&, Offset, const ElementSize<float>&, Offset*);
template void measure_largest(const Context&, Offset, const ElementSize<double>&, Offset*);

template <class T>
void measure_rows(const Context& context, const RowErrors<T>& body) {
    if (body.a.rows == 0) return;
    // With more threads sums over them take longer than to read the rows.
    if (body.a.nonzeros <= 16 * Offset(body.a.rows)) {
        launch_measure<4>(context, body);
    } else {
        launch_measure<16>(context, body);
    }
}

template void measure_rows(const Context&, const RowErrors<float>&);
template void measure_rows(const Context&, const RowErrors<double>&);

TESSERA_FOR_EACH_REAL(LargestScaled)
TESSERA_FOR_EACH_REAL(ScaledNorms)
template void for_each_index(const Context&, Offset, const FindWorstRow&);
template void for_each_index(const Context&, Offset, const Equilibrate&);

}  // namespace tessera::cuda
