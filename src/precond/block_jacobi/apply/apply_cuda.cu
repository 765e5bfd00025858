#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "gpu/scan.cuh"
#include "precond/block_jacobi/apply/block_pipeline.cuh"

namespace tessera::cuda {

/// In stored_blocks_ring.cuh: blocks of up to 32 rows, by bulk copies.
template <class T>
void apply_ring(const Context& context, const StoredBlocks& blocks, batched::Transpose transpose,
                Index vectors, const T* r, Offset r_leading, T* z, Offset z_leading);

namespace {

constexpr int threads = 128;
constexpr int team = 64;  ///< Threads of a group.
constexpr int warps = threads / 32;

/// z_b = X_b r_b, a thread a row, straight from global memory. The sums are those of the ring.
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
    with_format<T>(blocks.formats == nullptr ? blocks.format : blocks.formats[block], [&](auto f) {
        constexpr BlockFormat format = decltype(f)::value;
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

template <class T, int Vectors, bool Transposed>
void launch_apply_rows(const Context& context, const StoredBlocks& blocks, Index vectors,
                       const T* r, Offset r_leading, T* z, Offset z_leading) {
    apply_rows_kernel<T, Vectors, Transposed>
        <<<blocks_for(blocks.group_count, threads / team), threads, 0, stream_of(context)>>>(
            blocks, vectors, r, r_leading, z, z_leading);
    TESSERA_CUDA(cudaGetLastError());
}

/// f(first row, rows, value(i, j)) for the block of this warp.
template <class T, class F>
__device__ __forceinline__ void with_own_block(const StoredBlocks& blocks, F&& f) {
    const Index block = Index(blockIdx.x) * warps + Index(threadIdx.x) / 32;
    if (block >= blocks.count) return;
    const Index row = __ldg(blocks.block_offsets + block);
    const int n = __ldg(blocks.block_offsets + block + 1) - row;
    const std::byte* const bytes = blocks.bytes + __ldg(blocks.starts + block) * blocks.unit;
    with_format<T>(
        blocks.formats == nullptr ? blocks.format : blocks.formats[block], [&](auto format) {
            constexpr BlockFormat known = decltype(format)::value;
            f(block, row, n, [&](int entry) {
                return widen<T, known>(stored_bits<known>(bytes + entry * bytes_of(known)));
            });
        });
}

template <class T>
__global__ void __launch_bounds__(threads)
    expand_kernel(StoredBlocks blocks, const Offset* entry_offsets, T* values) {
    with_own_block<T>(blocks, [&](Index block, Index, int n, auto&& value) {
        T* const to = values + entry_offsets[block];
        for (int e = int(threadIdx.x) % 32; e < n * n; e += 32) to[e] = value(e);
    });
}

template <class T>
__global__ void __launch_bounds__(threads)
    csr_kernel(StoredBlocks blocks, const Offset* entry_offsets, Offset* row_offsets,
               Index* column_indices, T* values) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        row_offsets[blocks.rows] = entry_offsets[blocks.count];
    }
    with_own_block<T>(blocks, [&](Index block, Index row, int n, auto&& value) {
        const Offset first = entry_offsets[block];
        const int lane = int(threadIdx.x) % 32;
        for (int i = lane; i < n; i += 32) row_offsets[row + i] = first + i * n;
        for (int e = lane; e < n * n; e += 32) {
            const int i = e / n;
            column_indices[first + e] = row + (e - i * n);
            values[first + e] = value(i + (e - i * n) * n);
        }
    });
}

__global__ void __launch_bounds__(threads) other_size_kernel(StoredBlocks blocks, Index* found) {
    const Index block = Index(blockIdx.x) * threads + Index(threadIdx.x);
    if (block < blocks.count && blocks.block_offsets[block] != block * blocks.largest) *found = 1;
}

__global__ void __launch_bounds__(threads)
    most_units_kernel(StoredBlocks blocks, Index each, Index* most) {
    const Offset first = (Offset(blockIdx.x) * threads + Offset(threadIdx.x)) * each;
    unsigned units = 0;
    if (first < blocks.count) {
        const Offset end = min(first + each, Offset(blocks.count));
        units = unsigned(blocks.starts[end] - blocks.starts[first]);
    }
    units = __reduce_max_sync(full_warp, units);
    if (threadIdx.x % 32 == 0) atomicMax(most, Index(units));
}

/// What a kernel leaves in a number that was 0; waits.
template <class F>
Index found_by(const Context& context, F&& launch) {
    Index found = 0;
    Buffer<Index> there(context, 1);
    copy_from_host(context, std::span<const Index>(&found, 1), there.view());
    launch(there.data());
    TESSERA_CUDA(cudaGetLastError());
    copy_to_host(context, std::as_const(there).view(), std::span<Index>(&found, 1));
    return found;
}

}  // namespace

template <class T>
void apply(const Context& context, const StoredBlocks& blocks, batched::Transpose transpose,
           Index vectors, const T* r, Offset r_leading, T* z, Offset z_leading) {
    if (blocks.count == 0 || vectors <= 0) return;
    if (blocks.largest <= 32 && bulk_copies()) {
        apply_ring(context, blocks, transpose, vectors, r, r_leading, z, z_leading);
        return;
    }
    const bool transposed = transpose == batched::Transpose::yes;
    const auto launch =
        vectors == 1 ? transposed ? launch_apply_rows<T, 1, true> : launch_apply_rows<T, 1, false>
        : transposed ? launch_apply_rows<T, 4, true>
                     : launch_apply_rows<T, 4, false>;
    launch(context, blocks, vectors, r, r_leading, z, z_leading);
}

template <class T>
void expand(const Context& context, const StoredBlocks& blocks, const Offset* entry_offsets,
            T* values) {
    if (blocks.count == 0) return;
    expand_kernel<T><<<blocks_for(blocks.count, warps), threads, 0, stream_of(context)>>>(
        blocks, entry_offsets, values);
    TESSERA_CUDA(cudaGetLastError());
}

template <class T>
CsrMatrix<T> to_csr(const Context& context, const StoredBlocks& blocks) {
    Buffer<Offset> entry_offsets(context, Offset(blocks.count) + 1);
    exclusive_scan(
        context, blocks.count,
        [offsets = blocks.block_offsets] __device__(Offset b) -> Offset {
            const Offset n = offsets[b + 1] - offsets[b];
            return n * n;
        },
        entry_offsets.data());
    Offset entries = 0;
    copy_to_host(context, std::span<const Offset>(entry_offsets.data() + blocks.count, 1),
                 std::span<Offset>(&entries, 1));
    CsrMatrix<T> matrix(context, blocks.rows, blocks.rows, entries);
    csr_kernel<T>
        <<<std::max(blocks_for(blocks.count, warps), 1u), threads, 0, stream_of(context)>>>(
            blocks, entry_offsets.data(), matrix.row_offsets().data(),
            matrix.column_indices().data(), matrix.values().data());
    TESSERA_CUDA(cudaGetLastError());
    return matrix;
}

bool have_one_size(const Context& context, const StoredBlocks& blocks) {
    if (blocks.count == 0) return true;
    return found_by(context, [&](Index* found) {
               other_size_kernel<<<blocks_for(blocks.count, threads), threads, 0,
                                   stream_of(context)>>>(blocks, found);
           }) == 0;
}

Index most_units(const Context& context, const StoredBlocks& blocks) {
    if (blocks.count == 0) return 0;
    const Index each = most_units_blocks(blocks.largest);
    return found_by(context, [&](Index* most) {
        most_units_kernel<<<blocks_for((blocks.count + each - 1) / each, threads), threads, 0,
                            stream_of(context)>>>(blocks, each, most);
    });
}

#define TESSERA_INSTANTIATE(T)                                                             \
    template void apply<T>(const Context&, const StoredBlocks&, batched::Transpose, Index, \
                           const T*, Offset, T*, Offset);                                  \
    template void expand<T>(const Context&, const StoredBlocks&, const Offset*, T*);       \
    template CsrMatrix<T> to_csr<T>(const Context&, const StoredBlocks&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::cuda
