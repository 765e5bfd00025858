#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "gpu/tuning/sparse_h200.hpp"
#include "sparse/spmv_csr/kernels.hpp"

namespace tessera::cuda {

namespace {

/// CSR vector product: `Lanes` adjacent threads per row, their sums added in a fixed tree of
/// shuffles. Rows above `longest` are left to long_rows_kernel.
template <class T, int Lanes>
__global__ void __launch_bounds__(csr_threads)
    rows_kernel(CsrView<T> matrix, Index longest, T alpha, const T* __restrict__ x, T beta, T* y) {
    const Offset row = (Offset(blockIdx.x) * csr_threads + threadIdx.x) / Lanes;
    const int lane = int(threadIdx.x) % Lanes;
    const bool inside = row < matrix.rows;
    const Offset begin = inside ? matrix.row_offsets[row] : 0;
    const Offset end = inside ? matrix.row_offsets[row + 1] : 0;
    const bool skip = end - begin > longest;
    T sum = T(0);
    if (!skip) {
#pragma unroll 4
        for (Offset k = begin + lane; k < end; k += Lanes) {
            sum = fma(__ldcs(&matrix.values[k]), __ldg(&x[__ldcs(&matrix.column_indices[k])]), sum);
        }
    }
#pragma unroll
    for (int distance = Lanes / 2; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(~0u, sum, distance, Lanes);
    }
    if (inside && !skip && lane == 0) {
        y[row] = beta == T(0) ? alpha * sum : fma(alpha, sum, beta * y[row]);
    }
}

/// CSR vector product with one thread block per long row.
template <class T>
__global__ void __launch_bounds__(long_row_threads)
    long_rows_kernel(CsrView<T> matrix, const Index* rows, T alpha, const T* __restrict__ x, T beta,
                     T* y) {
    __shared__ T shared[long_row_threads / 32];
    const Index row = rows[blockIdx.x];
    T sum = T(0);
#pragma unroll 4
    for (Offset k = matrix.row_offsets[row] + threadIdx.x; k < matrix.row_offsets[row + 1];
         k += long_row_threads) {
        sum = fma(matrix.values[k], __ldg(&x[matrix.column_indices[k]]), sum);
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(~0u, sum, distance);
    }
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    sum = shared[threadIdx.x];
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(~0u, sum, distance);
    }
    if (threadIdx.x == 0) y[row] = beta == T(0) ? alpha * sum : fma(alpha, sum, beta * y[row]);
}

template <class T, int Lanes>
void launch_rows(const Context& context, const CsrView<T>& matrix, const SpmvPlan& plan, T alpha,
                 const T* x, T beta, T* y) {
    rows_kernel<T, Lanes>
        <<<blocks_for(Offset(matrix.rows) * Lanes, csr_threads), csr_threads, 0,
           stream_of(context)>>>(matrix, plan.long_row_threshold, alpha, x, beta, y);
}

template <class T>
void multiply_one(const Context& context, const CsrView<T>& matrix, const SpmvPlan& plan, T alpha,
                  const T* x, T beta, T* y) {
    using Launch = decltype(&launch_rows<T, 1>);
    static constexpr Launch launches[] = {&launch_rows<T, 1>,  &launch_rows<T, 2>,
                                          &launch_rows<T, 4>,  &launch_rows<T, 8>,
                                          &launch_rows<T, 16>, &launch_rows<T, 32>};
    int log2_lanes = 0;
    while ((1 << log2_lanes) < plan.lanes_per_row && log2_lanes < 5) ++log2_lanes;
    launches[log2_lanes](context, matrix, plan, alpha, x, beta, y);
    TESSERA_CUDA(cudaGetLastError());
    if (!plan.long_rows.empty()) {
        long_rows_kernel<<<unsigned(plan.long_rows.size()), long_row_threads, 0,
                           stream_of(context)>>>(matrix, plan.long_rows_device.data(), alpha, x,
                                                 beta, y);
        TESSERA_CUDA(cudaGetLastError());
    }
}

}  // namespace

template <class T>
void multiply(const Context& context, const CsrView<T>& matrix, const SpmvPlan& plan, T alpha,
              const Vectors<const T>& x, T beta, const Vectors<T>& y) {
    if (matrix.rows == 0) return;
    for (int j = 0; j < x.count; ++j) {
        multiply_one(context, matrix, plan, alpha, x[j].data(), beta, y[j].data());
    }
}

template decltype(multiply<float>) multiply<float>;
template decltype(multiply<double>) multiply<double>;

}  // namespace tessera::cuda
