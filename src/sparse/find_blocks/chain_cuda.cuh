#pragma once

#include <bit>

#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
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

/// What the kernels hand on; of all chunks.
struct ChainScratch {
    std::uint8_t* steps;       ///< An item: how far its successor is.
    std::uint8_t* part_exits;  ///< [chunk][part][entry], as exits.
    /// [chunk][entry], 64 entries: where the chain gets into the next chunk if it gets into this
    /// one at item `entry`. Then the same from the entry into the run of chunks that it belongs to.
    std::uint8_t* exits;
    Walk* walks;            ///< [chunk][entry], 64 entries.
    std::uint8_t* entries;  ///< [chunk]
    Index* bases;           ///< [chunk]: items of the chain before it.
    ChainTotals* totals;
};

/// Items of the chunk that starts with item `first`.
__device__ inline int chunk_length(Offset first, Index count) {
    return int(min(Offset(chain_chunk), Offset(count) - first));
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
    std::uint8_t* const part_exits =
        scratch.part_exits + (Offset(blockIdx.x) * chain_parts << entry_bits);
    for (int task = thread; task < chain_parts << entry_bits; task += chain_threads) {
        const int part = task >> entry_bits;
        const int end = min((part + 1) * chain_part, length);
        int item = part * chain_part + (task & (entry_count - 1));
        unsigned walked = 0;
        unsigned squares = 0;
        unsigned largest = 0;
        for (; item < end; ++walked) {
            const unsigned step = steps[item];
            squares += step * step;
            largest = max(largest, step);
            item += int(step);
        }
        walks[task] = {std::uint16_t(item), std::uint16_t(walked), squares * 256 + largest};
        part_exits[task] = std::uint8_t(max(item - (part + 1) * chain_part, 0));
    }
    __syncthreads();
    if (thread >= chain_reach) return;
    Walk walk{std::uint16_t(thread), 0, 0};
    if (thread < entry_count) {
        for (int part = 0; part < chain_parts && walk.to < length; ++part) {
            walk.append(walks[(part << entry_bits) + walk.to - part * chain_part]);
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

/// Composes the maps of chunks begin .. end - 1: each is replaced by that from `begin` on; so is
/// `map`, two bytes a lane, by all of them. A warp.
__device__ inline unsigned compose_run(Offset begin, Offset end, std::uint16_t* two_exits) {
    constexpr int depth = 16;
    const int lane = int(threadIdx.x) % 32;
    unsigned low = unsigned(2 * lane);
    unsigned high = low + 1;
    for (Offset first = begin; first < end; first += depth) {
        unsigned maps[depth];
#pragma unroll
        for (int k = 0; k < depth; ++k) {
            maps[k] = first + k < end ? two_exits[(first + k) * 32 + lane] : 0;
        }
#pragma unroll
        for (int k = 0; k < depth; ++k) {
            if (first + k < end) {
                low = mapped(maps[k], low);
                high = mapped(maps[k], high);
                two_exits[(first + k) * 32 + lane] = std::uint16_t(low | high << 8);
            }
        }
    }
    return low | high << 8;
}

/// Composes the maps of the chunks, and sums up. One thread block; warp w takes the w-th run of
/// chunks, three times: its maps; then, its entry known, the entries and counts inside; then bases.
static __global__ void __launch_bounds__(32 * chain_runs)
    chain_compose_kernel(Offset chunks, ChainScratch scratch) {
    __shared__ std::uint16_t run_exits[chain_runs][chain_reach / 2];
    __shared__ std::uint8_t run_entries[chain_runs];
    __shared__ ChainTotals run_totals[chain_runs];
    begin_dependent();
    const int lane = int(threadIdx.x) % 32;
    const int run = int(threadIdx.x) / 32;
    const Offset run_chunks = (chunks + chain_runs - 1) / chain_runs;
    const Offset begin = min(run * run_chunks, chunks);
    const Offset end = min(begin + run_chunks, chunks);
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
    Index base = 0;
    ChainTotals all{0, 0, 0};
    for (int r = 0; r < chain_runs; ++r) {
        if (r == run) base = all.count;
        all.count += run_totals[r].count;
        all.squares += run_totals[r].squares;
        all.largest = max(all.largest, run_totals[r].largest);
    }
    for (Offset chunk = begin + lane; chunk < end; chunk += 32) scratch.bases[chunk] += base;
    if (threadIdx.x == 0) *scratch.totals = all;
}

/// A thread block a chunk, whose entry is known: the items of its chain, a bit each, by a lane a
/// part; then in their places.
static __global__ void __launch_bounds__(chain_threads)
    chain_write_kernel(Index count, int entry_bits, ChainScratch scratch, Index starts_count,
                       Index* starts) {
    constexpr int none = 255;
    __shared__ __align__(8) std::uint8_t steps[chain_chunk];
    __shared__ std::uint8_t part_exits[chain_parts * chain_reach];
    __shared__ std::uint8_t part_entries[chain_parts];
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
        part_exits[k] = scratch.part_exits[(Offset(blockIdx.x) * chain_parts << entry_bits) + k];
    }
    __syncthreads();
    if (thread == 0) {
        int entry = scratch.entries[blockIdx.x];
        for (int part = 0; part < chain_parts; ++part) {
            const bool inside = part * chain_part + entry < length;
            part_entries[part] = std::uint8_t(inside ? entry : none);
            if (inside) entry = part_exits[(part << entry_bits) + entry];
        }
    }
    if (thread < chain_parts) {
        __syncwarp();
        const int entry = part_entries[thread];
        unsigned long long items = 0;
        if (entry != none) {
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
    const Offset base = scratch.bases[blockIdx.x];
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
    Buffer<std::uint8_t> steps(context, chunks * chain_chunk);
    Buffer<std::uint8_t> part_exits(context, chunks * chain_parts << entry_bits);
    Buffer<std::uint8_t> exits(context, chunks * chain_reach);
    Buffer<Walk> walks(context, chunks * chain_reach);
    Buffer<std::uint8_t> entries(context, chunks);
    Buffer<Index> bases(context, chunks);
    Buffer<ChainTotals> totals(context, 1);
    const ChainScratch scratch{steps.data(),   part_exits.data(), exits.data(), walks.data(),
                               entries.data(), bases.data(),      totals.data()};
    if (chunks > 0) {
        launch_dependent(chain_map_kernel<Next>, unsigned(chunks), chain_threads, 0, stream, count,
                         next, entry_bits, scratch);
    }
    launch_dependent(chain_compose_kernel, 1, 32 * chain_runs, 0, stream, chunks, scratch);
    const ChainTotals found = copy_to_host(context, totals)[0];  // Waits: the result's length.
    Chain chain;
    chain.largest = found.largest;
    chain.squares = Offset(found.squares);
    chain.starts = Buffer<Index>(context, Offset(found.count) + 1);
    launch_dependent(chain_write_kernel, unsigned(std::max<Offset>(chunks, 1)), chain_threads, 0,
                     stream, count, entry_bits, scratch, found.count, chain.starts.data());
    return chain;
}

}  // namespace tessera::cuda
