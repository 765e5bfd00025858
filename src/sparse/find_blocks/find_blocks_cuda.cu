#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "gpu/load.cuh"
#include "gpu/scan.cuh"
#include "gpu/warp.cuh"
#include "sparse/find_blocks/kernels.hpp"

namespace tessera::cuda {

namespace {

constexpr int mark_threads = 256;
constexpr int row_lanes = mark_threads / 32;  ///< That compare a row with the row before it.
constexpr Offset long_row = 4096;             ///< Compared by the whole thread block.
constexpr Index chunk_rows = 512;
constexpr int chunk_warps = 4;
constexpr int write_threads = 64;
constexpr int runs = 32;  ///< Of chunks, a warp each.

/// Whether a lane finds `count` columns from `begin` on to differ from the `count` before them;
/// lane `lane` of `lanes` looks at every lanes-th, and stops at a difference.
__device__ bool differ(const Index* columns, Offset begin, Offset count, int lane, int lanes) {
    constexpr int depth = 4;
    for (Offset x = lane; x < count; x += depth * lanes) {
        bool different = false;
#pragma unroll
        for (int u = 0; u < depth; ++u) {
            const Index* at = columns + begin + x + u * lanes;
            const bool inside = x + u * lanes < count;
            different |= load_if(inside, at, 0) != load_if(inside, at - count, 0);
        }
        if (different) return true;
    }
    return false;
}

/// The bits that the 32 rows of a thread block set, in all threads; row r is that of the threads
/// row_lanes * r .. row_lanes * (r + 1) - 1. `shared` is free again after the next barrier.
__device__ unsigned gather_bits(bool bit, unsigned* shared) {
    const int row = int(threadIdx.x) / row_lanes;
    unsigned mine = bit ? 1u << row : 0u;
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        mine |= __shfl_xor_sync(full_warp, mine, distance);
    }
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = mine;
    __syncthreads();
    unsigned all = 0;
    for (int warp = 0; warp < mark_threads / 32; ++warp) all |= shared[warp];
    return all;
}

/// Word w, bit t: a supervariable starts at row 32 w + t, or that is `rows`. One thread block a
/// word.
__global__ void __launch_bounds__(mark_threads)
    mark_kernel(Index rows, const Offset* row_offsets, const Index* columns, unsigned* starts) {
    __shared__ unsigned shared_starts[mark_threads / 32];
    __shared__ unsigned shared_long[mark_threads / 32];
    const Offset first_row = Offset(blockIdx.x) * 32;
    const Offset row = first_row + threadIdx.x / row_lanes;
    bool start = row == 0 || row == rows;
    bool is_long = false;
    if (row > 0 && row < rows) {
        const Offset begin = __ldg(row_offsets + row);
        const Offset length = __ldg(row_offsets + row + 1) - begin;
        if (length != begin - __ldg(row_offsets + row - 1)) {
            start = true;
        } else if (length > long_row) {
            is_long = true;
        } else {
            start = differ(columns, begin, length, int(threadIdx.x) % row_lanes, row_lanes);
        }
    }
    __syncwarp();
    unsigned word = gather_bits(start, shared_starts);
    unsigned left = gather_bits(is_long, shared_long);
    while (left != 0) {
        const int r = __ffs(int(left)) - 1;
        left &= left - 1;
        const Offset begin = row_offsets[first_row + r];
        const Offset length = row_offsets[first_row + r + 1] - begin;
        const bool different = differ(columns, begin, length, int(threadIdx.x), mark_threads);
        if (__syncthreads_or(different)) word |= 1u << r;
    }
    if (threadIdx.x == 0) starts[blockIdx.x] = word;
}

/// The block start that follows the block start `row` < rows. Row `rows` counts as marked, so that
/// no window without a mark reaches it. Reads the two words from that of row + 1 on.
__device__ Index next_start(const unsigned* starts, Index row, int bound, bool agglomerate) {
    const Index first = row + 1;  // Bit t of the window is row first + t.
    const unsigned* word = starts + unsigned(first) / 32;
    unsigned window = __funnelshift_r(__ldg(word), __ldg(word + 1), unsigned(first) % 32);
    window &= full_warp >> (32 - bound);
    if (window == 0) return row + bound;
    return first + (agglomerate ? 31 - __clz(int(window)) : __ffs(int(window)) - 1);
}

/// Rows of a chunk, or their end where that is the end of the matrix.
__device__ Offset chunk_end(Offset chunk, Index rows) {
    return min((chunk + 1) * chunk_rows, Offset(rows));
}

/// A warp a chunk, a lane an entry: lane l supposes the first block start at or behind the chunk's
/// first row to be l rows behind it, and finds the same of the next chunk (its exit) and how many
/// block starts lie between. Exits behind the last chunk are of no use.
__global__ void __launch_bounds__(32 * chunk_warps)
    map_kernel(Index rows, Offset chunks, const unsigned* starts, int bound, bool agglomerate,
               std::uint8_t* exits, std::uint16_t* counts) {
    const Offset chunk = Offset(blockIdx.x) * chunk_warps + threadIdx.x / 32;
    if (chunk >= chunks) return;
    const int lane = int(threadIdx.x) % 32;
    const Offset end = chunk_end(chunk, rows);
    Offset row = chunk * chunk_rows + lane;
    int count = 0;
    while (row < end) {
        row = next_start(starts, Index(row), bound, agglomerate);
        ++count;
    }
    const Offset exit = row - (chunk + 1) * chunk_rows;
    exits[chunk * 32 + lane] = std::uint8_t(exit < 0 ? 0 : exit);
    counts[chunk * 32 + lane] = std::uint16_t(count);
}

/// Composes the maps of the chunks: entries[c] = entry of chunk c, bases[c] = block starts before
/// it. One thread block; warp w takes the w-th run of chunks, three times: its map as a whole,
/// then, its entry known, the entries and counts inside, then the bases.
__global__ void __launch_bounds__(32 * runs)
    chain_kernel(Offset chunks, const std::uint8_t* exits, const std::uint16_t* counts,
                 std::uint8_t* entries, Index* bases, Index* total) {
    __shared__ std::uint8_t run_exits[runs][32];
    __shared__ std::uint8_t run_entries[runs];
    __shared__ Offset scan_memory[33];
    const int lane = int(threadIdx.x) % 32;
    const int run = int(threadIdx.x) / 32;
    const Offset run_chunks = (chunks + runs - 1) / runs;
    const Offset begin = min(run * run_chunks, chunks);
    const Offset end = min(begin + run_chunks, chunks);

    int exit = lane;
#pragma unroll 8
    for (Offset c = begin; c < end; ++c) {
        exit = __shfl_sync(full_warp, int(exits[c * 32 + lane]), exit);
    }
    run_exits[run][lane] = std::uint8_t(exit);
    __syncthreads();
    if (threadIdx.x == 0) {
        int entry = 0;
        for (int r = 0; r < runs; ++r) {
            run_entries[r] = std::uint8_t(entry);
            entry = run_exits[r][entry];
        }
    }
    __syncthreads();

    int entry = run_entries[run];
    Index before = 0;
    for (Offset first = begin; first < end; first += 32) {
        const int here = int(min(Offset(32), end - first));
        int mine = 0;
#pragma unroll 8
        for (int k = 0; k < here; ++k) {
            if (k == lane) mine = entry;
            entry = __shfl_sync(full_warp, int(exits[(first + k) * 32 + lane]), entry);
        }
        const Offset chunk = first + lane;
        const Index count = lane < here ? Index(counts[chunk * 32 + mine]) : 0;
        const Index inclusive = warp_inclusive_scan(count);
        if (lane < here) {
            entries[chunk] = std::uint8_t(mine);
            bases[chunk] = before + inclusive - count;
        }
        before += __shfl_sync(full_warp, inclusive, 31);
    }
    Offset all = 0;
    const Offset scanned = block_exclusive_scan(lane == 0 ? before : 0, scan_memory, all);
    const Index base = Index(__shfl_sync(full_warp, scanned, 0));
    for (Offset chunk = begin + lane; chunk < end; chunk += 32) bases[chunk] += base;
    if (threadIdx.x == 0) *total = Index(all);
}

/// A thread a chunk.
__global__ void __launch_bounds__(write_threads)
    write_kernel(Index rows, Offset chunks, const unsigned* starts, int bound, bool agglomerate,
                 const std::uint8_t* entries, const Index* bases, Index count,
                 Index* block_offsets) {
    const Offset chunk = Offset(blockIdx.x) * write_threads + threadIdx.x;
    if (chunk == 0) block_offsets[count] = rows;
    if (chunk >= chunks) return;
    const Offset end = chunk_end(chunk, rows);
    Index* to = block_offsets + bases[chunk];
    for (Offset row = chunk * chunk_rows + entries[chunk]; row < end;) {
        *to++ = Index(row);
        row = next_start(starts, Index(row), bound, agglomerate);
    }
}

struct DeviceStatistics {
    unsigned long long entries;
    int largest;
};

/// Sums of integers: the order of the atomics does not show.
__global__ void __launch_bounds__(256)
    statistics_kernel(const Index* block_offsets, Index count, DeviceStatistics* result) {
    unsigned long long entries = 0;
    int largest = 0;
    for_elements<4>(count, [&](Offset b) {
        const int size = block_offsets[b + 1] - block_offsets[b];
        entries += static_cast<unsigned long long>(size) * unsigned(size);
        largest = max(largest, size);
    });
    entries = warp_sum(entries);
    largest = lanes_max(largest);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&result->entries, entries);
        atomicMax(&result->largest, largest);
    }
}

