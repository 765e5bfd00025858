#pragma once

#include <bit>
#include <utility>

#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "gpu/tuning/sparse_h200.hpp"
#include "gpu/warp.cuh"
#include "sparse/find_blocks/kernels.hpp"

/// Greedy segmentation by transition maps and a scan: each item has a successor, and the starts are
/// the items that are reached from item 0. Segments of 64 items make chunks of 2048. For each
/// possible entry into a segment one thread follows the successors to the exit; these transition
/// maps are composed, first to those of chunks, then over all chunks by a scan.
namespace tessera::cuda {

inline constexpr int max_step = 64;  ///< Largest distance of an item and its successor.
inline constexpr int segment_items = 64;
inline constexpr int chunk_segments = 32;
inline constexpr int chunk_items = segment_items * chunk_segments;
inline constexpr int thread_items = chunk_items / segmentation_threads;  ///< Eight, a byte each.
inline constexpr int no_entry = 255;                                     ///< Past the last item.

/// Result of following the successors of an item.
struct Transition {
    std::uint16_t to;              ///< The item reached, counted from the first item of the chunk.
    std::uint16_t count;           ///< Number of steps.
    unsigned squares_and_largest;  ///< 256 times the sum of squares, plus the largest step.

    __device__ void append(const Transition& more) {
        to = more.to;
        count = std::uint16_t(count + more.count);
        squares_and_largest = ((squares_and_largest & ~255u) + (more.squares_and_largest & ~255u)) |
                              max(squares_and_largest & 255u, more.squares_and_largest & 255u);
    }
};

struct SegmentationTotals {
    unsigned long long sum_of_squares;
    int count;
    int largest;
};
static_assert(compose_warps == 32 && compose_chunks <= 32 * compose_warps);

/// Arrays that the kernels pass on, for all chunks.
struct SegmentationScratch {
    std::uint8_t* steps;  ///< [item]: distance of its successor.
    /// [chunk][segment][entry]: the entry of the segment if the chunk is entered at item `entry`.
    std::uint8_t* segment_entries;
    /// [chunk][entry], 64 entries: the entry of the next chunk if this one is entered at `entry`.
    std::uint8_t* exits;
    Transition* transitions;  ///< [chunk][entry], 64 entries.
    std::uint8_t* entries;    ///< [chunk]
    Index* bases;             ///< [chunk]: starts before the chunk; last: all starts.
    SegmentationTotals* totals;
};

/// Items of the chunk that starts with item `first`.
__device__ inline int chunk_length(Offset first, Index count) {
    return int(min(Offset(chunk_items), Offset(count) - first));
}

/// From `item` to the first successor from `end` on.
__device__ inline Transition follow_steps(int end, int item, const std::uint8_t* steps) {
    unsigned steps_taken = 0;
    unsigned squares = 0;
    unsigned largest = 0;
    for (; item < end; ++steps_taken) {
        const unsigned step = steps[item];
        squares += step * step;
        largest = max(largest, step);
        item += int(step);
    }
    return {std::uint16_t(item), std::uint16_t(steps_taken), squares * 256 + largest};
}

// Loops are not unrolled: in kernels of a few microseconds, fetching instructions costs more.

/// Greedy segmentation, first pass: the transition map of each chunk. One thread block per chunk:
/// one thread per segment and entry follows the successors, then one thread per entry composes the
/// maps of the segments. 1 << entry_bits possible entries.
template <class Next>
__global__ void __launch_bounds__(segmentation_threads)
    scan_transitions_kernel(Index count, Next next, int entry_bits, SegmentationScratch scratch) {
    __shared__ __align__(8) std::uint8_t steps[chunk_items];
    __shared__ Transition transitions[chunk_segments * max_step];
    begin_dependent();
    const Offset first = Offset(blockIdx.x) * chunk_items;
    const int length = chunk_length(first, count);
    const int thread = int(threadIdx.x);
    if constexpr (requires { Next::staged_words; }) {
        __shared__ unsigned staged[Next::staged_words];
        next.stage(Index(first), count, staged);
    }
#pragma unroll 2
    for (int k = 0; k < thread_items; ++k) {
        const int item = thread + k * segmentation_threads;
        const Index index = Index(first) + item;
        steps[item] = std::uint8_t(item < length ? next(index) - index : 0);
    }
    __syncthreads();
    reinterpret_cast<uint2*>(scratch.steps + first)[thread] =
        reinterpret_cast<const uint2*>(steps)[thread];

    const int entry_count = 1 << entry_bits;
#pragma unroll 1
    for (int task = thread; task < chunk_segments << entry_bits; task += segmentation_threads) {
        const int segment = task >> entry_bits;
        const int end = min((segment + 1) * segment_items, length);
        transitions[task] =
            follow_steps(end, segment * segment_items + (task & (entry_count - 1)), steps);
    }
    __syncthreads();
    if (thread >= max_step) return;
    Transition transition{std::uint16_t(thread), 0, 0};
    if (thread < entry_count) {
        std::uint8_t* const segment_entries =
            scratch.segment_entries + (Offset(blockIdx.x) * chunk_segments << entry_bits) + thread;
#pragma unroll 1
        for (int segment = 0; segment < chunk_segments; ++segment) {
            const int inside =
                transition.to < length ? transition.to - segment * segment_items : no_entry;
            segment_entries[segment << entry_bits] = std::uint8_t(inside);
            if (inside != no_entry)
                transition.append(transitions[(segment << entry_bits) + inside]);
        }
    }
    const Offset offset = Offset(blockIdx.x) * max_step + thread;
    scratch.exits[offset] =
        std::uint8_t(thread < entry_count ? max(int(transition.to) - length, 0) : 0);
    scratch.transitions[offset] = transition;
}

/// Scan of the chunks' transition maps under composition, and the totals. One thread block for all:
/// tile by tile of chunks, each warp a run of consecutive ones. A warp composes the maps from the
/// first chunk of its run on; once the entry of the run is known, it looks up entries and counts.
static __global__ void __launch_bounds__(32 * compose_warps)
    compose_transitions_kernel(Offset chunks, SegmentationScratch scratch) {
    __shared__ __align__(16) std::uint8_t exits[compose_chunks][max_step];
    __shared__ std::uint8_t warp_exits[compose_warps][max_step];
    __shared__ std::uint8_t warp_entries[compose_warps + 1];
    __shared__ SegmentationTotals warp_totals[compose_warps];
    begin_dependent();
    const int lane = int(threadIdx.x) % 32;
    const int run = int(threadIdx.x) / 32;
    SegmentationTotals total{0, 0, 0};
    unsigned tile_entry = 0;
    for (Offset first = 0; first < chunks; first += compose_chunks) {
        const int chunk_count = int(min(Offset(compose_chunks), chunks - first));
        const int each = (chunk_count + compose_warps - 1) / compose_warps;
        const int begin = min(run * each, chunk_count);
        const int end = min(begin + each, chunk_count);
        const auto* const from = reinterpret_cast<const uint4*>(scratch.exits + first * max_step);
#pragma unroll 2
        for (int k = int(threadIdx.x); k < chunk_count * max_step / 16; k += 32 * compose_warps) {
            reinterpret_cast<uint4*>(exits[0])[k] = from[k];
        }
        __syncthreads();
        int low = lane;
        int high = lane + 32;
#pragma unroll 1
        for (int c = begin; c < end; ++c) {
            low = exits[c][low];
            high = exits[c][high];
            __syncwarp();
            exits[c][lane] = std::uint8_t(low);
            exits[c][lane + 32] = std::uint8_t(high);
        }
        warp_exits[run][lane] = std::uint8_t(low);
        warp_exits[run][lane + 32] = std::uint8_t(high);
        __syncthreads();
        if (threadIdx.x == 0) {
            unsigned entry = tile_entry;
#pragma unroll 1
            for (int r = 0; r < compose_warps; ++r) {
                warp_entries[r] = std::uint8_t(entry);
                entry = warp_exits[r][entry];
            }
            warp_entries[compose_warps] = std::uint8_t(entry);
        }
        __syncthreads();
        tile_entry = warp_entries[compose_warps];

        const int chunk = begin + lane;
        Transition inside{0, 0, 0};
        if (chunk < end) {
            const int entry =
                chunk == begin ? warp_entries[run] : exits[chunk - 1][warp_entries[run]];
            inside = scratch.transitions[(first + chunk) * max_step + entry];
            scratch.entries[first + chunk] = std::uint8_t(entry);
        }
        const Index inclusive = warp_inclusive_scan(Index(inside.count));
        const SegmentationTotals sum{
            lanes_sum(static_cast<unsigned long long>(inside.squares_and_largest / 256)),
            __shfl_sync(full_warp, inclusive, 31),
            lanes_max(int(inside.squares_and_largest & 255u))};
        if (lane == 0) warp_totals[run] = sum;
        __syncthreads();
        const SegmentationTotals other = warp_totals[lane];
        const Index runs_before = warp_inclusive_scan(Index(other.count)) - Index(other.count);
        const Index before = total.count + __shfl_sync(full_warp, runs_before, run);
        if (chunk < end) scratch.bases[first + chunk] = before + inclusive - Index(inside.count);
        total.sum_of_squares += lanes_sum(other.sum_of_squares);
        total.count += __shfl_sync(full_warp, runs_before + Index(other.count), 31);
        total.largest = max(total.largest, lanes_max(other.largest));
    }
    if (threadIdx.x != 0) return;
    scratch.bases[chunks] = total.count;
    *scratch.totals = total;
}

/// Greedy segmentation, last pass: the starts of chunks of known entry. One thread block per chunk:
/// one lane per segment collects them as bits, then all threads write.
static __global__ void __launch_bounds__(segmentation_threads)
    write_starts_kernel(Index count, int entry_bits, Offset chunks, SegmentationScratch scratch,
                        Index* starts) {
    __shared__ __align__(8) std::uint8_t steps[chunk_items];
    __shared__ unsigned long long segment_bits[chunk_segments];
    __shared__ int segment_bases[chunk_segments];
    begin_dependent();
    const Offset first = Offset(blockIdx.x) * chunk_items;
    const int length = chunk_length(first, count);
    const int thread = int(threadIdx.x);
    if (first == 0 && thread == 0) starts[scratch.bases[chunks]] = count;
    if (length <= 0) return;
    reinterpret_cast<uint2*>(steps)[thread] =
        reinterpret_cast<const uint2*>(scratch.steps + first)[thread];
    __syncthreads();
    if (thread < chunk_segments) {
        const int chunk_entry = scratch.entries[blockIdx.x];
        const Offset map = (Offset(blockIdx.x) * chunk_segments + thread) << entry_bits;
        const int entry =
            chunk_entry < length ? scratch.segment_entries[map + chunk_entry] : no_entry;
        unsigned long long items = 0;
        if (entry != no_entry) {
            const int end = min(segment_items, length - thread * segment_items);
            for (int item = entry; item < end; item += steps[thread * segment_items + item]) {
                items |= 1ull << item;
            }
        }
        segment_bits[thread] = items;
        const int item_count = __popcll(items);
        segment_bases[thread] = warp_inclusive_scan(item_count) - item_count;
    }
    __syncthreads();
    const Index base = scratch.bases[blockIdx.x];
#pragma unroll 2
    for (int k = 0; k < thread_items; ++k) {
        const int item = thread + k * segmentation_threads;
        const unsigned long long items = segment_bits[item / segment_items];
        const unsigned long long bit = 1ull << (item % segment_items);
        if ((items & bit) != 0) {
            starts[base + segment_bases[item / segment_items] + __popcll(items & (bit - 1))] =
                Index(first) + item;
        }
    }
}

/// Scratch of segment_greedily in `memory`, which may be null; `bytes`: its size.
inline SegmentationScratch carve_scratch(Index count, int max_distance, std::uint8_t* memory,
                                         Offset& bytes) {
    const Offset chunks = (Offset(count) + chunk_items - 1) / chunk_items;
    bytes = 0;
    const auto place = [&](Offset size) {
        return memory + std::exchange(bytes, (bytes + size + 255) & ~255);
    };
    return {place(chunks * chunk_items),
            place(chunks * chunk_segments << std::bit_width(unsigned(max_distance - 1))),
            place(chunks * max_step),
            reinterpret_cast<Transition*>(place(chunks * max_step * Offset(sizeof(Transition)))),
            place(chunks),
            reinterpret_cast<Index*>(place((chunks + 1) * Offset(sizeof(Index)))),
            reinterpret_cast<SegmentationTotals*>(place(Offset(sizeof(SegmentationTotals))))};
}

/// Bytes of the scratch, a multiple of 256.
inline Offset scratch_bytes(Index count, int max_distance) {
    Offset bytes = 0;
    carve_scratch(count, max_distance, nullptr, bytes);
    return bytes;
}

/// The starts among `count` items, from item 0 on. `next` is a device functor: next(i) is in
/// i+1 .. min(i+max_distance, count), max_distance in 1..64. `memory` begins with the scratch.
/// Waits.
template <class Next>
Segmentation segment_greedily(const Context& context, Index count, int max_distance, Next next,
                              Buffer<std::uint8_t> memory) {
    const cudaStream_t stream = stream_of(context);
    const Offset chunks = (Offset(count) + chunk_items - 1) / chunk_items;
    const int entry_bits = std::bit_width(unsigned(max_distance - 1));
    // Capacity for one start per item: their number is known only when the kernels end, and the GPU
    // would be idle while the host allocates.
    Segmentation segmentation{Buffer<Index>(context, Offset(count) + 1)};
    Offset bytes = 0;
    const SegmentationScratch scratch = carve_scratch(count, max_distance, memory.data(), bytes);
    if (chunks > 0) {
        launch_dependent(scan_transitions_kernel<Next>, unsigned(chunks), segmentation_threads, 0,
                         stream, count, next, entry_bits, scratch);
    }
    launch_dependent(compose_transitions_kernel, 1, 32 * compose_warps, 0, stream, chunks, scratch);
    launch_dependent(write_starts_kernel, unsigned(std::max<Offset>(chunks, 1)),
                     segmentation_threads, 0, stream, count, entry_bits, chunks, scratch,
                     segmentation.starts.data());
    SegmentationTotals totals;
    copy_to_host(context, std::span<const SegmentationTotals>(scratch.totals, 1),
                 std::span(&totals, 1));
    segmentation.largest = totals.largest;
    segmentation.sum_of_squares = Offset(totals.sum_of_squares);
    segmentation.starts.truncate(Offset(totals.count) + 1);
    return segmentation;
}

}  // namespace tessera::cuda
