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

/// `lanes` threads of a warp share a row.
template <int lanes, class T>
__global__ void __launch_bounds__(measure_threads)
    measure_kernel(const __grid_constant__ RowErrors<T> f) {
    begin_dependent();
    constexpr int rows_of_block = measure_threads / lanes;
    const int lane = int(threadIdx.x) % lanes;
    Offset largest = 0;
    for (Offset first = Offset(blockIdx.x) * rows_of_block; first < f.a.rows;
         first += Offset(gridDim.x) * rows_of_block) {
        const Offset i = first + int(threadIdx.x) / lanes;
        RowTerms row;
        if (i < f.a.rows) {
            constexpr Offset max_plain = 0;
            const double start = lane == 0 ? double(f.b[i]) : 0;
            row = row_terms(f.a, f.x, i, start, lane, lanes, max_plain);
        }
        for (int step = lanes / 2; step > 0; step /= 2) {
            row.error += __shfl_down_sync(full_warp, row.error, step, lanes);
            row.terms += __shfl_down_sync(full_warp, row.terms, step, lanes);
            row.size += __shfl_down_sync(full_warp, row.size, step, lanes);
            row.add(__shfl_down_sync(full_warp, row.sum, step, lanes));
        }
        if (i < f.a.rows && lane == 0) largest = max(largest, f.set(i, row));
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
