#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "gpu/tuning/block_jacobi_h200.hpp"
#include "gpu/warp.cuh"
#include "precond/block_jacobi/kernels.hpp"
#include "precond/block_jacobi/setup/principal_pivot_inverse.hpp"

/// Replacements of the inverses of singular blocks: rare, so one warp a block.
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
            const int at = __shfl_xor_sync(full_warp, element, distance);
            if (other > magnitude || (other == magnitude && unsigned(at) < unsigned(element))) {
                magnitude = other;
                element = at;
            }
        }
    }
    __device__ bool all(bool holds) const { return __all_sync(full_warp, holds) != 0; }
};

/// Reads a block into shared memory, column-major with leading dimension `stride`. Returns the
/// first row with a value that is not finite, n without one.
template <class T>
__device__ int read_block(const CsrView<T>& matrix, Index first, int n, int stride, T* block) {
    const int lane = int(threadIdx.x) % 32;
    int bad = n;
    for (int i = lane; i < n; i += 32) {
        for (int j = 0; j < n; ++j) block[i + j * stride] = T(0);
    }
    __syncwarp();
    for (int i = 0; i < n; ++i) {
        const Offset end = matrix.row_offsets[first + i + 1];
        for (Offset x = matrix.row_offsets[first + i] + lane; x < end; x += 32) {
            const Index c = matrix.column_indices[x] - first;
            if (c < 0 || c >= n) continue;
            const T value = matrix.values[x];
            block[i + c * stride] = value;
            if (!isfinite(value)) bad = min(bad, i);
        }
    }
    __syncwarp();
    return -lanes_max(-bad);
}

/// A warp looks at 32 blocks and replaces the inverses of the singular ones, one after the other.
template <class T>
__global__ void __launch_bounds__(singular_threads)
    replace_kernel(CsrView<T> matrix, PackedBlocks<T> blocks, SingularPolicy policy,
                   const Index* info, T* inverses, std::int8_t* shifts, SetupSummary* summary) {
    extern __shared__ __align__(16) unsigned char replace_memory[];
    const int largest = blocks.largest;
    T* const block = reinterpret_cast<T*>(replace_memory);
    T* const a = block + largest * (largest + 1);
    int* const columns = reinterpret_cast<int*>(a + largest * (largest + 1));
    const int lane = int(threadIdx.x);
    const Offset first = Offset(blockIdx.x) * singular_threads;
    if (first + lane < blocks.count) shifts[first + lane] = -1;
    unsigned singular =
        __ballot_sync(full_warp, first + lane < blocks.count &&
                                     info[min(first + lane, Offset(blocks.count) - 1)] != 0);
    while (singular != 0) {
        const Offset b = first + __ffs(int(singular)) - 1;
        singular &= singular - 1;
        const Index row = blocks.block_offsets[b];
        const int n = blocks.block_offsets[b + 1] - row;
        T* const inverse = inverses + blocks.entry_offsets[b];
        const int bad = read_block(matrix, row, n, n + 1, block);
        if (bad < n) {
            if (lane == 0) atomicMax(&summary->rows_from_end, unsigned(blocks.rows - row - bad));
        } else if (policy != SingularPolicy::stop) {
            const int shift =
                replace_inverse(WholeWarp(), policy, n, n + 1, block, a, columns, inverse);
            if (lane == 0) shifts[b] = std::int8_t(shift);
        }
        __syncwarp();  // The next block takes the same shared memory.
    }
}

}  // namespace

template <class T>
void replace_singular(const Context& context, const CsrView<T>& matrix,
                      const PackedBlocks<T>& blocks, SingularPolicy policy, const Index* info,
                      T* inverses, std::int8_t* shifts, SetupSummary* summary) {
    if (blocks.count == 0) return;
    const int n = blocks.largest;
    const int bytes = 2 * n * (n + 1) * int(sizeof(T)) + 2 * n * int(sizeof(int));
    TESSERA_CUDA(cudaFuncSetAttribute(replace_kernel<T>,
                                      cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    replace_kernel<T>
        <<<blocks_for(blocks.count, singular_threads), singular_threads, bytes,
           stream_of(context)>>>(matrix, blocks, policy, info, inverses, shifts, summary);
    TESSERA_CUDA(cudaGetLastError());
}

#define TESSERA_INSTANTIATE(T)                                                                   \
    template void replace_singular<T>(const Context&, const CsrView<T>&, const PackedBlocks<T>&, \
                                      SingularPolicy, const Index*, T*, std::int8_t*,            \
                                      SetupSummary*);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::cuda
