#include "gpu/load.cuh"
#include "gpu/scan.cuh"
#include "sparse/find_blocks/chain_cuda.cuh"

namespace tessera::cuda {

namespace {

constexpr int mark_warps = 4;         ///< A thread block.
constexpr Offset long_row = 1 << 14;  ///< Compared by the whole thread block.

/// Whether a thread finds `count` columns from `begin` on to differ from the `count` before them;
/// each thread looks at every blockDim.x-th, and stops at a difference.
__device__ bool long_rows_differ(const Index* columns, Offset begin, Offset count) {
    constexpr int depth = 8;
    for (Offset x = threadIdx.x; x < count; x += depth * blockDim.x) {
        bool different = false;
#pragma unroll
        for (int u = 0; u < depth; ++u) {
            const Index* at = columns + begin + x + u * blockDim.x;
            const bool inside = x + u * blockDim.x < count;
            different |= load_if(inside, at, 0) != load_if(inside, at - count, 0);
        }
        if (different) return true;
    }
    return false;
}

/// A row as its lane knows it.
struct MarkedRow {
    Offset begin;
    Offset before;  ///< Begin of the row before.
    int length;
    bool compared;  ///< Still equal to the row before, as far as is known.
};

/// Compares columns first .. first + Depth * Lanes - 1 of rows with those of the row before.
/// `Lanes` adjacent lanes take `Lanes` adjacent rows, the rows of these lanes, one after the other,
/// and keep the columns of the row before in registers. True in the lanes of rows that differ.
template <int Lanes, int Depth>
__device__ bool segments_differ(const Index* columns, const MarkedRow& row, int first) {
    constexpr int ahead = Depth == 1 ? 8 : Depth == 2 ? 4 : Depth == 3 ? 4 : 2;  // Rows read.
    const int lane = int(threadIdx.x) % 32;
    const int group = lane / Lanes * Lanes;
    const int offset = lane % Lanes + first;
    const unsigned compared = __ballot_sync(full_warp, row.compared);
    // A row is read for itself or for the row behind it.
    const int wanted =
        (compared >> lane & 1u) != 0 || (lane % Lanes < Lanes - 1 && (compared >> lane & 2u) != 0)
            ? row.length
            : 0;
    Index before[Depth];
    {
        const Offset begin = __shfl_sync(full_warp, row.before, group);
        const int length = __shfl_sync(full_warp, row.compared ? row.length : 0, group);
#pragma unroll
        for (int d = 0; d < Depth; ++d) {
            before[d] =
                load_if(offset + d * Lanes < length, columns + begin + offset + d * Lanes, 0);
        }
    }
    unsigned different = 0;  // Bit t: this lane sees a difference in the group's row t.
#pragma unroll 1
    for (int t = 0; t < Lanes; t += ahead) {
        Index here[ahead][Depth];
#pragma unroll
        for (int u = 0; u < ahead; ++u) {
            const Offset begin = __shfl_sync(full_warp, row.begin, group + t + u);
            const int length = __shfl_sync(full_warp, wanted, group + t + u);
            const Index* from = columns + begin + offset;
#pragma unroll
            for (int d = 0; d < Depth; ++d) {
                here[u][d] = load_if(offset + d * Lanes < length, from + d * Lanes, 0);
            }
        }
#pragma unroll
        for (int u = 0; u < ahead; ++u) {
            Index changed = 0;
#pragma unroll
            for (int d = 0; d < Depth; ++d) {
                changed |= here[u][d] ^ before[d];
                before[d] = here[u][d];
            }
            if (changed != 0) different |= 1u << (t + u);
        }
    }
#pragma unroll
    for (int distance = Lanes / 2; distance > 0; distance /= 2) {
        different |= __shfl_xor_sync(full_warp, different, distance);
    }
    return (different >> (lane % Lanes) & 1u) != 0;
}

/// Word w, bit t: a supervariable starts at row 32 w + t, or that is `rows`. A warp a word.
template <int Lanes>
__global__ void __launch_bounds__(32 * mark_warps)
    mark_kernel(Index rows, const Offset* row_offsets, const Index* columns, Offset words,
                unsigned* starts) {
    __shared__ unsigned shared_long[mark_warps];
    const int warp = int(threadIdx.x) / 32;
    const Offset word = Offset(blockIdx.x) * mark_warps + warp;
    const Offset i = word * 32 + threadIdx.x % 32;
    const bool inside = i > 0 && i < rows;
    MarkedRow row{0, 0, 0, false};
    Offset length = 0;
    if (inside) {
        row.begin = __ldg(row_offsets + i);
        row.before = __ldg(row_offsets + i - 1);
        length = __ldg(row_offsets + i + 1) - row.begin;
    } else if (i == 0 && rows > 0) {
        length = __ldg(row_offsets + 1);
    }
    const bool equal_lengths = inside && length == row.begin - row.before;
    const bool is_long = length > long_row;
    row.length = int(min(length, long_row));
    row.compared = equal_lengths && !is_long;
    bool start = !equal_lengths && i <= rows;

    for (int first = 0;;) {
        const int left = row.compared ? row.length - first : 0;
        const int longest = lanes_max(left);
        if (longest <= 0) break;
        bool different = false;
        if (longest <= Lanes) {
            different = segments_differ<Lanes, 1>(columns, row, first);
        } else if (longest <= 2 * Lanes) {
            different = segments_differ<Lanes, 2>(columns, row, first);
        } else if (longest <= 3 * Lanes) {
            different = segments_differ<Lanes, 3>(columns, row, first);
        } else {
            different = segments_differ<Lanes, 4>(columns, row, first);
        }
        start |= different && row.compared;
        row.compared &= !different;
        first += 4 * Lanes;
    }

    const unsigned long_rows = __ballot_sync(full_warp, equal_lengths && is_long);
    unsigned marks = __ballot_sync(full_warp, start);
    if (threadIdx.x % 32 == 0) shared_long[warp] = long_rows;
    __syncthreads();
    for (int w = 0; w < mark_warps; ++w) {
        for (unsigned left = shared_long[w]; left != 0; left &= left - 1) {
            const int t = __ffs(int(left)) - 1;
            const Offset at = (Offset(blockIdx.x) * mark_warps + w) * 32 + t;
            const Offset begin = row_offsets[at];
            const bool different = long_rows_differ(columns, begin, row_offsets[at + 1] - begin);
            if (__syncthreads_or(different) && w == warp) marks |= 1u << t;
        }
    }
    if (threadIdx.x % 32 == 0 && word < words) starts[word] = marks;
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

/// Lanes a row after the mean length of the rows, of which four columns a lane make one pass.
void mark(const Context& context, const CsrPattern& pattern, Offset words, unsigned* starts) {
    const Offset mean = pattern.nonzeros / std::max<Index>(pattern.rows, 1);
    const auto kernel = mean <= 32   ? mark_kernel<8>
                        : mean <= 64 ? mark_kernel<16>
                                     : mark_kernel<32>;
    kernel<<<blocks_for(words, mark_warps), 32 * mark_warps, 0, stream_of(context)>>>(
        pattern.rows, pattern.row_offsets, pattern.column_indices, words, starts);
    TESSERA_CUDA(cudaGetLastError());
}

}  // namespace

Chain find_blocks(const Context& context, const CsrPattern& pattern, Index bound,
                  bool agglomerate) {
    const Index rows = pattern.rows;
    const Offset words = Offset(rows) / 32 + 3;  // NextStart reads two behind that of `rows`.
    Buffer<unsigned> starts(context, words);
    mark(context, pattern, words, starts.data());
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
