#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "gpu/tuning/block_jacobi_h200.hpp"
#include "gpu/warp.cuh"
#include "precond/block_jacobi/setup/principal_pivot_inverse.hpp"

/// Replacements of the inverses of singular blocks by principal pivot transforms, one warp per
/// block.
namespace tessera::cuda {

namespace {

struct WholeWarp {
    static constexpr int lanes = 32;
    __device__ int lane() const { return int(threadIdx.x) % 32; }
    __device__ void sync() const { __syncwarp(); }
    template <class T>
    __device__ void largest(T& magnitude, int& element) const {
#pragma unroll
        for (int distance = 16; distance > 0; distance /= 2) {
            const T other = __shfl_xor_sync(full_warp, magnitude, distance);
            const int other_element = __shfl_xor_sync(full_warp, element, distance);
            if (other > magnitude ||
                (other == magnitude && unsigned(other_element) < unsigned(element))) {
                magnitude = other;
                element = other_element;
            }
        }
    }
    __device__ int smallest(int x) const { return -lanes_max(-x); }
    __device__ bool all(bool holds) const { return __all_sync(full_warp, holds) != 0; }
    __device__ void atomic_max(unsigned* to, unsigned value) const {
        if (lane() == 0) atomicMax(to, value);
    }
};

/// Principal pivot transforms with complete pivoting in shared memory. A warp checks 32 blocks and
/// replaces the inverses of the singular ones, one after the other.
template <class T>
__global__ void __launch_bounds__(singular_threads) replace_kernel(ReplaceJob<T> job) {
    extern __shared__ __align__(16) unsigned char replace_memory[];
    const Offset count = job.blocks.count;
    const Offset first = Offset(blockIdx.x) * singular_threads;
    const Offset own = first + threadIdx.x;
    if (own < count) job.shift_exponents[own] = -1;
    unsigned singular = __ballot_sync(full_warp, own < count && job.info[min(own, count - 1)] != 0);
    for (; singular != 0; singular &= singular - 1) {
        __syncwarp();  // The shifts are written, and shared memory may be reused.
        replace_block(WholeWarp(), job, Index(first + __ffs(int(singular)) - 1),
                      reinterpret_cast<T*>(replace_memory));
    }
}

}  // namespace

template <class T>
void replace_singular(const Context& context, const ReplaceJob<T>& job) {
    const Index count = job.blocks.count;
    if (count == 0) return;
    const int bytes = int(sizeof(T)) * replace_values(job.blocks.largest);
    TESSERA_CUDA(cudaFuncSetAttribute(replace_kernel<T>,
                                      cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    replace_kernel<T>
        <<<blocks_for(count, singular_threads), singular_threads, bytes, stream_of(context)>>>(job);
    TESSERA_CUDA(cudaGetLastError());
}

template decltype(replace_singular<float>) replace_singular<float>;
template decltype(replace_singular<double>) replace_singular<double>;

}  // namespace tessera::cuda
