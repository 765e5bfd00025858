#include "gpu/scan.cuh"
#include "sparse/find_blocks/mark_cuda.cuh"
#include "sparse/find_blocks/segmentation_cuda.cuh"

namespace tessera::cuda {

namespace {

/// The block start that follows the block start `row` < rows.
struct NextStart {
    static constexpr int staged_words = chunk_items / 32 + 3;

    StartMask mask;
    int bound;
    bool agglomerate;
    Index first = 0;  ///< First row of the mask.

    /// Loads the words of the mask that a chunk needs into shared memory. Called by all threads of
    /// the thread block.
    __device__ void stage(Index chunk, Index rows, unsigned* staged) {
        const int t = int(threadIdx.x);
        if (t < staged_words && chunk / 32 + t < rows / 32 + 3) {
            staged[t] = mask.words[chunk / 32 + t];
        }
        mask.words = staged;
        first = chunk;
        __syncthreads();
    }
    __device__ Index operator()(Index row) const {
        const auto ends = static_cast<long long>(mask.ends(row - first, bound));
        return row + (agglomerate ? 64 - __clzll(ends) : __ffsll(ends));
    }
};

/// The first block after the group that starts with block `block`, by bisection: a group has at
/// most `rows` blocks.
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

}  // namespace

Segmentation find_blocks(const Context& context, const SquarePattern& pattern, Index bound,
                         Blocking blocking) {
    const Index rows = pattern.rows;
    const Offset scratch_size = scratch_bytes(rows, int(bound));
    // One allocation for marks and segmentation: each takes time on the host.
    Buffer<std::uint8_t> memory(context, scratch_size + mark_bytes(rows));
    const StartMask mask = mark_supervariables(
        context, pattern, reinterpret_cast<unsigned*>(memory.data() + scratch_size));
    const bool agglomerate = blocking == Blocking::supervariable;
    return segment_greedily(context, rows, int(bound), NextStart{mask, int(bound), agglomerate},
                            std::move(memory));
}

Segmentation group_blocks(const Context& context, const Index* block_offsets, Index count,
                          Index rows) {
    return segment_greedily(context, count, int(rows), NextGroup{block_offsets, count, rows},
                            Buffer<std::uint8_t>(context, scratch_bytes(count, int(rows))));
}

template void exclusive_scan(const Context&, Offset, BlockEntries, Offset*);

}  // namespace tessera::cuda
