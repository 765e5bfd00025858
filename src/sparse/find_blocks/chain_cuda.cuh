#pragma once

#include <bit>
#include <utility>

#include "base/check_cuda.hpp"
#include "base/host_signal.hpp"
#include "gpu/launch.cuh"
#include "gpu/signal_host.cuh"
#include "gpu/warp.cuh"
#include "sparse/find_blocks/kernels.hpp"

/// Following a chain of items in parallel: parts of 64 items make chunks of 2048. For each possible
/// entry (where the chain gets into a part) a thread walks through the part to its exit; these maps
/// compose, first to those of chunks, then over all chunks.
namespace tessera::cuda {

inline constexpr int chain_reach = 64;  ///< No item's successor is further than that.
inline constexpr int chain_part = 64;
inline constexpr int chain_parts = 32;  ///< A chunk.
inline constexpr int chain_chunk = chain_part * chain_parts;
inline constexpr int chain_threads = 256;
inline constexpr int chain_items = chain_chunk / chain_threads;  ///< Of a thread: eight bytes.
inline constexpr int chain_runs = 32;                            ///< Of chunks, a warp each.
inline constexpr int chain_tile = 640;                           ///< Chunks composed at once.
inline constexpr int chain_stretch = 8;                          ///< Parts.
inline constexpr int chain_stretches = chain_parts / chain_stretch;
static_assert(chain_stretches * chain_reach == chain_threads);
inline constexpr int chain_none = 255;  ///< No entry: the chain has ended.

/// A walk along the chain.
struct Walk {
    std::uint16_t to;  ///< Where it gets to, counted from the first item of the chunk.
    std::uint16_t count;
    unsigned squares_largest;  ///< 256 times the sum of squares, plus the largest step.

