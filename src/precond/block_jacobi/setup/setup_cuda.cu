#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "gpu/tiles/extraction/inverted_blocks.cuh"
#include "gpu/tiles/tile_sizes.cuh"
#include "gpu/tuning/block_jacobi_h200.hpp"
#include "precond/block_jacobi/setup/inverse_stores.cuh"

/// The setup of block Jacobi. Blocks of up to 32 rows are extracted, inverted and stored by one
/// kernel (setup_fused.cuh). Larger blocks need three: extraction, batched inversion and
/// symmetrisation, with one warp per block in the first and the last.
namespace tessera::cuda {

namespace {

constexpr int warps = large_setup_warps;

/// Leading dimension in shared memory: odd, so that rows and columns have no bank conflicts.
constexpr int padded_stride(int n) { return n | 1; }

/// Shared memory of a warp in bytes: a block, and the table of its rows.
template <class T>
constexpr int warp_bytes(int largest) {
    const int table = max_block_rows * int(sizeof(BlockRow));
    return table + (largest * padded_stride(largest) * int(sizeof(T)) + 15) / 16 * 16;
}

/// The block of a warp; n is 0 after the last one.
template <class T>
struct WarpBlock {
    Index b = 0;
    Index first_row = 0;
    int n = 0;
    T* values = nullptr;      ///< Packed, column-major, in global memory.
    BlockRow* row = nullptr;  ///< Row table, in shared memory.
    T* staged = nullptr;      ///< Shared memory: value (i, j) at i + j * padded_stride(n).

    __device__ WarpBlock(const PackedBlocks<T>& blocks, T* packed, unsigned char* memory) {
        const Offset block = Offset(blockIdx.x) * warps + threadIdx.x / 32;
        if (block >= blocks.count) return;
        b = Index(block);
        first_row = __ldg(blocks.block_offsets + b);
        n = __ldg(blocks.block_offsets + b + 1) - first_row;
        values = packed + __ldg(blocks.entry_offsets + b);
        memory += threadIdx.x / 32 * warp_bytes<T>(blocks.largest);
        row = reinterpret_cast<BlockRow*>(memory);
        staged = reinterpret_cast<T*>(memory + max_block_rows * sizeof(BlockRow));
    }
    /// f(global value, staged value, mirrored staged value, off the diagonal) for the values of
    /// this lane.
    template <class F>
    __device__ __forceinline__ void for_values(F&& f) const {
        const int stride = padded_stride(n);
        for (int j = 0; j < n; ++j) {
            for (int i = int(threadIdx.x) % 32; i < n; i += 32) {
                f(values[i + j * n], staged[i + j * stride], staged[j + i * stride], i != j);
            }
        }
    }
};

/// Extraction of diagonal blocks; one warp per block: writes it to `packed`, column-major, and
/// whether it is exactly symmetric.
template <class T>
__global__ void __launch_bounds__(32 * warps)
    extract_kernel(CsrView<T> matrix, PackedBlocks<T> blocks, T* packed, std::uint8_t* symmetric) {
    extern __shared__ __align__(16) unsigned char memory[];
    const WarpBlock<T> block(blocks, packed, memory);
    const int n = block.n;
    if (n == 0) return;
    const int lane = int(threadIdx.x) % 32;
    const int stride = padded_stride(n);
    RowSearch search[max_block_rows / 32];
#pragma unroll
    for (int q = 0; q < max_block_rows / 32; ++q) {
        const int r = lane + 32 * q;
        const Offset* const offsets = matrix.row_offsets + block.first_row + r;
        search[q] = {0, 0, 0, 0, 0};
        if (r < n) search[q] = {__ldg(offsets), __ldg(offsets + 1), block.first_row, n, r};
    }
    for (int e = lane; e < n * stride; e += 32) block.staged[e] = T(0);
    gather_block_entries<max_block_rows>(matrix, search, n, block.row,
                                         [&](const BlockRow& row, int c, T value) {
                                             block.staged[row.offset() + c * stride] = value;
                                         });
    __syncwarp();
    bool differs = false;
    block.for_values([&](T& value, T staged, T mirrored, bool) {
        value = staged;
        differs = differs || staged != mirrored;
    });
    differs = __any_sync(full_warp, differs);
    if (lane == 0) symmetric[block.b] = !differs;
}

/// Symmetrisation X = (X + X^T) / 2 of the blocks marked as symmetric, and the report of each
/// block; one warp per block.
template <class T>
__global__ void __launch_bounds__(32 * warps)
    finish_kernel(PackedBlocks<T> blocks, T* inverses, const std::uint8_t* symmetric,
                  SetupResults<T> results) {
    extern __shared__ __align__(16) unsigned char memory[];
    const WarpBlock<T> block(blocks, inverses, memory);
    if (block.n == 0) return;
    const int info = results.info[block.b];
    const bool symmetrise = symmetric[block.b] != 0 && info == 0;
    T largest = T(0);
    if (symmetrise || results.largest != nullptr) {
        block.for_values([](T value, T& staged, T&, bool) { staged = value; });
        __syncwarp();
        block.for_values([&](T& value, T staged, T mirrored, bool off_diagonal) {
            const T x = symmetrise && off_diagonal ? average(staged, mirrored) : staged;
            if (symmetrise) value = x;
            largest = fmax(largest, fabs(x));
        });
        largest = lanes_max(largest);
    }
    if (threadIdx.x % 32 == 0) {
        report_block(results, block.b, info, results.reciprocal_condition[block.b], largest);
    }
}

template <class T>
void setup_large(const Context& context, const SetupJob<T>& job) {
    using batched::BatchView;
    const PackedBlocks<T>& blocks = job.blocks;
    const int bytes = warps * warp_bytes<T>(blocks.largest);
    const auto launch = [&](auto kernel, auto... arguments) {
        TESSERA_CUDA(
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
        kernel<<<blocks_for(blocks.count, warps), 32 * warps, bytes, stream_of(context)>>>(
            arguments...);
        TESSERA_CUDA(cudaGetLastError());
    };
    launch(extract_kernel<T>, job.matrix, blocks, job.inverses, job.symmetric);
    const BatchView<T> batch =
        job.plan == nullptr
            ? BatchView<T>::uniform(blocks.count, blocks.largest, job.inverses)
            : BatchView<T>::packed(blocks.count, job.sizes, blocks.entry_offsets, job.inverses);
    batched::invert_with_condition<T>(
        context, batch, batch, {job.results.info, job.results.reciprocal_condition}, job.plan);
    launch(finish_kernel<T>, blocks, job.inverses, job.symmetric, job.results);
}

}  // namespace

template <class T>
void setup(const Context& context, const SetupJob<T>& job) {
    if (job.blocks.count == 0) return;
    if (job.blocks.largest > max_fused_rows) return setup_large(context, job);
    const auto fused = job.reduced.bytes != nullptr ? setup_fused<T, true> : setup_fused<T, false>;
    fused(context, job);
}

template decltype(setup<float>) setup<float>;
template decltype(setup<double>) setup<double>;

}  // namespace tessera::cuda
