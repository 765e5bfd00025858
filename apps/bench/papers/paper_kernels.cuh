#pragma once

#include "tessera/types.hpp"

namespace tessera::bench::paper {

constexpr int threads_per_block = 128;

/// The smallest power of two that is not below n.
constexpr int lanes_of(int n) {
    int lanes = 1;
    while (lanes < n) lanes *= 2;
    return lanes;
}

/// The largest |value| of Lanes neighbouring lanes, the first of equal ones; -1 marks rows already
/// used as pivot rows.
template <int Lanes, class T>
__device__ int find_pivot(T size, int lane) {
    int pivot = lane;
#pragma unroll
    for (int distance = Lanes / 2; distance > 0; distance /= 2) {
        const T other_size = __shfl_xor_sync(~0u, size, distance, Lanes);
        const int other = __shfl_xor_sync(~0u, pivot, distance, Lanes);
        if (other_size > size || (other_size == size && other < pivot)) {
            size = other_size;
            pivot = other;
        }
    }
    return pivot;
}

/// Gauss-Jordan elimination with implicit pivoting as in Fig. 2 of Anzt et al. (2019): one row per
/// thread in registers, every loop unrolled, the pivot found and its row broadcast by shuffles.
/// Sub-warps of Lanes threads hold matrices of at most N rows; n <= N of their steps are run.
/// Afterwards row[k] of a thread is the element of the inverse in row `step` and in the column that
/// is `chosen` in lane k.
template <class T, int N, int Lanes>
__device__ void eliminate(int n, T (&row)[N], int& step, int& chosen) {
    const int lane = int(threadIdx.x) % Lanes;
    step = lane < n ? -1 : Lanes;  // Step in which this thread's row was the pivot.
    chosen = 0;                    // Pivot row of step `lane`.
#pragma unroll
    for (int k = 0; k < N; ++k) {
        if (k >= n) break;
        const int pivot = find_pivot<Lanes>(step < 0 ? abs(row[k]) : T(-1), lane);
        if (lane == pivot) step = k;
        if (lane == k) chosen = pivot;
        const T d = T(1) / __shfl_sync(~0u, row[k], pivot, Lanes);
        const T factor = lane == pivot ? T(0) : -row[k] * d;
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const T pivot_element = __shfl_sync(~0u, row[j], pivot, Lanes);
            if (j != k) row[j] = lane == pivot ? row[j] * d : fma(factor, pivot_element, row[j]);
        }
        row[k] = lane == pivot ? d : factor;
    }
}

/// Inverts column-major matrices read as their transposes, as the paper's extraction does; the
/// permutations are undone when the inverse is written.
template <class T, int N, int Lanes>
__device__ void invert(int n, Offset batch, const T* __restrict__ in, T* __restrict__ out) {
    const int lane = int(threadIdx.x) % Lanes;
    const Offset problem = (Offset(blockIdx.x) * threads_per_block + threadIdx.x) / Lanes;
    const T* const from = in + min(problem, batch - 1) * n * n;
    const bool mine = lane < n;
    T row[N];
#pragma unroll
    for (int j = 0; j < N; ++j) row[j] = mine && j < n ? from[j * n + lane] : T(0);
    int step, chosen;
    eliminate<T, N, Lanes>(n, row, step, chosen);
    T* const to = out + problem * n * n;
#pragma unroll
    for (int k = 0; k < N; ++k) {
        if (k >= n) break;
        const int column = __shfl_sync(~0u, chosen, k, Lanes);
        if (problem < batch && mine) to[column * n + step] = row[k];
    }
}

/// Gauss-Jordan elimination of Fig. 2; several matrices per warp, n is N.
template <class T, int N>
__global__ void __launch_bounds__(threads_per_block)
    multiple(int, Offset batch, const T* __restrict__ in, T* __restrict__ out) {
    invert<T, N, lanes_of(N)>(N, batch, in, out);
}

/// Gauss-Jordan elimination of Fig. 2; one matrix per warp, padded.
template <class T>
__global__ void __launch_bounds__(threads_per_block)
    single(int n, Offset batch, const T* __restrict__ in, T* __restrict__ out) {
    invert<T, 32, 32>(n, batch, in, out);
}

/// The kernel `multiple` for n, Low <= n <= High: one source file per range of sizes.
template <class T, int Low, int High>
const void* multiple_kernel(int n);

}  // namespace tessera::bench::paper
