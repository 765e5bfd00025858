#include "harness/cuda_kernels.hpp"
#include "papers/paper_kernels.cuh"
#include "tessera/types.hpp"

namespace tessera::bench {

namespace {

constexpr int warps = paper::threads_per_block / 32;

/// Extracts one row of the matrix, read by a warp from its start to the last column of the block;
/// the entries in its n columns from `first` on go to values[column - first].
template <class T>
__device__ void sweep_row(const CsrView<T>& matrix, Index row, Index first, int n, T* values) {
    const Offset end = matrix.row_offsets[row + 1];
    Offset x = matrix.row_offsets[row] + threadIdx.x % 32;
    for (bool more = true; more; x += 32) {
        const Index c = (x < end ? matrix.column_indices[x] : first + n) - first;
        if (c >= 0 && c < n) values[c] = matrix.values[x];
        more = __all_sync(~0u, c < n);
    }
}

/// Setup of block Jacobi with the extractions of Anzt et al. (2019), section 4, blocks of up to N
/// rows: extraction from CSR, Gauss-Jordan elimination with one row per thread, inverses packed and
/// column-major.
///   cached       32 / N blocks per warp; each thread reads its own row;
///   shared_full  one block per warp, which reads its rows; the whole block lies in shared memory;
///   shared       as shared_full with one row in shared memory; threads hold columns.
template <class T, int N, PaperExtraction way>
__global__ void __launch_bounds__(paper::threads_per_block)
    setup_kernel(CsrView<T> matrix, Index count, const Index* block_offsets,
                 const Offset* entry_offsets, T* inverses) {
    constexpr int lanes = way == PaperExtraction::cached ? N : 32;
    constexpr int values = way == PaperExtraction::shared ? N : N * (N + 1);  // Values per block.
    __shared__ T memory[paper::threads_per_block / lanes][values];
    T* const shared = memory[threadIdx.x / lanes];
    const int lane = int(threadIdx.x) % lanes;
    const Offset b = (Offset(blockIdx.x) * paper::threads_per_block + threadIdx.x) / lanes;
    const Index first = b < count ? block_offsets[b] : 0;
    const int n = b < count ? block_offsets[b + 1] - first : 0;
    T row[N];
    for (int e = lane; e < values; e += lanes) shared[e] = T(0);
    __syncwarp();
    if constexpr (way == PaperExtraction::shared) {
#pragma unroll
        for (int i = 0; i < N; ++i) {
            row[i] = T(0);
            if (i >= n) continue;
            sweep_row(matrix, first + i, first, n, shared);
            __syncwarp();
            if (lane < N) {
                row[i] = shared[lane];
                shared[lane] = T(0);
            }
            __syncwarp();
        }
    } else {
        if constexpr (way == PaperExtraction::shared_full) {
            for (int i = 0; i < n; ++i) {
                sweep_row(matrix, first + i, first, n, shared + i * (N + 1));
            }
        } else if (lane < n) {
            for (Offset x = matrix.row_offsets[first + lane];
                 x < matrix.row_offsets[first + lane + 1]; ++x) {
                const Index c = matrix.column_indices[x] - first;
                if (c >= n) break;
                if (c >= 0) shared[lane * (N + 1) + c] = matrix.values[x];
            }
        }
        __syncwarp();
#pragma unroll
        for (int j = 0; j < N; ++j) row[j] = lane < N ? shared[lane * (N + 1) + j] : T(0);
    }
    int step, chosen;
    // All blocks of a warp run equally many steps: smaller ones are padded with the identity.
#pragma unroll
    for (int j = 0; j < N; ++j) {
        if (lane >= n && lane < N && j == lane) row[j] = T(1);
    }
    paper::eliminate<T, N, lanes>(N, row, step, chosen);
    T* const to = inverses + (n > 0 ? entry_offsets[b] : 0);
#pragma unroll
    for (int k = 0; k < N; ++k) {
        const int column = __shfl_sync(~0u, chosen, k, lanes);
        if (step >= n || column >= n) continue;
        // With one row in shared memory threads hold columns, so the transpose was inverted.
        to[way == PaperExtraction::shared ? step * n + column : column * n + step] = row[k];
    }
}

template <PaperExtraction way, int N, class T>
void launch(const Context& context, const CsrView<T>& matrix, const BlockPartition& blocks,
            std::span<const Offset> entry_offsets, T* inverses) {
    constexpr int each = way == PaperExtraction::cached ? warps * (32 / N) : warps;
    setup_kernel<T, N, way><<<unsigned((blocks.count + each - 1) / each), paper::threads_per_block,
                              0, static_cast<cudaStream_t>(context.stream())>>>(
        matrix, blocks.count, blocks.block_offsets.data(), entry_offsets.data(), inverses);
    const cudaError_t status = cudaGetLastError();
    if (status != cudaSuccess) throw DeviceError(cudaGetErrorString(status));
}

template <PaperExtraction way, class T, class... Arguments>
void launch_width(Index largest, const Context& context, const CsrView<T>& matrix,
                  const Arguments&... arguments) {
    if (largest <= 8) return launch<way, 8>(context, matrix, arguments...);
    if (largest <= 16) return launch<way, 16>(context, matrix, arguments...);
    launch<way, 32>(context, matrix, arguments...);
}

}  // namespace

template <class T>
void paper_block_jacobi_setup(const Context& context, PaperExtraction way, const CsrView<T>& matrix,
                              const BlockPartition& blocks, std::span<const Offset> entry_offsets,
                              T* inverses) {
    using enum PaperExtraction;
    const Index n = blocks.largest;
    if (n > 32) throw InvalidArgument("the papers' extractions need blocks of at most 32 rows");
    if (blocks.count == 0) return;
    if (way == cached) {
        launch_width<cached>(n, context, matrix, blocks, entry_offsets, inverses);
    } else if (way == shared_full) {
        launch_width<shared_full>(n, context, matrix, blocks, entry_offsets, inverses);
    } else {
        launch_width<shared>(n, context, matrix, blocks, entry_offsets, inverses);
    }
}

template void paper_block_jacobi_setup(const Context&, PaperExtraction, const CsrView<float>&,
                                       const BlockPartition&, std::span<const Offset>, float*);
template void paper_block_jacobi_setup(const Context&, PaperExtraction, const CsrView<double>&,
                                       const BlockPartition&, std::span<const Offset>, double*);

}  // namespace tessera::bench
