#include <algorithm>

#include "base/check_cuda.hpp"
#include "gpu/bulk_copy.cuh"
#include "gpu/launch.cuh"
#include "gpu/load.cuh"
#include "gpu/warp.cuh"
#include "sparse/find_blocks/mark_cuda.cuh"

namespace tessera::cuda {

namespace {

constexpr Offset long_row = 1 << 14;  ///< Rows this long are compared by the whole thread block.

/// Whether `count` columns from `begin` on differ from the `count` before them, as far as thread
/// `thread` of `threads` sees: it compares every threads-th and stops at a difference.
__device__ bool long_rows_differ(const Index* columns, Offset begin, Offset count, int thread,
                                 int threads) {
    constexpr int depth = 12;
    for (Offset x = thread; x < count; x += depth * threads) {
        bool different = false;
#pragma unroll
        for (int u = 0; u < depth; ++u) {
            const Index* from = columns + begin + x + u * threads;
            const bool inside = x + u * threads < count;
            different |= load_if(inside, from, 0) != load_if(inside, from - count, 0);
        }
        if (different) return true;
    }
    return false;
}

/// A row of a lane; offsets count from the first column in shared memory.
struct StagedRow {
    int begin;
    int before;  ///< Begin of the previous row.
    int length;
    bool compared;  ///< No difference to the row before was found yet.
};

/// Compares columns first .. first + Depth * Lanes - 1 of rows with those of the previous row.
/// `Lanes` adjacent lanes read `Lanes` adjacent columns of the rows of these lanes, one row after
/// the other, and hold the columns of the previous row in registers. True in the lanes of rows that
/// differ.
template <int Lanes, int Depth>
__device__ bool segments_differ(const Index* columns, const StagedRow& row, int first) {
    const int lane = int(threadIdx.x) % 32;
    const int group = lane / Lanes * Lanes;
    const int offset = lane % Lanes + first;
    const unsigned compared = __ballot_sync(full_warp, row.compared);
    // A row is read for itself or for the row after it.
    const bool wanted = row.compared || (lane % Lanes < Lanes - 1 && (compared >> lane & 2u) != 0);
    const int length = wanted ? row.length : 0;
    const auto read = [&](int begin, int end, Index(&values)[Depth]) {
        const Index* const from = columns + begin + offset;
#pragma unroll
        for (int d = 0; d < Depth; ++d) {
            values[d] = offset + d * Lanes < end ? from[d * Lanes] : 0;
        }
    };
    Index before[Depth];
    read(__shfl_sync(full_warp, row.before, group),
         __shfl_sync(full_warp, row.compared ? row.length : 0, group), before);
    unsigned different = 0;  // Bit t: this lane found a difference in the group's row t.
#pragma unroll 4
    for (int t = 0; t < Lanes; ++t) {
        Index current[Depth];
        read(__shfl_sync(full_warp, row.begin, group + t),
             __shfl_sync(full_warp, length, group + t), current);
        Index changed = 0;
#pragma unroll
        for (int d = 0; d < Depth; ++d) {
            changed |= current[d] ^ before[d];
            before[d] = current[d];
        }
        if (changed != 0) different |= 1u << t;
    }
#pragma unroll
    for (int distance = Lanes / 2; distance > 0; distance /= 2) {
        different |= __shfl_xor_sync(full_warp, different, distance);
    }
    return (different >> (lane % Lanes) & 1u) != 0;
}

/// True in the lanes of rows that are to be compared and differ from the previous row.
template <int Lanes>
__device__ bool rows_differ(const Index* columns, StagedRow row) {
    const bool compared = row.compared;
    for (int first = 0;; first += 4 * Lanes) {
        const int longest = __reduce_max_sync(full_warp, row.compared ? row.length - first : 0);
        if (longest <= 0) break;
        const bool different =
            longest <= Lanes       ? segments_differ<Lanes, 1>(columns, row, first)
            : longest <= 2 * Lanes ? segments_differ<Lanes, 2>(columns, row, first)
            : longest <= 3 * Lanes ? segments_differ<Lanes, 3>(columns, row, first)
                                   : segments_differ<Lanes, 4>(columns, row, first);
        row.compared &= !different;
    }
    return compared && !row.compared;
}

/// Copies columns from `from` to `to` to shared memory; returns the address of the first one.
/// Called by a warp; `copies` is waited for, if bulk copies were started.
__device__ const Index* stage_columns(const Index* from, const Index* to, unsigned char* stage,
                                      const CopyBarrier& copies, int& phase) {
    const int lane = int(threadIdx.x) % 32;
    const auto address = reinterpret_cast<unsigned long long>(from);
    // At equal offsets in a line of 128 bytes on both sides.
    Index* const staged = reinterpret_cast<Index*>(stage + address % 128);
    const int count = int(to - from);
    const int head = min(int(-address % 16 / 4), count);  // Up to a multiple of 16 bytes.
    const int middle = (count - head) / 4 * 4;
    copies.fence_async_copies();
    __syncwarp();  // All lanes have read the previous columns.
    if (middle > 0 && lane == 0) {
        copies.expect(4 * middle);
        copies.copy(from + head, staged + head, 4 * middle);
    }
    if (lane < head) staged[lane] = from[lane];
    if (lane < count - head - middle) staged[head + middle + lane] = from[head + middle + lane];
    __syncwarp();
    if (middle > 0) {
        copies.wait(phase);
        phase ^= 1;
    }
    return staged;
}

/// Supervariables by comparison of adjacent rows: marks their starts; word w, bit t is set
/// where row 32 w + t starts one or is `rows`. One warp per word, one row per lane; a bulk copy
/// brings the columns of its rows, and of the row before, to shared memory, where `capacity`
/// columns fit; longer rows are compared in global memory.
template <int Lanes>
__global__ void __launch_bounds__(32 * mark_warps)
    mark_kernel(Index rows, const Offset* row_offsets, const Index* columns, Offset words,
                int capacity, unsigned* starts) {
    extern __shared__ __align__(128) unsigned char stages[];
    __shared__ unsigned long long barriers[mark_warps];
    __shared__ unsigned shared_long[mark_warps];
    const int warp = int(threadIdx.x) / 32;
    const int lane = int(threadIdx.x) % 32;
    const CopyBarrier copies(barriers + warp);
    if (lane == 0) copies.init();
    begin_dependent();
    const Offset word = Offset(blockIdx.x) * mark_warps + warp;
    const Offset i = word * 32 + lane;
    const Offset begin = i < rows ? __ldg(row_offsets + i) : 0;
    const Offset end = i < rows ? __ldg(row_offsets + i + 1) : 0;
    const Offset before = i > 0 && i < rows ? __ldg(row_offsets + i - 1) : 0;
    const bool as_long_as_previous = i > 0 && i < rows && end - begin == begin - before;
    bool start = !as_long_as_previous && i <= rows;

    int phase = 0;
    unsigned left =
        __ballot_sync(full_warp, as_long_as_previous && end - begin <= long_row && end > begin);
    while (left != 0) {
        const int row = __ffs(int(left)) - 1;
        const Offset from = __shfl_sync(full_warp, before, row);
        const bool mine = (left >> lane & 1u) != 0;
        const bool fits = mine && end - from <= capacity;
        const unsigned fitting = __ballot_sync(full_warp, fits);
        if (fitting == 0) {
            const Offset row_begin = __shfl_sync(full_warp, begin, row);
            const bool different = long_rows_differ(columns, row_begin, row_begin - from, lane, 32);
            if (__any_sync(full_warp, different) && lane == row) start = true;
            left &= left - 1;
            continue;
        }
        left &= ~fitting;
        const Offset to = __shfl_sync(full_warp, end, 31 - __clz(int(fitting)));
        const Index* const staged = stage_columns(
            columns + from, columns + to, stages + warp * (4 * capacity + 128), copies, phase);
        start |= rows_differ<Lanes>(
            staged, {int(begin - from), int(before - from), int(end - begin), fits});
    }

    const unsigned long_rows =
        __ballot_sync(full_warp, as_long_as_previous && end - begin > long_row);
    unsigned marks = __ballot_sync(full_warp, start);
    if (lane == 0) shared_long[warp] = long_rows;
    __syncthreads();
    for (int w = 0; w < mark_warps; ++w) {
        for (unsigned more = shared_long[w]; more != 0; more &= more - 1) {
            const int t = __ffs(int(more)) - 1;
            const Offset row = (Offset(blockIdx.x) * mark_warps + w) * 32 + t;
            const Offset row_begin = row_offsets[row];
            const bool different =
                long_rows_differ(columns, row_begin, row_offsets[row + 1] - row_begin,
                                 int(threadIdx.x), 32 * mark_warps);
            if (__syncthreads_or(different) && w == warp) marks |= 1u << t;
        }
    }
    if (lane == 0 && word < words) starts[word] = marks;
}

/// Words of the mask.
Offset mask_words(Index rows) { return Offset(rows) / 32 + 3; }

}  // namespace

Offset mark_bytes(Index rows) { return mask_words(rows) * Offset(sizeof(unsigned)); }

StartMask mark_supervariables(const Context& context, const SquarePattern& pattern,
                              unsigned* memory) {
    const Offset words = mask_words(pattern.rows);
    // A warp's rows and the previous one fit, if they are not much longer than average; two rows
    // always fit, or are compared in global memory.
    const double mean = double(pattern.nonzeros) / std::max<Index>(pattern.rows, 1);
    const int capacity =
        supports_bulk_copies() ? int(std::clamp(33 * 1.125 * mean, 128.0, 4096.0)) / 32 * 32 : 0;
    const auto kernel = mean <= 24 ? mark_kernel<8> : mark_kernel<32>;
    launch_dependent(kernel, blocks_for(words, mark_warps), 32 * mark_warps,
                     mark_warps * (4 * capacity + 128), stream_of(context), pattern.rows,
                     pattern.row_offsets, pattern.column_indices, words, capacity, memory);
    return {memory};
}

}  // namespace tessera::cuda
