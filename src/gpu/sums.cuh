#pragma once

#include <cuda_runtime.h>

#include "base/context_state.hpp"
#include "gpu/tuning/primitives_h200.hpp"
#include "gpu/warp.cuh"

/// Deterministic sums over many thread blocks of sum_threads threads: each block writes a partial
/// sum, and the last one to finish adds them in a fixed order.
namespace tessera::cuda {

/// Independent sums of a launch: counters at the head of the reduction scratch.
inline constexpr int max_groups = 64;

/// Sum over the thread block in a fixed tree; valid in thread 0.
template <class T>
__device__ T block_sum(T value, T* shared) {
    value = lanes_sum(value);
    __syncthreads();
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
    __syncthreads();
    value = T(0);
    if (threadIdx.x == 0) {
        for (int warp = 0; warp < sum_threads / 32; ++warp) value += shared[warp];
    }
    return value;
}

/// The last thread block of a group to finish adds the partial sums of all in a fixed order.
/// `partial` has `chunks` sums for each of `count` results.
template <class T, class Result>
__device__ void finish_sums(unsigned* counter, const T* partial, int count, Offset chunks,
                            Result* results, T* shared) {
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(counter, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    for (int j = 0; j < count; ++j) {
        T sum = T(0);
        for (Offset c = threadIdx.x; c < chunks; c += sum_loads * sum_threads) {
            T parts[sum_loads];
#pragma unroll
            for (int k = 0; k < sum_loads; ++k) {
                const Offset chunk = c + Offset(k) * sum_threads;
                parts[k] = chunk < chunks ? __ldcg(&partial[j * chunks + chunk]) : T(0);
            }
#pragma unroll
            for (int k = 0; k < sum_loads; ++k) sum += parts[k];
        }
        sum = block_sum(sum, shared);
        if (threadIdx.x == 0) results[j] = Result(sum);
    }
}

/// Counters (zero between reductions) and `count` partial sums.
template <class T>
struct Sums {
    unsigned* counters;
    T* partial;
    Sums(const Context& context, Offset count) {
        constexpr Offset head = max_groups * Offset(sizeof(unsigned));
        char* memory =
            static_cast<char*>(reduction_scratch(context, head + count * Offset(sizeof(T))));
        counters = reinterpret_cast<unsigned*>(memory);
        partial = reinterpret_cast<T*>(memory + head);
    }
};

}  // namespace tessera::cuda
