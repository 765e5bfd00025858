#include "base/check_cuda.hpp"
#include "gpu/for_each.cuh"
#include "gpu/host_mailbox.cuh"
#include "gpu/scan.cuh"
#include "gpu/tuning/block_jacobi_h200.hpp"
#include "gpu/warp.cuh"
#include "precond/block_jacobi/storage/format_steps.hpp"

/// Conversion of inverses to their storage formats, and transfer of the setup summary to the host.
namespace tessera::cuda {

namespace {

constexpr int threads = store_threads;

/// Conversion of blocks to their formats, one warp per block; reports whether a value overflows.
template <class T>
__global__ void __launch_bounds__(threads)
    store_kernel(PackedBlocks<T> blocks, const T* inverses, StoredBlocks stored, std::byte* bytes,
                 SetupSummary* summary) {
    const Offset b = (Offset(blockIdx.x) * threads + threadIdx.x) / 32;
    if (b >= blocks.count) return;
    const int n = blocks.block_offsets[b + 1] - blocks.block_offsets[b];
    const T* const from = inverses + blocks.entry_offsets[b];
    bool overflow = false;
    with_format<T>(stored.format_of(b), [&](auto known) {
        constexpr BlockPrecision in = decltype(known)::value;
        auto* const to = reinterpret_cast<StoredBits<in>*>(bytes + stored.starts[b] * stored.unit);
#pragma unroll 4
        for (int e = int(threadIdx.x) % 32; e < n * n; e += 32) {
            const T value = from[e];
            overflow = overflow || (isfinite(value) && fabs(double(value)) > largest_finite(in));
            to[e] = narrow<in>(value);
        }
    });
    if (overflow) atomicOr(&summary->overflow, 1);
}

struct StoredUnits {
    const Index* block_offsets;
    const BlockPrecision* formats;
    __device__ Offset operator()(Offset b) const {
        return stored_units(block_offsets[b + 1] - block_offsets[b], formats[b]);
    }
};

/// Maximum of the units of chunks of `each` blocks; one chunk per thread, one atomic per warp.
__global__ void __launch_bounds__(threads)
    chunk_units_kernel(Index count, Index each, const Offset* starts, int* most) {
    const Offset first = (Offset(blockIdx.x) * threads + threadIdx.x) * each;
    const int units =
        first < count ? int(starts[min(first + each, Offset(count))] - starts[first]) : 0;
    const int largest = __reduce_max_sync(full_warp, units);
    if (threadIdx.x % 32 == 0) atomicMax(most, largest);
}

/// Transfer of the summary to the mailbox in pinned host memory, by one thread; the host sees it
/// some microseconds before the stream is idle. Clears the summary in device memory.
__global__ void send_summary_kernel(SetupSummary* summary, std::uint64_t* mailbox) {
    begin_dependent();
    const SetupSummary totals{__ldcg(&summary->singular), __ldcg(&summary->misfits),
                              __ldcg(&summary->overflow), __ldcg(&summary->rows_from_end),
                              __ldcg(&summary->formats)};
    write_mailbox(mailbox, std::uint64_t(totals.singular) | std::uint64_t(totals.misfits) << 31);
    write_mailbox(mailbox + 1, std::uint64_t(totals.rows_from_end) |
                                   std::uint64_t(totals.formats) << 32 |
                                   std::uint64_t(totals.overflow != 0) << 62);
    *summary = {};
}

}  // namespace

void format_starts(const Context& context, Index count, const Index* block_offsets,
                   const BlockPrecision* formats, Index each, Offset* starts) {
    exclusive_scan(context, count, StoredUnits{block_offsets, formats}, starts);
    clear(context, starts + count + 1, sizeof(Offset));
    if (count == 0) return;
    // Only the low word is set: a chunk has less than 2^31 units.
    chunk_units_kernel<<<blocks_for((count + each - 1) / each, threads), threads, 0,
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

SetupSummary fetch_setup_summary(const Context& context, SetupSummary* summary) {
    constexpr int words = 2;
    std::uint64_t* const mailbox = clear_mailbox(context, words);
    launch_dependent(send_summary_kernel, 1, 1, 0, stream_of(context), summary, mailbox);
    wait_for_mailbox(context, words);
    const std::uint64_t blocks = read_mailbox(context, 0);
    const std::uint64_t rest = read_mailbox(context, 1);
    SetupSummary result;
    result.singular = Index(blocks & 0x7fffffff);
    result.misfits = Index(blocks >> 31);
    result.rows_from_end = unsigned(rest);
    result.formats = unsigned(rest >> 32 & 0x3fffffff);
    result.overflow = Index(rest >> 62);
    return result;
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
