#include "base/check_cuda.hpp"
#include "gpu/for_each.cuh"
#include "gpu/scan.cuh"
#include "gpu/tuning/block_jacobi_h200.hpp"
#include "gpu/warp.cuh"
#include "precond/block_jacobi/storage/format_steps.hpp"

/// Conversion of inverses to their storage formats.
namespace tessera::cuda {

namespace {

constexpr int threads = store_threads;

/// Conversion of blocks to their formats, one warp per block; reports blocks outside their range.
template <class T>
__global__ void __launch_bounds__(threads)
    store_kernel(PackedBlocks<T> blocks, const T* inverses, StoredBlocks stored, std::byte* bytes,
                 SetupSummary* summary) {
    const Offset b = (Offset(blockIdx.x) * threads + threadIdx.x) / 32;
    if (b >= blocks.count) return;
    const int n = blocks.block_offsets[b + 1] - blocks.block_offsets[b];
    const T* const from = inverses + blocks.entry_offsets[b];
    T largest = T(0);
    with_format<T>(stored.format_of(b), [&](auto known) {
        constexpr BlockPrecision in = decltype(known)::value;
        auto* const to = reinterpret_cast<StoredBits<in>*>(bytes + stored.starts[b] * stored.unit);
#pragma unroll 4
        for (int e = int(threadIdx.x) % 32; e < n * n; e += 32) {
            const T value = from[e];
            if (isfinite(value)) largest = fmax(largest, fabs(value));
            to[e] = narrow<in>(value);
        }
    });
    largest = lanes_max(largest);
    if (threadIdx.x % 32 == 0 && is_outside(stored.format_of(b), double(largest)))
        atomicOr(&summary->outside, 1);
}

struct StoredUnits {
    const Index* block_offsets;
    const BlockPrecision* formats;
    __device__ Offset operator()(Offset b) const {
        return stored_units(block_offsets[b + 1] - block_offsets[b], formats[b]);
    }
};

/// Size of the largest chunk of `each` blocks, in units of 8 bytes; one chunk per thread, one
/// atomic per warp.
__global__ void __launch_bounds__(threads)
    largest_chunk_kernel(Index count, Index each, const Offset* starts, int* max_units) {
    const Offset first = (Offset(blockIdx.x) * threads + threadIdx.x) * each;
    const int units =
        first < count ? int(starts[min(first + each, Offset(count))] - starts[first]) : 0;
    const int largest = __reduce_max_sync(full_warp, units);
    if (threadIdx.x % 32 == 0) atomicMax(max_units, largest);
}

}  // namespace

void format_starts(const Context& context, Index count, const Index* block_offsets,
                   const BlockPrecision* formats, Index each, Offset* starts) {
    exclusive_scan(context, count, StoredUnits{block_offsets, formats}, starts);
    clear(context, starts + count + 1, sizeof(Offset));
    if (count == 0) return;
    // Only the low word is set: a chunk has less than 2^31 units.
    largest_chunk_kernel<<<blocks_for((count + each - 1) / each, threads), threads, 0,
                           stream_of(context)>>>(count, each, starts,
                                                 reinterpret_cast<int*>(starts + count + 1));
    TESSERA_CUDA(cudaGetLastError());
}

template <class T>
void store_blocks(const Context& context, const PackedBlocks<T>& blocks, const T* inverses,
                  const StoredBlocks& stored, std::byte* bytes, SetupSummary* summary) {
    if (blocks.count == 0) return;
    store_kernel<T><<<blocks_for(blocks.count, threads / 32), threads, 0, stream_of(context)>>>(
        blocks, inverses, stored, bytes, summary);
    TESSERA_CUDA(cudaGetLastError());
}

void clear(const Context& context, void* memory, Offset bytes) {
    TESSERA_CUDA(cudaMemsetAsync(memory, 0, std::size_t(bytes), stream_of(context)));
}

template decltype(store_blocks<float>) store_blocks<float>;
template decltype(store_blocks<double>) store_blocks<double>;
template void for_each_index(const Context&, Offset, const ChooseFormat<float>&);
template void for_each_index(const Context&, Offset, const ChooseFormat<double>&);
template void for_each_index(const Context&, Offset, const ExpandBlock<float>&);
template void for_each_index(const Context&, Offset, const ExpandBlock<double>&);

}  // namespace tessera::cuda
