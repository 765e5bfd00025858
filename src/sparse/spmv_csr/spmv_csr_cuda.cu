#include <algorithm>

#include "base/check_cuda.hpp"
#include "gpu/for_each.cuh"
#include "gpu/launch.cuh"
#include "gpu/load.cuh"
#include "gpu/tuning/sparse_h200.hpp"
#include "gpu/warp.cuh"
#include "sparse/spmv_csr/kernels.hpp"
#include "sparse/spmv_csr/row_lengths.hpp"

namespace tessera::cuda {

namespace {

/// Vectors that are multiplied together: each entry of the matrix is read once for them.
constexpr int vectors_together = 8;

/// y_v = alpha sum_v + beta y_v of a row, for all vectors.
template <class T, int MaxVectors>
__device__ __forceinline__ void store_row(Offset row, T alpha, const T (&sums)[MaxVectors], T beta,
                                          const Vectors<T>& y) {
#pragma unroll
    for (int v = 0; v < MaxVectors; ++v) {
        if (MaxVectors > 1 && v >= y.count) return;
        T& to = y.data[v * y.leading + row];
        to = beta == T(0) ? alpha * sums[v] : fma(alpha, sums[v], beta * to);
    }
}

/// Adds value times x of a column to the sums of 1 or 2 .. MaxVectors vectors.
template <class T, int MaxVectors>
__device__ __forceinline__ void add_products(T value, const Vectors<const T>& x, Index column,
                                             T (&sums)[MaxVectors]) {
    T from[MaxVectors];
#pragma unroll
    for (int v = 0; v < MaxVectors; ++v) {
        from[v] = load_if(MaxVectors == 1 || v < x.count, x.data + v * x.leading + column, T(0));
    }
#pragma unroll
    for (int v = 0; v < MaxVectors; ++v) sums[v] = fma(value, from[v], sums[v]);
}

/// CSR product with 1 or 2 .. MaxVectors vectors: `Lanes` adjacent threads per row, their sums
/// added in a fixed tree of shuffles. Rows above `longest` are left to long_rows_kernel.
template <class T, int Lanes, int MaxVectors>
__global__ void __launch_bounds__(csr_threads)
    rows_kernel(CsrView<T> matrix, Index longest, T alpha, Vectors<const T> x, T beta,
                Vectors<T> y) {
    const Offset row = (Offset(blockIdx.x) * csr_threads + threadIdx.x) / Lanes;
    const int lane = int(threadIdx.x) % Lanes;
    const bool inside = row < matrix.rows;
    const Offset begin = inside ? matrix.row_offsets[row] : 0;
    const Offset end = inside ? matrix.row_offsets[row + 1] : 0;
    const bool skip = end - begin > longest;
    T sums[MaxVectors] = {};
    if (!skip) {
#pragma unroll(MaxVectors == 1 ? 4 : 1)
        for (Offset k = begin + lane; k < end; k += Lanes) {
            add_products(__ldcs(&matrix.values[k]), x, __ldcs(&matrix.column_indices[k]), sums);
        }
    }
#pragma unroll
    for (int distance = Lanes / 2; distance > 0; distance /= 2) {
#pragma unroll
        for (int v = 0; v < MaxVectors; ++v) {
            sums[v] += __shfl_xor_sync(~0u, sums[v], distance, Lanes);
        }
    }
    if (inside && !skip && lane == 0) store_row(row, alpha, sums, beta, y);
}

/// Products of long rows, one thread block per row.
template <class T, int MaxVectors>
__global__ void __launch_bounds__(long_row_threads)
    long_rows_kernel(CsrView<T> matrix, const Index* rows, T alpha, Vectors<const T> x, T beta,
                     Vectors<T> y) {
    __shared__ T shared[MaxVectors][long_row_threads / 32];
    const Index row = rows[blockIdx.x];
    T sums[MaxVectors] = {};
#pragma unroll(MaxVectors == 1 ? 4 : 1)
    for (Offset k = matrix.row_offsets[row] + threadIdx.x; k < matrix.row_offsets[row + 1];
         k += long_row_threads) {
        add_products(matrix.values[k], x, matrix.column_indices[k], sums);
    }
#pragma unroll
    for (int v = 0; v < MaxVectors; ++v) {
        sums[v] = lanes_sum(sums[v]);
        if (threadIdx.x % 32 == 0) shared[v][threadIdx.x / 32] = sums[v];
    }
    __syncthreads();
    if (threadIdx.x >= 32) return;
#pragma unroll
    for (int v = 0; v < MaxVectors; ++v) sums[v] = lanes_sum(shared[v][threadIdx.x]);
    if (threadIdx.x == 0) store_row(Offset(row), alpha, sums, beta, y);
}

template <class T, int Lanes, int MaxVectors>
void launch_rows(const Context& context, const CsrView<T>& matrix, const SpmvPlan& plan, T alpha,
                 const Vectors<const T>& x, T beta, const Vectors<T>& y) {
    rows_kernel<T, Lanes, MaxVectors>
        <<<blocks_for(Offset(matrix.rows) * Lanes, csr_threads), csr_threads, 0,
           stream_of(context)>>>(matrix, plan.long_row_threshold, alpha, x, beta, y);
}

/// The product with 1 or 2 .. MaxVectors vectors.
template <int MaxVectors, class T>
void multiply_some(const Context& context, const CsrView<T>& matrix, const SpmvPlan& plan, T alpha,
                   const Vectors<const T>& x, T beta, const Vectors<T>& y) {
    using Launch = decltype(&launch_rows<T, 1, MaxVectors>);
    static constexpr Launch launches[] = {
        &launch_rows<T, 1, MaxVectors>,  &launch_rows<T, 2, MaxVectors>,
        &launch_rows<T, 4, MaxVectors>,  &launch_rows<T, 8, MaxVectors>,
        &launch_rows<T, 16, MaxVectors>, &launch_rows<T, 32, MaxVectors>};
    int log2_lanes = 0;
    while ((1 << log2_lanes) < plan.lanes_per_row && log2_lanes < 5) ++log2_lanes;
    launches[log2_lanes](context, matrix, plan, alpha, x, beta, y);
    TESSERA_CUDA(cudaGetLastError());
    if (!plan.long_rows.empty()) {
        long_rows_kernel<T, MaxVectors>
            <<<unsigned(plan.long_rows.size()), long_row_threads, 0, stream_of(context)>>>(
                matrix, plan.long_rows_device.data(), alpha, x, beta, y);
        TESSERA_CUDA(cudaGetLastError());
    }
}

}  // namespace

template <class T>
void multiply(const Context& context, const CsrView<T>& matrix, const SpmvPlan& plan, T alpha,
              const Vectors<const T>& x, T beta, const Vectors<T>& y) {
    if (matrix.rows == 0) return;
    for (int first = 0; first < x.count; first += vectors_together) {
        const int count = std::min(vectors_together, x.count - first);
        const auto multiply = count == 1 ? multiply_some<1, T> : multiply_some<vectors_together, T>;
        multiply(context, matrix, plan, alpha, x.part(first, count), beta, y.part(first, count));
    }
}

template decltype(multiply<float>) multiply<float>;
template decltype(multiply<double>) multiply<double>;
template void for_each_index(const Context&, Offset, const ScanRowLengths&);

}  // namespace tessera::cuda
