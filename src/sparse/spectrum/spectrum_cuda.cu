#include <limits>

#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "sparse/spectrum/kernels.hpp"

namespace tessera::cuda {

namespace {

constexpr int threads_a_block = 256;
/// Threads that share a row: a row of elasticity has 14 to 81 entries.
constexpr int lanes_a_row = 8;

/// Sums of absolute values are not negative, so their bits are in their order, NaN last.
template <class T>
__global__ void __launch_bounds__(threads_a_block)
    largest_row_sum_kernel(CsrView<T> matrix, const T* scaling, unsigned long long* largest) {
    const Offset row = (Offset(blockIdx.x) * threads_a_block + threadIdx.x) / lanes_a_row;
    const int lane = int(threadIdx.x) % lanes_a_row;
    const bool here = row < matrix.rows;
    const Offset end = here ? matrix.row_offsets[row + 1] : 0;
    T sum = T(0);
    for (Offset k = (here ? matrix.row_offsets[row] : 0) + lane; k < end; k += lanes_a_row) {
        sum += fabs(scaled_value(matrix, scaling, row, k));
    }
#pragma unroll
    for (int distance = lanes_a_row / 2; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(~0u, sum, distance, lanes_a_row);
    }
    unsigned long long bits =
        static_cast<unsigned long long>(__double_as_longlong(fabs(double(sum))));
#pragma unroll
    for (int distance = 16; distance >= lanes_a_row; distance /= 2) {
        bits = max(bits, __shfl_xor_sync(~0u, bits, distance));
    }
    // What is there already is mostly larger.
    if (threadIdx.x % 32 == 0 && bits > __ldcg(largest)) atomicMax(largest, bits);
}

}  // namespace

template <class T>
double largest_row_sum(const Context& context, const CsrView<T>& matrix, const T* scaling) {
    Buffer<double> largest(context, 1);
    TESSERA_CUDA(cudaMemsetAsync(largest.data(), 0, sizeof(double), stream_of(context)));
    largest_row_sum_kernel<<<blocks_for(Offset(matrix.rows) * lanes_a_row, threads_a_block),
                             threads_a_block, 0, stream_of(context)>>>(
        matrix, scaling, reinterpret_cast<unsigned long long*>(largest.data()));
    TESSERA_CUDA(cudaGetLastError());
    return copy_to_host(context, largest).front();
}

template double largest_row_sum<float>(const Context&, const CsrView<float>&, const float*);
template double largest_row_sum<double>(const Context&, const CsrView<double>&, const double*);

}  // namespace tessera::cuda