    __device__ void append(const Walk& more) {
        to = more.to;
        count = std::uint16_t(count + more.count);
        squares_largest = ((squares_largest & ~255u) + (more.squares_largest & ~255u)) |
                          max(squares_largest & 255u, more.squares_largest & 255u);
    }
};

/// What the host wants to know.
struct ChainTotals {
    unsigned long long squares;
    int count;
    int largest;
};
static_assert(chain_runs == 32 && chain_tile <= 32 * chain_runs);
inline constexpr int chain_words = 2;  ///< That these are told in.

__device__ inline void tell_totals(std::uint64_t* words, const ChainTotals& totals) {
    tell_host(words, totals.squares);
    tell_host(words + 1, std::uint64_t(totals.count) | std::uint64_t(totals.largest) << 32);
}

/// What the kernels hand on; of all chunks.
struct ChainScratch {
    std::uint8_t* steps;  ///< An item: how far its successor is.
    /// [chunk][part][entry]: where the chain gets into the part if it gets into the stretch of the
    /// part at item `entry`; in the place of the first part of a stretch: where it gets into that
    /// if it gets into the stretch before at `entry`.
    std::uint8_t* part_entries;
    /// [chunk][entry], 64 entries: where the chain gets into the next chunk if it gets into this
    /// one at item `entry`.
    std::uint8_t* exits;
    Walk* walks;            ///< [chunk][entry], 64 entries.
    std::uint8_t* entries;  ///< [chunk]
    Index* bases;           ///< [chunk]: items of the chain before it; behind the last: all.
    int* equal_step;        ///< Of all items but the last, if that is known; then no more is to do.
    std::uint64_t* words;   ///< Where the host waits for the totals.
};

/// Items of the chunk that starts with item `first`.
__device__ inline int chunk_length(Offset first, Index count) {
    return int(min(Offset(chain_chunk), Offset(count) - first));
}

/// From `item` to the first item of the chain from `end` on.
__device__ inline Walk walk_to(int end, int item, const std::uint8_t* steps) {
    unsigned walked = 0;
    unsigned squares = 0;
    unsigned largest = 0;
    for (; item < end; ++walked) {
        const unsigned step = steps[item];
        squares += step * step;
        largest = max(largest, step);
        item += int(step);
    }
    return {std::uint16_t(item), std::uint16_t(walked), squares * 256 + largest};
}

/// The part of a chunk in the chain 0, step, 2 step, ..; its totals. A thread block.
__device__ inline void write_equal_chain(Index count, int step, Index first, int length,
                                         std::uint64_t* words, Index* starts) {
    if (first == 0 && threadIdx.x == 0) {
        const Index blocks = (count + step - 1) / step;
        const unsigned long long last = count - (blocks - 1) * step;
        const unsigned long long full = static_cast<unsigned long long>(blocks - 1) * (step * step);
        tell_totals(words, {full + last * last, blocks, min(step, count)});
        starts[blocks] = count;
    }
    const Index begin = (first + step - 1) / step;
    const Index end = (first + length + step - 1) / step;
    for (Index b = begin + int(threadIdx.x); b < end; b += chain_threads) starts[b] = b * step;
}

// These kernels run for a few microseconds, in which instructions come from far: loops that are not
// unrolled are faster.

/// A thread block a chunk; 1 << entry_bits entries are possible.
template <class Next>
__global__ void __launch_bounds__(chain_threads)
    chain_map_kernel(Index count, Next next, int entry_bits, ChainScratch scratch, Index* starts) {
    __shared__ __align__(8) std::uint8_t steps[chain_chunk];
    __shared__ Walk walks[chain_parts * chain_reach];
    begin_dependent();
    const Offset first = Offset(blockIdx.x) * chain_chunk;
    const int length = chunk_length(first, count);
    const int thread = int(threadIdx.x);
    int equal_step = 0;
    if constexpr (requires { Next::staged_words; }) {
        __shared__ unsigned staged[Next::staged_words];
        equal_step = next.stage(Index(first), count, staged);
    }
    if (first == 0 && thread == 0) *scratch.equal_step = equal_step;
    if (equal_step > 0) {
        return write_equal_chain(count, equal_step, Index(first), length, scratch.words, starts);
    }
#pragma unroll 2
    for (int k = 0; k < chain_items; ++k) {
        const int item = thread + k * chain_threads;
        const Index at = Index(first) + item;
        steps[item] = std::uint8_t(item < length ? next(at) - at : 0);
    }
    __syncthreads();
    reinterpret_cast<uint2*>(scratch.steps + first)[thread] =
        reinterpret_cast<const uint2*>(steps)[thread];

    const int entry_count = 1 << entry_bits;
#pragma unroll 1
    for (int task = thread; task < chain_parts << entry_bits; task += chain_threads) {
        const int part = task >> entry_bits;
        const int end = min((part + 1) * chain_part, length);
        walks[task] = walk_to(end, part * chain_part + (task & (entry_count - 1)), steps);
    }
    __syncthreads();
    // Through a stretch from each of its entries; then from stretch to stretch.
    Walk* const stretch_walks = reinterpret_cast<Walk*>(steps);  // These are in their place.
    const int entry = thread % chain_reach;
    if (entry < entry_count) {
        std::uint8_t* const part_entries =
            scratch.part_entries + (Offset(blockIdx.x) * chain_parts << entry_bits) + entry;
        const int first_part = thread / chain_reach * chain_stretch;
        Walk walk{std::uint16_t(first_part * chain_part + entry), 0, 0};
#pragma unroll 1
        for (int part = first_part; part < first_part + chain_stretch; ++part) {
            const int inside = walk.to < length ? walk.to - part * chain_part : chain_none;
            if (part > first_part || part == 0) {
                part_entries[part << entry_bits] = std::uint8_t(inside);
            }
            if (inside != chain_none) walk.append(walks[(part << entry_bits) + inside]);
        }
        const int next = first_part + chain_stretch;
        if (next < chain_parts) {
            part_entries[next << entry_bits] =
                std::uint8_t(walk.to < length ? walk.to - next * chain_part : chain_none);
        }
        stretch_walks[thread] = walk;
    }
    __syncthreads();
    if (thread >= chain_reach) return;
    Walk walk{std::uint16_t(thread), 0, 0};
    if (thread < entry_count) {
        walk = stretch_walks[thread];
#pragma unroll 1
        for (int s = 1; s < chain_stretches && walk.to < length; ++s) {
            const int inside = walk.to - s * chain_stretch * chain_part;
            walk.append(stretch_walks[s * chain_reach + inside]);
        }
    }
    const Offset at = Offset(blockIdx.x) * chain_reach + thread;
    scratch.exits[at] = std::uint8_t(thread < entry_count ? max(int(walk.to) - length, 0) : 0);
    scratch.walks[at] = walk;
}

/// Composes the maps of the chunks, and sums up. One thread block. It takes a tile of chunks at a
/// time, each warp a run of these: it replaces their maps by those from the run's first chunk on;
/// then, the entry of the run known, it looks up the entries and counts inside.
static __global__ void __launch_bounds__(32 * chain_runs)
    chain_compose_kernel(Offset chunks, ChainScratch scratch) {
    __shared__ __align__(16) std::uint8_t exits[chain_tile][chain_reach];
    __shared__ std::uint8_t run_exits[chain_runs][chain_reach];
    __shared__ std::uint8_t run_entries[chain_runs + 1];
    __shared__ ChainTotals run_totals[chain_runs];
    begin_dependent();
    if (chunks > 0 && *scratch.equal_step > 0) return;
    const int lane = int(threadIdx.x) % 32;
    const int run = int(threadIdx.x) / 32;
    ChainTotals total{0, 0, 0};
    unsigned tile_entry = 0;
    for (Offset first = 0; first < chunks; first += chain_tile) {
        const int here = int(min(Offset(chain_tile), chunks - first));
        const int each = (here + chain_runs - 1) / chain_runs;
        const int begin = min(run * each, here);
        const int end = min(begin + each, here);
        const auto* const from =
            reinterpret_cast<const uint4*>(scratch.exits + first * chain_reach);
#pragma unroll 2
        for (int k = int(threadIdx.x); k < here * chain_reach / 16; k += 32 * chain_runs) {
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
        run_exits[run][lane] = std::uint8_t(low);
        run_exits[run][lane + 32] = std::uint8_t(high);
        __syncthreads();
        if (threadIdx.x == 0) {
            unsigned entry = tile_entry;
#pragma unroll 1
            for (int r = 0; r < chain_runs; ++r) {
                run_entries[r] = std::uint8_t(entry);
                entry = run_exits[r][entry];
            }
            run_entries[chain_runs] = std::uint8_t(entry);
        }
        __syncthreads();
        tile_entry = run_entries[chain_runs];

        const int chunk = begin + lane;
        Walk inside{0, 0, 0};
        if (chunk < end) {
            const int entry =
                chunk == begin ? run_entries[run] : exits[chunk - 1][run_entries[run]];
            inside = scratch.walks[(first + chunk) * chain_reach + entry];
            scratch.entries[first + chunk] = std::uint8_t(entry);
        }
        const Index inclusive = warp_inclusive_scan(Index(inside.count));
        const ChainTotals sum{
            warp_sum(static_cast<unsigned long long>(inside.squares_largest / 256)),
            __shfl_sync(full_warp, inclusive, 31), lanes_max(int(inside.squares_largest & 255u))};
        if (lane == 0) run_totals[run] = sum;
        __syncthreads();
        const ChainTotals other = run_totals[lane];
        const Index runs_before = warp_inclusive_scan(Index(other.count)) - Index(other.count);
        const Index before = total.count + __shfl_sync(full_warp, runs_before, run);
        if (chunk < end) scratch.bases[first + chunk] = before + inclusive - Index(inside.count);
        total.squares += warp_sum(other.squares);
        total.count += __shfl_sync(full_warp, runs_before + Index(other.count), 31);
        total.largest = max(total.largest, lanes_max(other.largest));
    }
    if (threadIdx.x != 0) return;
    scratch.bases[chunks] = total.count;
    tell_totals(scratch.words, total);
}

/// A thread block a chunk, whose entry is known: the items of its chain, a bit each, by a lane a
/// part; then in their places.
static __global__ void __launch_bounds__(chain_threads)
    chain_write_kernel(Index count, int entry_bits, Offset chunks, ChainScratch scratch,
                       Index* starts) {
    __shared__ __align__(8) std::uint8_t steps[chain_chunk];
    __shared__ std::uint8_t part_entries[chain_parts * chain_reach];
    __shared__ int stretch_entries[chain_stretches];
    __shared__ unsigned long long part_items[chain_parts];
    __shared__ int part_bases[chain_parts];
    begin_dependent();
    const Offset first = Offset(blockIdx.x) * chain_chunk;
    const int length = chunk_length(first, count);
    const int thread = int(threadIdx.x);
    if (chunks > 0 && *scratch.equal_step > 0) return;
    if (first == 0 && thread == 0) starts[scratch.bases[chunks]] = count;
    if (length <= 0) return;
    reinterpret_cast<uint2*>(steps)[thread] =
        reinterpret_cast<const uint2*>(scratch.steps + first)[thread];
    for (int k = thread; k < chain_parts << entry_bits; k += chain_threads) {
        part_entries[k] =
            scratch.part_entries[(Offset(blockIdx.x) * chain_parts << entry_bits) + k];
    }
    __syncthreads();
    if (thread < chain_parts) {
        if (thread == 0) {
            int entry = scratch.entries[blockIdx.x];
            if (entry >= length) entry = chain_none;
            for (int s = 0; s < chain_stretches; ++s) {
                if (s > 0 && entry != chain_none) {
                    entry = part_entries[(s * chain_stretch << entry_bits) + entry];
                }
                stretch_entries[s] = entry;
            }
        }
        __syncwarp();
        int entry = stretch_entries[thread / chain_stretch];
        if (thread % chain_stretch != 0 && entry != chain_none) {
            entry = part_entries[(thread << entry_bits) + entry];
        }
        unsigned long long items = 0;
        if (entry != chain_none) {
            const int end = min(chain_part, length - thread * chain_part);
            for (int item = entry; item < end; item += steps[thread * chain_part + item]) {
                items |= 1ull << item;
            }
        }
        part_items[thread] = items;
        const int here = __popcll(items);
        part_bases[thread] = warp_inclusive_scan(here) - here;
    }
    __syncthreads();
    const Index base = scratch.bases[blockIdx.x];
#pragma unroll 2
    for (int k = 0; k < chain_items; ++k) {
        const int item = thread + k * chain_threads;
        const unsigned long long items = part_items[item / chain_part];
        const unsigned long long bit = 1ull << (item % chain_part);
        if ((items & bit) != 0) {
            starts[base + part_bases[item / chain_part] + __popcll(items & (bit - 1))] =
                Index(first) + item;
        }
    }
}

/// The chain of `count` items from item 0 on. `next` is a device functor: next(i) is in
/// i+1 .. min(i+reach, count), reach in 1..64. Waits.
template <class Next>
Chain follow_chain(const Context& context, Index count, int reach, Next next) {
    const cudaStream_t stream = stream_of(context);
    const Offset chunks = (Offset(count) + chain_chunk - 1) / chain_chunk;
    const int entry_bits = std::bit_width(unsigned(reach - 1));
    // One allocation, carved: each takes time on the host.
    Offset bytes = 0;
    const auto place = [&](Offset size) {
        return std::exchange(bytes, (bytes + size + 255) & ~255);
    };
    const Offset steps = place(chunks * chain_chunk);
    const Offset part_entries = place(chunks * chain_parts << entry_bits);
    const Offset exits = place(chunks * chain_reach);
    const Offset walks = place(chunks * chain_reach * Offset(sizeof(Walk)));
    const Offset entries = place(chunks);
    const Offset bases = place((chunks + 1) * Offset(sizeof(Index)));
    const Offset equal_step = place(Offset(sizeof(int)));
    Buffer<std::uint8_t> memory(context, bytes);
    // The chain's length is not known; to allocate for it once it is, and to launch the kernel that
    // writes it only then, would leave the GPU idle.
    Chain chain{Buffer<Index>(context, Offset(count) + 1)};
    const ChainScratch scratch{memory.data() + steps,
                               memory.data() + part_entries,
                               memory.data() + exits,
                               reinterpret_cast<Walk*>(memory.data() + walks),
                               memory.data() + entries,
                               reinterpret_cast<Index*>(memory.data() + bases),
                               reinterpret_cast<int*>(memory.data() + equal_step),
                               expect_words(context, chain_words)};
    if (chunks > 0) {
        launch_dependent(chain_map_kernel<Next>, unsigned(chunks), chain_threads, 0, stream, count,
                         next, entry_bits, scratch, chain.starts.data());
    }
    launch_dependent(chain_compose_kernel, 1, 32 * chain_runs, 0, stream, chunks, scratch);
    launch_dependent(chain_write_kernel, unsigned(std::max<Offset>(chunks, 1)), chain_threads, 0,
                     stream, count, entry_bits, chunks, scratch, chain.starts.data());
    memory = Buffer<std::uint8_t>();
    wait_for_words(context, chain_words);
    const std::uint64_t counts = told_word(context, 1);
    chain.largest = Index(counts >> 32);
    chain.squares = Offset(told_word(context, 0));
    chain.starts.truncate(Offset(counts & 0xffffffff) + 1);
    return chain;
}

}  // namespace tessera::cuda
