#pragma once

#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "gpu/warp.cuh"
#include "sparse/find_blocks/kernels.hpp"

/// Following a chain of items in parallel: in chunks, by doubled steps in shared memory; the
/// chunks' maps from entries to exits compose.
namespace tessera::cuda {

inline constexpr int chain_reach = 64;  ///< No item's successor is further than that.
inline constexpr int chain_chunk = 2048;
inline constexpr int chain_items = 4;  ///< Of a thread.
inline constexpr int chain_threads = chain_chunk / chain_items;
inline constexpr int chain_runs = 32;  ///< Of chunks, a warp each.

/// Steps along the chain, from one item to another one.
struct Steps {
    std::uint16_t to;  ///< An item, counted from the chunk's first one.
    std::uint16_t count;
    unsigned squares_largest;  ///< 256 times the sum of squares, plus the largest step.

    __device__ void append(const Steps& more) {
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

/// Items of the chunk that starts with item `first`.
__device__ inline int chunk_length(Offset first, Index count) {
    return int(min(Offset(chain_chunk), Offset(count) - first));
}

/// A thread block a chunk: for each entry e (the chain's first item at or behind the chunk's first
/// one is e behind it) the exit, that is the same of the next chunk, and the steps between. Steps
/// double until all have left the chunk.
template <class Next>
__global__ void __launch_bounds__(chain_threads)
    chain_map_kernel(Index count, Next next, std::uint8_t* exits, Steps* steps) {
    __shared__ Steps shared[chain_chunk];
    const Offset first = Offset(blockIdx.x) * chain_chunk;
    const int length = chunk_length(first, count);
    Steps mine[chain_items];
#pragma unroll
    for (int k = 0; k < chain_items; ++k) {
        const int item = int(threadIdx.x) + k * chain_threads;
        const unsigned step =
            item < length ? unsigned(next(Index(first) + item) - Index(first)) - unsigned(item) : 0;
        mine[k] = {std::uint16_t(unsigned(item) + step), std::uint16_t(step > 0),
                   step * step * 256 + step};
    }
    for (bool more = true; more;) {
        more = false;
#pragma unroll
        for (int k = 0; k < chain_items; ++k) {
            shared[int(threadIdx.x) + k * chain_threads] = mine[k];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < chain_items; ++k) {
            if (mine[k].to < length) {
                mine[k].append(shared[mine[k].to]);
                more = true;
            }
        }
        more = __syncthreads_or(more);
    }
    if (threadIdx.x < chain_reach) {
        const Offset at = Offset(blockIdx.x) * chain_reach + threadIdx.x;
        exits[at] = std::uint8_t(max(int(mine[0].to) - length, 0));
        steps[at] = mine[0];
    }
}

/// What the map of a chunk, in two bytes a lane, makes of entry `entry`.
__device__ inline int mapped(unsigned two_exits, int entry) {
    return int(__shfl_sync(full_warp, two_exits, entry / 2) >> (8 * (entry % 2)) & 255u);
}

/// Composes the maps of the chunks: entries[c] = entry of chunk c, bases[c] = items of the chain
/// before it. One thread block; warp w takes the w-th run of chunks, three times: its map as a
/// whole; then, its entry known, the entries and counts inside; then the bases.
static __global__ void __launch_bounds__(32 * chain_runs)
    chain_compose_kernel(Offset chunks, const std::uint8_t* exits, const Steps* steps,
                         std::uint8_t* entries, Index* bases, ChainTotals* totals) {
    __shared__ std::uint8_t run_exits[chain_runs][chain_reach];
    __shared__ std::uint8_t run_entries[chain_runs];
    __shared__ ChainTotals run_totals[chain_runs];
    const auto* pairs = reinterpret_cast<const std::uint16_t*>(exits);
    const int lane = int(threadIdx.x) % 32;
    const int run = int(threadIdx.x) / 32;
    const Offset run_chunks = (chunks + chain_runs - 1) / chain_runs;
    const Offset begin = min(run * run_chunks, chunks);
    const Offset end = min(begin + run_chunks, chunks);

    int exit[2] = {2 * lane, 2 * lane + 1};
#pragma unroll 8
    for (Offset c = begin; c < end; ++c) {
        const unsigned map = pairs[c * 32 + lane];
        exit[0] = mapped(map, exit[0]);
        exit[1] = mapped(map, exit[1]);
    }
    run_exits[run][2 * lane] = std::uint8_t(exit[0]);
    run_exits[run][2 * lane + 1] = std::uint8_t(exit[1]);
    __syncthreads();
    if (threadIdx.x == 0) {
        int entry = 0;
        for (int r = 0; r < chain_runs; ++r) {
            run_entries[r] = std::uint8_t(entry);
            entry = run_exits[r][entry];
        }
    }
    __syncthreads();

    int entry = run_entries[run];
    ChainTotals sum{0, 0, 0};
    for (Offset first = begin; first < end; first += 32) {
        const int here = int(min(Offset(32), end - first));
        int mine = 0;
#pragma unroll 8
        for (int k = 0; k < here; ++k) {
            if (k == lane) mine = entry;
            entry = mapped(pairs[(first + k) * 32 + lane], entry);
        }
        const Offset chunk = first + lane;
        const Steps inside = lane < here ? steps[chunk * chain_reach + mine] : Steps{0, 0, 0};
        const Index inclusive = warp_inclusive_scan(Index(inside.count));
        if (lane < here) {
            entries[chunk] = std::uint8_t(mine);
            bases[chunk] = sum.count + inclusive - Index(inside.count);
        }
        sum.count += __shfl_sync(full_warp, inclusive, 31);
        sum.squares += inside.squares_largest / 256;
        sum.largest = max(sum.largest, int(inside.squares_largest & 255u));
    }
    sum.squares = warp_sum(sum.squares);
    sum.largest = lanes_max(sum.largest);
    if (lane == 0) run_totals[run] = sum;
    __syncthreads();
    ChainTotals before{0, 0, 0};
    ChainTotals all{0, 0, 0};
    for (int r = 0; r < chain_runs; ++r) {
        if (r == run) before = all;
        all.count += run_totals[r].count;
        all.squares += run_totals[r].squares;
        all.largest = max(all.largest, run_totals[r].largest);
    }
    for (Offset chunk = begin + lane; chunk < end; chunk += 32) bases[chunk] += before.count;
    if (threadIdx.x == 0) *totals = all;
}

/// A thread block a chunk, whose entry is known: the items of its chain. While steps double, the
/// first 2^k items of the chain point to the next 2^k.
template <class Next>
__global__ void __launch_bounds__(chain_threads)
    chain_write_kernel(Index count, Next next, const std::uint8_t* entries, const Index* bases,
                       Index starts_count, Index* starts) {
    constexpr int none = 0xffff;
    __shared__ std::uint16_t shared_to[chain_chunk];
    __shared__ std::uint16_t ranks[chain_chunk];
    const Offset first = Offset(blockIdx.x) * chain_chunk;
    const int length = chunk_length(first, count);
    if (first == 0 && threadIdx.x == 0) starts[starts_count] = count;
    if (length <= 0) return;
    const int entry = entries[blockIdx.x];
    int to[chain_items];
#pragma unroll
    for (int k = 0; k < chain_items; ++k) {
        const int item = int(threadIdx.x) + k * chain_threads;
        to[k] = item < length ? int(next(Index(first) + item) - Index(first)) : item;
        ranks[item] = std::uint16_t(item == entry ? 0 : none);
    }
    bool more = true;
    for (int distance = 1; more; distance *= 2) {
        more = false;
#pragma unroll
        for (int k = 0; k < chain_items; ++k) {
            shared_to[int(threadIdx.x) + k * chain_threads] = std::uint16_t(to[k]);
        }
        __syncthreads();
        int next_to[chain_items];
        int rank[chain_items];
#pragma unroll
        for (int k = 0; k < chain_items; ++k) {
            next_to[k] = to[k] < length ? int(shared_to[to[k]]) : to[k];
            rank[k] = ranks[int(threadIdx.x) + k * chain_threads];
            more |= to[k] < length;
        }
        more = __syncthreads_or(more);
#pragma unroll
        for (int k = 0; k < chain_items; ++k) {
            if (to[k] < length && rank[k] != none) {
                ranks[to[k]] = std::uint16_t(rank[k] + distance);
            }
            to[k] = next_to[k];
        }
    }
    __syncthreads();
    const Offset base = bases[blockIdx.x];
#pragma unroll
    for (int k = 0; k < chain_items; ++k) {
        const int item = int(threadIdx.x) + k * chain_threads;
        if (item < length && ranks[item] != none) {
            starts[base + ranks[item]] = Index(first) + item;
        }
    }
}

/// The chain of `count` items from item 0 on. `next` is a device functor: next(i) is in
/// i+1 .. min(i+chain_reach, count). Waits.
template <class Next>
Chain follow_chain(const Context& context, Index count, Next next) {
    const cudaStream_t stream = stream_of(context);
    const Offset chunks = (Offset(count) + chain_chunk - 1) / chain_chunk;
    Buffer<std::uint8_t> exits(context, chunks * chain_reach);
    Buffer<Steps> steps(context, chunks * chain_reach);
    Buffer<std::uint8_t> entries(context, chunks);
    Buffer<Index> bases(context, chunks);
    Buffer<ChainTotals> totals(context, 1);
    if (chunks > 0) {
        chain_map_kernel<<<unsigned(chunks), chain_threads, 0, stream>>>(count, next, exits.data(),
                                                                         steps.data());
        TESSERA_CUDA(cudaGetLastError());
    }
    chain_compose_kernel<<<1, 32 * chain_runs, 0, stream>>>(
        chunks, exits.data(), steps.data(), entries.data(), bases.data(), totals.data());
    TESSERA_CUDA(cudaGetLastError());
    const ChainTotals found = copy_to_host(context, totals)[0];  // Waits: the result's length.
    Chain chain;
    chain.largest = found.largest;
    chain.squares = Offset(found.squares);
    chain.starts = Buffer<Index>(context, Offset(found.count) + 1);
    chain_write_kernel<<<unsigned(std::max<Offset>(chunks, 1)), chain_threads, 0, stream>>>(
        count, next, entries.data(), bases.data(), found.count, chain.starts.data());
    TESSERA_CUDA(cudaGetLastError());
    return chain;
}

}  // namespace tessera::cuda
