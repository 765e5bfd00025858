#include <limits>

#include "gpu/launch.cuh"
#include "precond/block_ldlt/numeric/block_tiles.cuh"
#include "precond/block_ldlt/numeric/launch_items.cuh"

namespace tessera::block_ldlt::cuda {

namespace {

using namespace tessera::cuda;

constexpr int threads = 256;
constexpr int per_thread = 4;
constexpr int row_lanes = 8;  ///< Share a block row.

template <class T>
__global__ void __launch_bounds__(threads)
    check_sources_kernel(Offset count, const Offset* source, const Index* row_slots,
                         const Index* column_slots, const Index* slots, CsrView<T> matrix,
                         int* fault) {
    begin_dependent();
    for_elements<per_thread>(count, [&](Offset e) {
        const Offset at = source[e];
        if (at < 0) return;
        const Index row = slots[row_slots[e]], column = slots[column_slots[e]];
        const bool in_row = at >= matrix.row_offsets[row] && at < matrix.row_offsets[row + 1];
        if (!in_row || matrix.column_indices[at] != column) *fault = 1;
    });
}

/// The largest (smallest) of a thread block's values in thread 0; NaN do not count.
template <bool smallest, class T>
__device__ T extreme_of_block(T value) {
    __shared__ T of_warp[threads / 32];
    const auto better = [](T a, T b) { return smallest ? fmin(a, b) : fmax(a, b); };
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        value = better(value, __shfl_xor_sync(full_warp, value, distance));
    }
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    for (int w = 1; w < threads / 32; ++w) value = better(value, of_warp[w]);
    return value;
}

template <class T>
__global__ void __launch_bounds__(threads) magnitude_kernel(Offset count, const T* x, T* largest) {
    begin_dependent();
    T value = T(0);
    for (Offset e = Offset(blockIdx.x) * threads + threadIdx.x; e < count;
         e += Offset(gridDim.x) * threads) {
        value = fmax(value, abs(x[e]));
    }
    value = extreme_of_block<false>(value);
    if (threadIdx.x == 0) largest[blockIdx.x] = value;
}

template <class T>
__global__ void __launch_bounds__(threads)
    largest_in_diagonals_kernel(PatternView<T> a, T* largest) {
    begin_dependent();
    const Offset i = (Offset(blockIdx.x) * threads + threadIdx.x) / row_lanes;
    const int lane = int(threadIdx.x) % row_lanes;
    T value = T(0);
    if (i < a.block_rows) {
        const Offset item = a.blocks + i;
        for (Offset e = a.entry_offsets[item] + lane; e < a.entry_offsets[item + 1];
             e += row_lanes) {
            value = fmax(value, abs(a.values[e]));
        }
    }
#pragma unroll
    for (int distance = row_lanes / 2; distance > 0; distance /= 2) {
        value = fmax(value, __shfl_xor_sync(full_warp, value, distance));
    }
    if (i < a.block_rows && lane == 0) largest[i] = value;
}

template <class T>
__global__ void __launch_bounds__(threads)
    set_thresholds_kernel(Index count, double epsilon, const T* size, const T* of_block,
                          T* thresholds) {
    begin_dependent();
    const T other = *size > T(0) ? *size : T(1);
    for_elements<per_thread>(count, [&](Offset i) {
        const bool own = of_block != nullptr && of_block[i] > T(0);
        thresholds[i] = T(epsilon * double(own ? of_block[i] : other));
    });
}

/// One thread block, as numbers of block rows are small.
template <class T>
__global__ void __launch_bounds__(threads)
    summarise_pivots_kernel(Index count, const Index* perturbed, const T* smallest,
                            PivotSummary* summary) {
    __shared__ Index raised;
    begin_dependent();
    if (threadIdx.x == 0) raised = 0;
    __syncthreads();
    T least = std::numeric_limits<T>::infinity();
    Index sum = 0;
    for (Index i = Index(threadIdx.x); i < count; i += threads) {
        least = fmin(least, smallest[i]);
        sum += perturbed[i];
    }
    atomicAdd(&raised, sum);
    least = extreme_of_block<true>(least);
    if (threadIdx.x == 0) *summary = {double(least), Offset(raised)};
}

}  // namespace

template <class T>
void check_sources(const Context& context, Offset count, const Offset* source,
                   const Index* row_slots, const Index* column_slots, const Index* slots,
                   const CsrView<T>& matrix, int* fault) {
    launch_items<threads>(context, &check_sources_kernel<T>, count, threads * per_thread, count,
                          source, row_slots, column_slots, slots, matrix, fault);
}

template <class T>
void largest_magnitude(const Context& context, Offset count, const T* x, T* partial, T* largest) {
    const unsigned parts =
        std::clamp(blocks_for(count, threads * per_thread), 1u, unsigned(magnitude_parts));
    launch_dependent(&magnitude_kernel<T>, parts, threads, 0, stream_of(context), count, x,
                     partial);
    launch_dependent(&magnitude_kernel<T>, 1, threads, 0, stream_of(context), Offset(parts),
                     static_cast<const T*>(partial), largest);
}

template <class T>
void largest_in_diagonals(const Context& context, const PatternView<T>& a, T* largest) {
    launch_items<threads>(context, &largest_in_diagonals_kernel<T>, a.block_rows,
                          threads / row_lanes, a, largest);
}

template <class T>
void set_thresholds(const Context& context, Index count, double epsilon, const T* size,
                    const T* of_block, T* thresholds) {
    launch_items<threads>(context, &set_thresholds_kernel<T>, count, threads * per_thread, count,
                          epsilon, size, of_block, thresholds);
}

template <class T>
void summarise_pivots(const Context& context, Index count, const Index* perturbed,
                      const T* smallest, PivotSummary* summary) {
    launch_dependent(&summarise_pivots_kernel<T>, 1, threads, 0, stream_of(context), count,
                     perturbed, smallest, summary);
}

#define TESSERA_INSTANTIATE(T)                                                              \
    template void check_sources<T>(const Context&, Offset, const Offset*, const Index*,     \
                                   const Index*, const Index*, const CsrView<T>&, int*);    \
    template void largest_magnitude<T>(const Context&, Offset, const T*, T*, T*);           \
    template void largest_in_diagonals<T>(const Context&, const PatternView<T>&, T*);       \
    template void set_thresholds<T>(const Context&, Index, double, const T*, const T*, T*); \
    template void summarise_pivots<T>(const Context&, Index, const Index*, const T*, PivotSummary*);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::block_ldlt::cuda
