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
static_assert(sizeof(ChainTotals) <= host_result_bytes && chain_runs == 32);

/// What the kernels hand on; of all chunks.
struct ChainScratch {
    std::uint8_t* steps;  ///< An item: how far its successor is.
    /// [chunk][part][entry]: where the chain gets into the part if it gets into the stretch of the
    /// part at item `entry`; in the place of the first part of a stretch: where it gets into that
    /// if it gets into the stretch before at `entry`.
    std::uint8_t* part_entries;
    /// [chunk][entry], 64 entries: where the chain gets into the next chunk if it gets into this
    /// one at item `entry`. Then the same from the entry into the run of chunks that it belongs to.
    std::uint8_t* exits;
    Walk* walks;            ///< [chunk][entry], 64 entries.
    std::uint8_t* entries;  ///< [chunk]
    Index* bases;           ///< [chunk]: items of the chain before it, in its run.
    Index* run_bases;       ///< [run]: items of the chain before it.
    ChainTotals* totals;    ///< In host memory, as is:
    unsigned* signal;       ///< That they are complete.
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

/// A thread block a chunk; 1 << entry_bits entries are possible.
template <class Next>
__global__ void __launch_bounds__(chain_threads)
    chain_map_kernel(Index count, Next next, int entry_bits, ChainScratch scratch) {
    __shared__ __align__(8) std::uint8_t steps[chain_chunk];
    __shared__ Walk walks[chain_parts * chain_reach];
    begin_dependent();
    const Offset first = Offset(blockIdx.x) * chain_chunk;
    const int length = chunk_length(first, count);
    const int thread = int(threadIdx.x);
#pragma unroll
    for (int k = 0; k < chain_items; ++k) {
        const int item = thread + k * chain_threads;
        const Index at = Index(first) + item;
        steps[item] = std::uint8_t(item < length ? next(at) - at : 0);
    }
    __syncthreads();
    reinterpret_cast<uint2*>(scratch.steps + first)[thread] =
        reinterpret_cast<const uint2*>(steps)[thread];

    const int entry_count = 1 << entry_bits;
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
        for (int s = 1; s < chain_stretches && walk.to < length; ++s) {
            const int inside = walk.to - s * chain_stretch * chain_part;
            walk.append(stretch_walks[s * chain_reach + inside]);
        }
    }
    const Offset at = Offset(blockIdx.x) * chain_reach + thread;
    scratch.exits[at] = std::uint8_t(thread < entry_count ? max(int(walk.to) - length, 0) : 0);
    scratch.walks[at] = walk;
}

/// What the map of a chunk, in two bytes a lane, makes of entry `entry`.
__device__ inline unsigned mapped(unsigned two_exits, unsigned entry) {
    return __shfl_sync(full_warp, two_exits, int(entry / 2)) >> (8 * (entry % 2)) & 255u;
}

/// Composes the maps of chunks begin .. end - 1: each is replaced by that from `begin` on; the last
/// one, two bytes a lane, is returned. A warp.
__device__ inline unsigned compose_run(Offset begin, Offset end, std::uint16_t* two_exits) {
    constexpr int depth = 16;
    const int lane = int(threadIdx.x) % 32;
    std::uint16_t* const mine = two_exits + begin * 32 + lane;
    const int chunks = int(end - begin);
    unsigned low = unsigned(2 * lane);
    unsigned high = low + 1;
    unsigned maps[depth];
    const auto read = [&](int first) {
#pragma unroll
        for (int k = 0; k < depth; ++k) {
            maps[k] = first + k < chunks ? mine[Offset(first + k) * 32] : 0;
        }
    };
    read(0);
    for (int first = 0; first < chunks; first += depth) {
        unsigned now[depth];
#pragma unroll
        for (int k = 0; k < depth; ++k) now[k] = maps[k];
        read(first + depth);
#pragma unroll
        for (int k = 0; k < depth; ++k) {
            if (first + k >= chunks) break;
            low = mapped(now[k], low);
            high = mapped(now[k], high);
            mine[Offset(first + k) * 32] = std::uint16_t(low | high << 8);
        }
    }
    return low | high << 8;
}

/// Chunks of a run.
__device__ inline Offset run_length(Offset chunks) {
    return (chunks + chain_runs - 1) / chain_runs;
}

