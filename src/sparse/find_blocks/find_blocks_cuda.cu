#include "gpu/scan.cuh"
#include "sparse/find_blocks/chain_cuda.cuh"
#include "sparse/find_blocks/mark_cuda.cuh"
#include "sparse/find_blocks/similar_cuda.cuh"

namespace tessera::cuda {

namespace {

/// The block start that follows the block start `row` < rows.
struct NextStart {
    static constexpr int staged_words = chain_chunk / 32 + 3;

    StartMask mask;
    int bound;
    bool agglomerate;
    Index first = 0;  ///< Row that the mask begins with.

    /// Takes the words that a chunk needs to shared memory.
    __device__ void stage(Index chunk, Index rows, unsigned* staged) {
        const int t = int(threadIdx.x);
        if (t < staged_words && chunk / 32 + t < rows / 32 + 3) {
            staged[t] = mask.words[chunk / 32 + t];
        }
        mask.words = staged;
        first = chunk;
    }
    __device__ Index operator()(Index row) const {
        const auto ends = static_cast<long long>(mask.ends(row - first, bound));
        return row + (agglomerate ? 64 - __clzll(ends) : __ffsll(ends));
    }
};

struct NextStep {
    const std::uint8_t* steps;
    __device__ Index operator()(Index row) const { return row + steps[row]; }
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

Chain find_blocks(const Context& context, const CsrPattern& pattern, Index bound,
                  Blocking blocking) {
    const Index rows = pattern.rows;
    const Buffer<unsigned> starts = mark_supervariables(context, pattern);
    const StartMask mask{starts.data()};
    if (blocking == Blocking::similar) {
        const Buffer<std::uint8_t> steps = similar_steps(context, pattern, mask, int(bound));
        return follow_chain(context, rows, int(bound), NextStep{steps.data()});
    }
    const bool agglomerate = blocking == Blocking::supervariable;
    return follow_chain(context, rows, int(bound), NextStart{mask, int(bound), agglomerate});
}

Chain group_blocks(const Context& context, const Index* block_offsets, Index count, Index rows) {
    return follow_chain(context, count, int(rows), NextGroup{block_offsets, count, rows});
}

void block_entry_offsets(const Context& context, const Index* block_offsets, Index count,
                         Offset* entry_offsets) {
    exclusive_scan(context, count, BlockEntries{block_offsets}, entry_offsets);
}

}  // namespace tessera::cuda
