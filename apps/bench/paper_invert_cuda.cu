#include "cuda_kernels.hpp"

namespace tessera::bench {

namespace {

constexpr int threads_a_block = 128;

/// Gauss-Jordan inversion with implicit pivoting as in Fig. 2 of Anzt et al. (2019), several
/// problems a warp: sub-warps of N threads (a power of two), one row a thread in registers, every
/// loop unrolled, the pivot found and its row spread by shuffles, the permutations undone when the
/// inverse is written. In the transposed reading of column-major data, as their extraction has it.
template <int N>
__global__ void __launch_bounds__(threads_a_block)
    paper_kernel(Offset batch, const double* __restrict__ in, double* __restrict__ out) {
    const int lane = int(threadIdx.x) % N;
    const Offset problem = (Offset(blockIdx.x) * threads_a_block + threadIdx.x) / N;
    const double* const from = in + min(problem, batch - 1) * N * N;
    double row[N];
#pragma unroll
    for (int j = 0; j < N; ++j) row[j] = from[j * N + lane];
    int step = -1;   // In which step this thread's row was the pivot.
    int chosen = 0;  // The pivot row of step `lane`.
#pragma unroll
    for (int k = 0; k < N; ++k) {
        double size = step < 0 ? fabs(row[k]) : -1.0;
        int pivot = lane;
#pragma unroll
        for (int distance = N / 2; distance > 0; distance /= 2) {
            const double other_size = __shfl_xor_sync(~0u, size, distance, N);
            const int other = __shfl_xor_sync(~0u, pivot, distance, N);
            if (other_size > size || (other_size == size && other < pivot)) {
                size = other_size;
                pivot = other;
            }
        }
        if (lane == pivot) step = k;
        if (lane == k) chosen = pivot;
        const double d = 1.0 / __shfl_sync(~0u, row[k], pivot, N);
        const double factor = lane == pivot ? 0.0 : -row[k] * d;
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const double pivot_element = __shfl_sync(~0u, row[j], pivot, N);
            if (j != k) row[j] = lane == pivot ? row[j] * d : fma(factor, pivot_element, row[j]);
        }
        row[k] = lane == pivot ? d : factor;
    }
    double* const to = out + problem * N * N;
#pragma unroll
    for (int k = 0; k < N; ++k) {
        const int column = __shfl_sync(~0u, chosen, k, N);
        if (problem < batch) to[column * N + step] = row[k];
    }
}

template <int N>
void launch(const Context& context, Offset batch, const double* in, double* out) {
    const Offset blocks = (batch * N + threads_a_block - 1) / threads_a_block;
    paper_kernel<N>
        <<<unsigned(blocks), threads_a_block, 0, static_cast<cudaStream_t>(context.stream())>>>(
            batch, in, out);
}

}  // namespace

void paper_invert(const Context& context, int n, Offset batch, const double* in, double* out) {
    if (n == 4) return launch<4>(context, batch, in, out);
    if (n == 8) return launch<8>(context, batch, in, out);
    if (n == 16) return launch<16>(context, batch, in, out);
    if (n == 32) return launch<32>(context, batch, in, out);
    throw InvalidArgument("paper_invert: n must be 4, 8, 16 or 32");
}

}  // namespace tessera::bench
