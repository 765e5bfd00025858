#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "precond/block_jacobi/apply/block_pipeline.cuh"

namespace tessera::cuda {

/// Blocks of up to 32 rows, by bulk copies; defined in apply_pipeline.cuh.
template <class T>
void apply_pipeline(const Context& context, const StoredBlocks& blocks, bool transposed,
                    Vectors<const T> r, Vectors<T> z);

namespace {

constexpr int threads = large_apply_threads;
constexpr int team = 64;  ///< Threads per group of blocks.

/// Block-diagonal matrix times vectors: one thread per row, values read from global memory. Sums
/// have the order of apply_pipeline_kernel.
template <class T, int Vectors, bool Transposed>
__global__ void __launch_bounds__(threads)
    apply_rows_kernel(StoredBlocks blocks, Index vectors, const T* r, Offset r_leading, T* z,
                      Offset z_leading) {
    constexpr int together = 8;
    const Index group = Index(blockIdx.x) * (threads / team) + Index(threadIdx.x) / team;
    if (group >= blocks.group_count) return;
    Index block = __ldg(blocks.groups + group);
    Index end = __ldg(blocks.groups + group + 1);
    const Index row = __ldg(blocks.block_offsets + block) + Index(threadIdx.x) % team;
    if (row >= __ldg(blocks.block_offsets + end)) return;
    while (end - block > 1) {
        const Index middle = block + (end - block) / 2;
        (__ldg(blocks.block_offsets + middle) <= row ? block : end) = middle;
    }
    const Index first_row = __ldg(blocks.block_offsets + block);
    const int n = __ldg(blocks.block_offsets + block + 1) - first_row;
    const int in_block = row - first_row;
    const std::byte* const bytes = blocks.bytes + __ldg(blocks.starts + block) * blocks.unit;
    with_format<T>(blocks.format_of(block), [&](auto f) {
        constexpr BlockPrecision format = decltype(f)::value;
        for (Index vector = 0; vector < vectors; vector += Vectors) {
            T sum[Vectors] = {};
            int column = Transposed ? first_column(n, in_block) : 0;
            for (int done = 0; done < n; done += together) {
                T x[together];
                int j[together];
#pragma unroll
                for (int u = 0; u < together; ++u) {
                    j[u] = column;
                    const int entry = Transposed ? in_block * n + column : column * n + in_block;
                    if (done + u < n) {
                        x[u] =
                            widen<T, format>(stored_bits<format>(bytes + entry * bytes_of(format)));
                    }
                    column = column + 1 < n ? column + 1 : 0;
                }
#pragma unroll
                for (int v = 0; v < Vectors; ++v) {
                    if (vector + v >= vectors) break;
                    const T* const factor = r + (vector + v) * r_leading + first_row;
#pragma unroll
                    for (int u = 0; u < together; ++u) {
                        if (done + u < n) sum[v] = fma(x[u], __ldg(factor + j[u]), sum[v]);
                    }
                }
            }
#pragma unroll
            for (int v = 0; v < Vectors; ++v) {
                if (vector + v < vectors) z[(vector + v) * z_leading + row] = sum[v];
            }
        }
    });
}

}  // namespace

template <class T>
void apply(const Context& context, const StoredBlocks& blocks, bool transposed, Vectors<const T> r,
           Vectors<T> z) {
    if (blocks.count == 0 || r.count == 0) return;
    if (blocks.largest <= 32 && supports_bulk_copies()) {
        return apply_pipeline(context, blocks, transposed, r, z);
    }
    const auto kernel = transposed     ? apply_rows_kernel<T, 1, true>
                        : r.count == 1 ? apply_rows_kernel<T, 1, false>
                                       : apply_rows_kernel<T, 4, false>;
    kernel<<<blocks_for(blocks.group_count, threads / team), threads, 0, stream_of(context)>>>(
        blocks, r.count, r.data, r.leading, z.data, z.leading);
    TESSERA_CUDA(cudaGetLastError());
}

template decltype(apply<float>) apply<float>;
template decltype(apply<double>) apply<double>;

}  // namespace tessera::cuda
