#include "gpu/scan.cuh"
#include "sparse/find_blocks/mark_cuda.cuh"
#include "sparse/find_blocks/segmentation_cuda.cuh"

namespace tessera::cuda {

namespace {

/// The block start that follows the block start `row` < rows.
struct NextStart {
    static constexpr int staged_words = chunk_items / 32 + 3;

    StartMask mask;
    const std::uint8_t* periods;  ///< Periods of the groups; see Marks.
    int bound;
    bool agglomerate;
    Index first = 0;  ///< First row of the mask.

    /// Loads the words of the mask that a chunk needs into shared memory. Returns the rows of a
    /// block if all supervariables are known to have equally many (the last block may have fewer),
    /// else 0. Called by all threads of the thread block.
    __device__ int stage(Index chunk, Index rows, unsigned* staged) {
        const int t = int(threadIdx.x);
        const bool inside = t < staged_words && chunk / 32 + t < rows / 32 + 3;
        const unsigned word = inside ? mask.words[chunk / 32 + t] : 0;
        const int period = periods != nullptr ? checked_period(rows) : 0;
        if (inside) staged[t] = word;
        mask.words = staged;
        first = chunk;
        if (__syncthreads_and(period > 0) == 0) return 0;
        if (period <= bound) return agglomerate ? bound / period * period : period;
        return period % bound == 0 ? bound : 0;
    }
    __device__ Index operator()(Index row) const {
        const auto ends = static_cast<long long>(mask.ends(row - first, bound));
        return row + (agglomerate ? 64 - __clzll(ends) : __ffsll(ends));
    }

  private:
    /// The period of the first group if the starts that this thread checks are its multiples; else
    /// 0. All loads are issued before the first is used.
    __device__ int checked_period(Index rows) const {
        static_assert(period_rows < segmentation_threads);
        constexpr int in_flight = 4;  // Words of four periods.
        const int t = int(threadIdx.x);
        const Index groups = rows / period_rows;
        const auto* const fours = reinterpret_cast<const unsigned*>(periods);
        const int period = periods[0];
        const Index row = groups * period_rows + t;
        const unsigned word = row <= rows ? mask.words[row / 32] : 0;
        const Index byte = groups / 4 * 4 + t;
        const int last = byte < groups ? periods[byte] : 0;
        unsigned most = 0;  // Bits of any period, and of all.
        unsigned least = ~0u;
#pragma unroll 1
        for (Index first = t; first < groups / 4; first += in_flight * segmentation_threads) {
            unsigned four[in_flight];
#pragma unroll
            for (int u = 0; u < in_flight; ++u) {
                const Index k = first + u * segmentation_threads;
                four[u] = fours[k < groups / 4 ? k : first];
            }
#pragma unroll
            for (int u = 0; u < in_flight; ++u) {
                most |= four[u];
                least &= four[u];
            }
        }
        const unsigned each = unsigned(period) * 0x01010101u;
        bool equal = t >= groups / 4 || (most == each && least == each);
        if (byte < groups) equal &= last == period;
        if (row <= rows) {
            const bool multiple = unsigned(row) % unsigned(max(period, 1)) == 0;
            equal &= ((word >> (row % 32) & 1u) != 0) == multiple;
        }
        return equal ? period : 0;
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
    // Every thread block reads all periods: only worthwhile up to this many rows.
    constexpr Index max_rows = Index(1) << 22;
    const Offset scratch_size = scratch_bytes(rows, int(bound));
    // One allocation for marks and segmentation: each takes time on the host.
    Buffer<std::uint8_t> memory(context, scratch_size + mark_bytes(rows));
    const SupervariableMarks marks =
        mark_supervariables(context, pattern, rows <= max_rows,
                            reinterpret_cast<unsigned*>(memory.data() + scratch_size));
    const bool agglomerate = blocking == Blocking::supervariable;
    return segment_greedily(context, rows, int(bound),
                            NextStart{marks.mask, marks.periods, int(bound), agglomerate},
                            std::move(memory));
}

Segmentation group_blocks(const Context& context, const Index* block_offsets, Index count,
                          Index rows) {
    return segment_greedily(context, count, int(rows), NextGroup{block_offsets, count, rows},
                            Buffer<std::uint8_t>(context, scratch_bytes(count, int(rows))));
}

template void exclusive_scan(const Context&, Offset, BlockEntries, Offset*);

}  // namespace tessera::cuda
