#include <limits>

#include "gpu/launch.cuh"
#include "gpu/warp.cuh"
#include "precond/block_ldlt/numeric/kernels.hpp"

namespace tessera::block_ldlt::cuda {

namespace {

using namespace tessera::cuda;

constexpr int threads = 256;

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
void largest_magnitude(const Context& context, Offset count, const T* x, T* partial, T* largest) {
    const unsigned parts =
        std::clamp(blocks_for(count, 4 * threads), 1u, unsigned(magnitude_parts));
    launch_dependent(&magnitude_kernel<T>, parts, threads, 0, stream_of(context), count, x,
                     partial);
    launch_dependent(&magnitude_kernel<T>, 1, threads, 0, stream_of(context), Offset(parts),
                     static_cast<const T*>(partial), largest);
}

template <class T>
void summarise_pivots(const Context& context, Index count, const Index* perturbed,
                      const T* smallest, PivotSummary* summary) {
    launch_dependent(&summarise_pivots_kernel<T>, 1, threads, 0, stream_of(context), count,
                     perturbed, smallest, summary);
}

#define TESSERA_INSTANTIATE(T)                                    \
    template decltype(largest_magnitude<T>) largest_magnitude<T>; \
    template decltype(summarise_pivots<T>) summarise_pivots<T>;
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::block_ldlt::cuda
