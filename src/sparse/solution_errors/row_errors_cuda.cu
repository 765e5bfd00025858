#include "sparse/solution_errors/row_errors.hpp"

#include "gpu/for_each.cuh"

namespace tessera::cuda {

namespace {

constexpr int measure_threads = 128;

/// `lanes` threads of a warp share a row.
template <int lanes, class T>
__global__ void __launch_bounds__(measure_threads)
    measure_kernel(const __grid_constant__ RowErrors<T> f) {
    begin_dependent();
    const Offset i = (Offset(blockIdx.x) * measure_threads + threadIdx.x) / lanes;
    const int lane = int(threadIdx.x) % lanes;
    RowTerms row;
    if (i < f.a.rows) {
        constexpr Offset max_plain = 0;
        const double start = lane == 0 ? double(f.b[i]) : 0;
        row = row_terms(f.a, f.x, i, start, lane, lanes, max_plain);
    }
    for (int step = lanes / 2; step > 0; step /= 2) {
        row.error += __shfl_down_sync(~0U, row.error, step, lanes);
        row.terms += __shfl_down_sync(~0U, row.terms, step, lanes);
        row.size += __shfl_down_sync(~0U, row.size, step, lanes);
        row.add(__shfl_down_sync(~0U, row.sum, step, lanes));
    }
    if (i < f.a.rows && lane == 0) f.set(i, row);
}

template <int lanes, class T>
void launch_measure(const Context& context, const RowErrors<T>& body) {
    const unsigned blocks = blocks_for(Offset(body.a.rows) * lanes, measure_threads);
    launch_dependent(&measure_kernel<lanes, T>, blocks, measure_threads, 0, stream_of(context),
                     body);
}

}  // namespace

template <class T>
void measure_rows(const Context& context, const RowErrors<T>& body) {
    if (body.a.rows == 0) return;
    // A warp reads 32 neighbouring entries at once where rows are long.
    if (body.a.nonzeros <= 16 * Offset(body.a.rows)) {
        launch_measure<4>(context, body);
    } else {
        launch_measure<32>(context, body);
    }
}

template void measure_rows(const Context&, const RowErrors<float>&);
template void measure_rows(const Context&, const RowErrors<double>&);

TESSERA_FOR_EACH_REAL(LargestElement)
TESSERA_FOR_EACH_REAL(LargestScaled)
TESSERA_FOR_EACH_REAL(ScaledNorms)
template void for_each_index(const Context&, Offset, const FindWorstRow&);
template void for_each_index(const Context&, Offset, const Equilibrate&);

}  // namespace tessera::cuda