/// size^2 of block b.
struct BlockEntries {
    const Index* block_offsets;
    __device__ Offset operator()(Offset b) const {
        const Offset size = block_offsets[b + 1] - block_offsets[b];
        return size * size;
    }
};

}  // namespace

Buffer<Index> find_blocks(const Context& context, Index rows, const Offset* row_offsets,
                          const Index* column_indices, Index bound, bool agglomerate) {
    const cudaStream_t stream = stream_of(context);
    const Offset words = Offset(rows) / 32 + 2;  // next_start reads the one behind that of `rows`.
    const Offset chunks = (Offset(rows) + chunk_rows - 1) / chunk_rows;
    Buffer<unsigned> starts(context, words);
    Buffer<std::uint8_t> exits(context, chunks * 32);
    Buffer<std::uint16_t> counts(context, chunks * 32);
    Buffer<std::uint8_t> entries(context, chunks);
    Buffer<Index> bases(context, chunks);
    Buffer<Index> total(context, 1);

    mark_kernel<<<unsigned(words), mark_threads, 0, stream>>>(rows, row_offsets, column_indices,
                                                              starts.data());
    TESSERA_CUDA(cudaGetLastError());
    if (chunks > 0) {
        map_kernel<<<blocks_for(chunks, chunk_warps), 32 * chunk_warps, 0, stream>>>(
            rows, chunks, starts.data(), bound, agglomerate, exits.data(), counts.data());
        TESSERA_CUDA(cudaGetLastError());
    }
    chain_kernel<<<1, 32 * runs, 0, stream>>>(chunks, exits.data(), counts.data(), entries.data(),
                                              bases.data(), total.data());
    TESSERA_CUDA(cudaGetLastError());
    const Index count = copy_to_host(context, total)[0];  // Waits: the result has this length.
    Buffer<Index> block_offsets(context, Offset(count) + 1);
    write_kernel<<<blocks_for(chunks + 1, write_threads), write_threads, 0, stream>>>(
        rows, chunks, starts.data(), bound, agglomerate, entries.data(), bases.data(), count,
        block_offsets.data());
    TESSERA_CUDA(cudaGetLastError());
    return block_offsets;
}

BlockStatistics block_statistics(const Context& context, const Index* block_offsets, Index count) {
    if (count == 0) return {};
    const cudaStream_t stream = stream_of(context);
    Buffer<DeviceStatistics> result(context, 1);
    TESSERA_CUDA(cudaMemsetAsync(result.data(), 0, sizeof(DeviceStatistics), stream));
    statistics_kernel<<<blocks_for(count, 4 * 256), 256, 0, stream>>>(block_offsets, count,
                                                                      result.data());
    TESSERA_CUDA(cudaGetLastError());
    const DeviceStatistics statistics = copy_to_host(context, result)[0];
    return {statistics.largest, Offset(statistics.entries)};
}

void block_entry_offsets(const Context& context, const Index* block_offsets, Index count,
                         Offset* inverse_offsets) {
    exclusive_scan(context, count, BlockEntries{block_offsets}, inverse_offsets);
}

}  // namespace tessera::cuda
