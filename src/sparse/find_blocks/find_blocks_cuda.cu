#include "gpu/load.cuh"
#include "gpu/scan.cuh"
#include "sparse/find_blocks/chain_cuda.cuh"

namespace tessera::cuda {

namespace {

constexpr int mark_threads = 256;
constexpr int row_lanes = mark_threads / 32;  ///< That compare a row with the row before it.
constexpr Offset long_row = 4096;             ///< Compared by the whole thread block.

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
/// no window without a mark reaches it. Reads the three words from that of row + 1 on.
struct NextStart {
    const unsigned* starts;
    int bound;
    bool agglomerate;

    __device__ Index operator()(Index row) const {
        const Index first = row + 1;  // Bit t of the window is row first + t.
        const unsigned* word = starts + unsigned(first) / 32;
        const unsigned middle = word[1];
        const unsigned shift = unsigned(first) % 32;
        const unsigned long long window =
            (__funnelshift_r(word[0], middle, shift) |
             static_cast<unsigned long long>(__funnelshift_r(middle, word[2], shift)) << 32) &
            ~0ull >> (64 - bound);
        if (window == 0) return row + bound;
        return first + (agglomerate ? 63 - __clzll(static_cast<long long>(window))
                                    : __ffsll(static_cast<long long>(window)) - 1);
    }
};

/// The block behind the group that starts with block `block`, by bisection: a group has at most
/// `rows` blocks.
struct NextGroup {
    const Index* block_offsets;
    Index count;
    Index rows;

    __device__ Index operator()(Index block) const {
        const Index begin = block_offsets[block];
        Index low = block + 1;  // Always a possible end.
        Index high = Index(min(Offset(block) + rows, Offset(count)));
        while (low < high) {
            const Index middle = high - (high - low) / 2;
            if (block_offsets[middle] - begin <= rows) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return low;
    }
};

/// size^2 of block b.
struct BlockEntries {
    const Index* block_offsets;
    __device__ Offset operator()(Offset b) const {
        const Offset size = block_offsets[b + 1] - block_offsets[b];
        return size * size;
    }
};

}  // namespace

Chain find_blocks(const Context& context, Index rows, const Offset* row_offsets,
                  const Index* column_indices, Index bound, bool agglomerate) {
    const Offset words = Offset(rows) / 32 + 3;  // NextStart reads two behind that of `rows`.
    Buffer<unsigned> starts(context, words);
    mark_kernel<<<unsigned(words), mark_threads, 0, stream_of(context)>>>(
        rows, row_offsets, column_indices, starts.data());
    TESSERA_CUDA(cudaGetLastError());
    return follow_chain(context, rows, NextStart{starts.data(), int(bound), agglomerate});
}

Chain group_blocks(const Context& context, const Index* block_offsets, Index count, Index rows) {
    return follow_chain(context, count, NextGroup{block_offsets, count, rows});
}

void block_entry_offsets(const Context& context, const Index* block_offsets, Index count,
                         Offset* entry_offsets) {
    exclusive_scan(context, count, BlockEntries{block_offsets}, entry_offsets);
}

}  // namespace tessera::cuda