/// Composes the maps of the chunks, and sums up. One thread block; warp w takes the w-th run of
/// chunks, twice: its maps; then, its entry known, the entries and counts inside.
static __global__ void __launch_bounds__(32 * chain_runs)
    chain_compose_kernel(Offset chunks, ChainScratch scratch) {
    __shared__ std::uint16_t run_exits[chain_runs][chain_reach / 2];
    __shared__ std::uint8_t run_entries[chain_runs];
    __shared__ ChainTotals run_totals[chain_runs];
    begin_dependent();
    const int lane = int(threadIdx.x) % 32;
    const int run = int(threadIdx.x) / 32;
    const Offset begin = min(run * run_length(chunks), chunks);
    const Offset end = min(begin + run_length(chunks), chunks);
    run_exits[run][lane] =
        std::uint16_t(compose_run(begin, end, reinterpret_cast<std::uint16_t*>(scratch.exits)));
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned entry = 0;
        for (int r = 0; r < chain_runs; ++r) {
            run_entries[r] = std::uint8_t(entry);
            entry = run_exits[r][entry / 2] >> (8 * (entry % 2)) & 255u;
        }
    }
    __syncthreads();

    ChainTotals sum{0, 0, 0};
    for (Offset first = begin; first < end; first += 32) {
        const Offset chunk = first + lane;
        Walk inside{0, 0, 0};
        if (chunk < end) {
            const int run_entry = run_entries[run];
            const int entry =
                chunk == begin ? run_entry : scratch.exits[(chunk - 1) * chain_reach + run_entry];
            inside = scratch.walks[chunk * chain_reach + entry];
            scratch.entries[chunk] = std::uint8_t(entry);
        }
        const Index inclusive = warp_inclusive_scan(Index(inside.count));
        if (chunk < end) scratch.bases[chunk] = sum.count + inclusive - Index(inside.count);
        sum.count += __shfl_sync(full_warp, inclusive, 31);
        sum.squares += inside.squares_largest / 256;
        sum.largest = max(sum.largest, int(inside.squares_largest & 255u));
    }
    sum.squares = warp_sum(sum.squares);
    sum.largest = lanes_max(sum.largest);
    if (lane == 0) run_totals[run] = sum;
    __syncthreads();
    if (run > 0) return;
    sum = run_totals[lane];
    const Index inclusive = warp_inclusive_scan(Index(sum.count));
    scratch.run_bases[lane] = inclusive - Index(sum.count);
    sum.squares = warp_sum(sum.squares);
    sum.largest = lanes_max(sum.largest);
    if (lane != 31) return;
    *scratch.totals = {sum.squares, inclusive, sum.largest};
    signal_host(scratch.signal);
}

/// A thread block a chunk, whose entry is known: the items of its chain, a bit each, by a lane a
/// part; then in their places.
static __global__ void __launch_bounds__(chain_threads)
    chain_write_kernel(Index count, int entry_bits, Offset chunks, ChainScratch scratch,
                       Index starts_count, Index* starts) {
    __shared__ __align__(8) std::uint8_t steps[chain_chunk];
    __shared__ std::uint8_t part_entries[chain_parts * chain_reach];
    __shared__ int stretch_entries[chain_stretches];
    __shared__ unsigned long long part_items[chain_parts];
    __shared__ int part_bases[chain_parts];
    begin_dependent();
    const Offset first = Offset(blockIdx.x) * chain_chunk;
    const int length = chunk_length(first, count);
    const int thread = int(threadIdx.x);
    if (first == 0 && thread == 0) starts[starts_count] = count;
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
    const Offset base =
        scratch.run_bases[blockIdx.x / run_length(chunks)] + Offset(scratch.bases[blockIdx.x]);
#pragma unroll
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
    const Offset bases = place(chunks * Offset(sizeof(Index)));
    const Offset run_bases = place(chain_runs * Offset(sizeof(Index)));
    Buffer<std::uint8_t> memory(context, bytes);
    const ChainScratch scratch{memory.data() + steps,
                               memory.data() + part_entries,
                               memory.data() + exits,
                               reinterpret_cast<Walk*>(memory.data() + walks),
                               memory.data() + entries,
                               reinterpret_cast<Index*>(memory.data() + bases),
                               reinterpret_cast<Index*>(memory.data() + run_bases),
                               static_cast<ChainTotals*>(host_scratch(context)),
                               expect_signal(context)};
    if (chunks > 0) {
        launch_dependent(chain_map_kernel<Next>, unsigned(chunks), chain_threads, 0, stream, count,
                         next, entry_bits, scratch);
    }
    launch_dependent(chain_compose_kernel, 1, 32 * chain_runs, 0, stream, chunks, scratch);
    wait_for_signal(context);  // The result's length.
    const ChainTotals found = *scratch.totals;
    Chain chain;
    chain.largest = found.largest;
    chain.squares = Offset(found.squares);
    chain.starts = Buffer<Index>(context, Offset(found.count) + 1);
    launch_dependent(chain_write_kernel, unsigned(std::max<Offset>(chunks, 1)), chain_threads, 0,
                     stream, count, entry_bits, chunks, scratch, found.count, chain.starts.data());
    return chain;
}

}  // namespace tessera::cuda
