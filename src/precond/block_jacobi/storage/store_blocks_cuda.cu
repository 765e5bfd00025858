#include "base/check_cuda.hpp"
#include "base/host_signal.hpp"
#include "gpu/launch.cuh"
#include "gpu/scan.cuh"
#include "gpu/signal_host.cuh"
#include "gpu/warp.cuh"
#include "precond/block_jacobi/storage/choose_format.hpp"
#include "precond/block_jacobi/kernels.hpp"

/// Storage formats of inverted blocks.
namespace tessera::cuda {

namespace {

constexpr int format_threads = 256;

/// The block of this group of `Lanes` lanes, and where its values are; n is 0 behind the last.
template <class T>
struct InvertedBlock {
    Index block;
    int n;
    const T* values;
};

template <int Lanes, class T>
__device__ __forceinline__ InvertedBlock<T> inverted_block(const PackedBlocks<T>& blocks,
                                                           const T* inverses) {
    const Offset b = (Offset(blockIdx.x) * format_threads + threadIdx.x) / Lanes;
    if (b >= blocks.count) return {0, 0, inverses};
    const int n = blocks.block_offsets[b + 1] - blocks.block_offsets[b];
    return {Index(b), n, inverses + blocks.entry_offsets[b]};
}

/// Writes the blocks in their formats, and says whether a value overflows in its own.
template <class T, int Lanes>
__global__ void __launch_bounds__(format_threads)
    store_kernel(PackedBlocks<T> blocks, const T* inverses, BlockFormat format,
                 const BlockFormat* formats, const Offset* starts, int unit, std::byte* bytes,
                 SetupVerdict* verdict) {
    const InvertedBlock<T> at = inverted_block<Lanes>(blocks, inverses);
    if (at.n == 0) return;
    const int lane = int(threadIdx.x) % Lanes;
    if (formats != nullptr) format = formats[at.block];
    std::byte* const to = bytes + starts[at.block] * unit;
    bool overflow = false;
    const auto narrowed = [&](auto known, T value) {
        constexpr BlockFormat in = decltype(known)::value;
        overflow = overflow || (isfinite(value) && fabs(double(value)) > largest_finite(in));
        return narrow<in>(value);
    };
    // Pairs where they are aligned on both sides.
    const bool pairs = (reinterpret_cast<std::uintptr_t>(at.values) % (2 * sizeof(T)) |
                        reinterpret_cast<std::uintptr_t>(to) % (2 * bytes_of(format))) == 0;
    with_format<T>(format, [&](auto known) {
        using Bits = StoredBits<decltype(known)::value>;
        struct alignas(2 * sizeof(T)) Values {
            T value[2];
        };
        struct alignas(2 * sizeof(Bits)) Stored {
            Bits bits[2];
        };
        const int values = at.n * at.n;
        const int paired = pairs ? values / 2 : 0;
#pragma unroll 4
        for (int e = lane; e < paired; e += Lanes) {
            const Values two = reinterpret_cast<const Values*>(at.values)[e];
            reinterpret_cast<Stored*>(to)[e] = {
                {narrowed(known, two.value[0]), narrowed(known, two.value[1])}};
        }
#pragma unroll 4
        for (int e = 2 * paired + lane; e < values; e += Lanes) {
            reinterpret_cast<Bits*>(to)[e] = narrowed(known, at.values[e]);
        }
    });
    if (overflow) atomicOr(&verdict->overflow, 1);
}

struct StoredUnits {
    const Index* block_offsets;
    const BlockFormat* formats;
    __device__ Offset operator()(Offset b) const {
        return stored_units(block_offsets[b + 1] - block_offsets[b], formats[b]);
    }
};

__global__ void __launch_bounds__(format_threads)
    sizes_kernel(Index count, const Index* block_offsets, Index* sizes) {
    for_elements<1>(count, [&](Offset b) { sizes[b] = block_offsets[b + 1] - block_offsets[b]; });
}

/// A verdict on its way to the host.
struct HostVerdict {
    SetupVerdict* there;  ///< In the memory of the GPU; left as it is before a setup.
    std::uint64_t* words;
};

constexpr int verdict_words = 2;

__device__ __forceinline__ void hand_over(const HostVerdict& verdict) {
    SetupVerdict& there = *verdict.there;
    const SetupVerdict found{__ldcg(&there.singular), __ldcg(&there.misfits),
                             __ldcg(&there.overflow), __ldcg(&there.rows_from_end),
                             __ldcg(&there.formats)};
    tell_host(verdict.words, std::uint64_t(found.singular) | std::uint64_t(found.misfits) << 31);
    tell_host(verdict.words + 1, std::uint64_t(found.rows_from_end) |
                                     std::uint64_t(found.formats) << 32 |
                                     std::uint64_t(found.overflow != 0) << 62);
    there = {};
}

/// What hand_over told; waits for it.
SetupVerdict wait_for_verdict(const Context& context) {
    wait_for_words(context, verdict_words);
    const std::uint64_t blocks = told_word(context, 0);
    const std::uint64_t rest = told_word(context, 1);
    SetupVerdict found;
    found.singular = Index(blocks & 0x7fffffff);
    found.misfits = Index(blocks >> 31);
    found.rows_from_end = unsigned(rest);
    found.formats = unsigned(rest >> 32 & 0x3fffffff);
    found.overflow = Index(rest >> 62);
    return found;
}

/// The thread block that is the last one to judge hands the verdict over.
template <class T>
__global__ void __launch_bounds__(format_threads)
    judge_kernel(InvertedBlocks<T> blocks, const BlockFormat* formats, HostVerdict verdict) {
    begin_dependent();
    int failed = 0;
    int misfits = 0;
    for_elements<4>(blocks.count, [&](Offset b) {
        failed += blocks.info[b] != 0;
        if (formats == nullptr) return;
        misfits += !keeps_format<T>(formats[b], double(blocks.reciprocal_condition[b]),
                                    double(blocks.largest[b]), blocks.accuracy);
    });
    failed = warp_sum(failed);
    misfits = warp_sum(misfits);
    if (threadIdx.x % 32 == 0) {
        if (failed > 0) atomicAdd(&verdict.there->singular, failed);
        if (misfits > 0) atomicAdd(&verdict.there->misfits, misfits);
        __threadfence();
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    if (atomicAdd(&verdict.there->judged, 1u) + 1 < gridDim.x) return;
    __threadfence();
    hand_over(verdict);
}

template <class T>
__global__ void __launch_bounds__(format_threads)
    choose_kernel(InvertedBlocks<T> blocks, BlockFormat* formats, SetupVerdict* verdict) {
    unsigned chosen = 0;
    for_elements<4>(blocks.count, [&](Offset b) {
        formats[b] = smallest_format<T>(double(blocks.reciprocal_condition[b]),
                                        double(blocks.largest[b]), blocks.accuracy);
        chosen |= 1u << int(formats[b]);
    });
    chosen = __reduce_or_sync(full_warp, chosen);
    if (threadIdx.x % 32 == 0 && chosen != 0) atomicOr(&verdict->formats, chosen);
}

/// One thread.
__global__ void take_verdict_kernel(HostVerdict verdict) {
    begin_dependent();
    hand_over(verdict);
}

HostVerdict host_verdict(const Context& context, SetupVerdict* verdict) {
    return {verdict, expect_words(context, verdict_words)};
}

/// f(lanes a block as a constant, thread blocks).
template <class T, class F>
void with_lanes(const PackedBlocks<T>& blocks, F&& f) {
    if (blocks.count == 0) return;
    if (blocks.largest <= 6) {
        f(std::integral_constant<int, 8>(), blocks_for(blocks.count, format_threads / 8));
    } else {
        f(std::integral_constant<int, 32>(), blocks_for(blocks.count, format_threads / 32));
    }
}

}  // namespace

void block_sizes(const Context& context, Index count, const Index* block_offsets, Index* sizes) {
    if (count == 0) return;
    sizes_kernel<<<blocks_for(count, format_threads), format_threads, 0, stream_of(context)>>>(
        count, block_offsets, sizes);
    TESSERA_CUDA(cudaGetLastError());
}

template <class T>
SetupVerdict judge(const Context& context, const InvertedBlocks<T>& blocks,
                   const BlockFormat* formats, SetupVerdict* verdict) {
    if (blocks.count == 0) return {};
    const HostVerdict to = host_verdict(context, verdict);
    launch_dependent(judge_kernel<T>, blocks_for(blocks.count, 4 * format_threads), format_threads,
                     0, stream_of(context), blocks, formats, to);
    return wait_for_verdict(context);
}

template <class T>
void choose_formats(const Context& context, const InvertedBlocks<T>& blocks, BlockFormat* formats,
                    SetupVerdict* verdict) {
    if (blocks.count == 0) return;
    choose_kernel<<<blocks_for(blocks.count, 4 * format_threads), format_threads, 0,
                    stream_of(context)>>>(blocks, formats, verdict);
    TESSERA_CUDA(cudaGetLastError());
}

void format_starts(const Context& context, Index count, const Index* block_offsets,
                   const BlockFormat* formats, Offset* starts) {
    exclusive_scan(context, count, StoredUnits{block_offsets, formats}, starts);
}

template <class T>
void store_blocks(const Context& context, const PackedBlocks<T>& blocks, const T* inverses,
                  const StoredBlocks& stored, std::byte* bytes, SetupVerdict* verdict) {
    with_lanes(blocks, [&](auto lanes, unsigned grid) {
        store_kernel<T, decltype(lanes)::value><<<grid, format_threads, 0, stream_of(context)>>>(
            blocks, inverses, stored.format, stored.formats, stored.starts, stored.unit, bytes,
            verdict);
        TESSERA_CUDA(cudaGetLastError());
    });
}

void clear(const Context& context, void* memory, Offset bytes) {
    TESSERA_CUDA(cudaMemsetAsync(memory, 0, std::size_t(bytes), stream_of(context)));
}

SetupVerdict take_verdict(const Context& context, SetupVerdict* verdict) {
    const HostVerdict to = host_verdict(context, verdict);
    launch_dependent(take_verdict_kernel, 1, 1, 0, stream_of(context), to);
    return wait_for_verdict(context);
}

#define TESSERA_INSTANTIATE(T)                                                                   \
    template SetupVerdict judge<T>(const Context&, const InvertedBlocks<T>&, const BlockFormat*, \
                                   SetupVerdict*);                                               \
    template void choose_formats<T>(const Context&, const InvertedBlocks<T>&, BlockFormat*,      \
                                    SetupVerdict*);                                              \
    template void store_blocks<T>(const Context&, const PackedBlocks<T>&, const T*,              \
                                  const StoredBlocks&, std::byte*, SetupVerdict*);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::cuda
