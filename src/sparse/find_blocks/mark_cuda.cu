#include <algorithm>

#include "base/check_cuda.hpp"
#include "gpu/bulk_copy.cuh"
#include "gpu/launch.cuh"
#include "gpu/load.cuh"
#include "gpu/warp.cuh"
#include "sparse/find_blocks/mark_cuda.cuh"

namespace tessera::cuda {

namespace {

constexpr int mark_warps = 4;         ///< A thread block.
constexpr Offset long_row = 1 << 14;  ///< Compared by the whole thread block.

/// Whether a thread finds `count` columns from `begin` on to differ from the `count` before them;
/// thread `thread` of `threads` looks at every threads-th, and stops at a difference.
__device__ bool long_rows_differ(const Index* columns, Offset begin, Offset count, int thread,
                                 int threads) {
    constexpr int depth = 12;
    for (Offset x = thread; x < count; x += depth * threads) {
        bool different = false;
#pragma unroll
        for (int u = 0; u < depth; ++u) {
            const Index* at = columns + begin + x + u * threads;
            const bool inside = x + u * threads < count;
            different |= load_if(inside, at, 0) != load_if(inside, at - count, 0);
        }
        if (different) return true;
    }
    return false;
}

/// A row as its lane knows it; where columns start is counted from the first one in shared memory.
struct StagedRow {
    int begin;
    int before;  ///< Begin of the row before.
    int length;
    bool compared;  ///< Still equal to the row before, as far as is known.
};

/// Compares columns first .. first + Depth * Lanes - 1 of rows with those of the row before.
/// `Lanes` adjacent lanes take `Lanes` adjacent rows, the rows of these lanes, one after the other,
/// and keep the columns of the row before in registers. True in the lanes of rows that differ.
template <int Lanes, int Depth>
__device__ bool segments_differ(const Index* columns, const StagedRow& row, int first) {
    const int lane = int(threadIdx.x) % 32;
    const int group = lane / Lanes * Lanes;
    const int offset = lane % Lanes + first;
    const unsigned compared = __ballot_sync(full_warp, row.compared);
    // A row is read for itself or for the row behind it.
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
    unsigned different = 0;  // Bit t: this lane sees a difference in the group's row t.
#pragma unroll 4
    for (int t = 0; t < Lanes; ++t) {
        Index here[Depth];
        read(__shfl_sync(full_warp, row.begin, group + t),
             __shfl_sync(full_warp, length, group + t), here);
        Index changed = 0;
#pragma unroll
        for (int d = 0; d < Depth; ++d) {
            changed |= here[d] ^ before[d];
            before[d] = here[d];
        }
        if (changed != 0) different |= 1u << t;
    }
#pragma unroll
    for (int distance = Lanes / 2; distance > 0; distance /= 2) {
        different |= __shfl_xor_sync(full_warp, different, distance);
    }
    return (different >> (lane % Lanes) & 1u) != 0;
}

/// True in the lanes of rows that are to be compared and differ from the row before.
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

/// Copies columns from `from` to `to` to shared memory; returns where the first one is. A warp;
/// `copies` is waited for by its phase, if there was something to wait for.
__device__ const Index* stage_columns(const Index* from, const Index* to, unsigned char* stage,
                                      const CopyBarrier& copies, int& phase) {
    const int lane = int(threadIdx.x) % 32;
    const auto address = reinterpret_cast<unsigned long long>(from);
    // The same place in a line of 128 bytes on both sides.
    Index* const at = reinterpret_cast<Index*>(stage + address % 128);
    const int count = int(to - from);
    const int head = min(int(-address % 16 / 4), count);  // Not in whole 16 bytes.
    const int middle = (count - head) / 4 * 4;
    copies.after_writes();
    __syncwarp();  // All are done with what was there before.
    if (middle > 0 && lane == 0) {
        copies.expect(4 * middle);
        copies.copy(from + head, at + head, 4 * middle);
    }
    if (lane < head) at[lane] = from[lane];
    if (lane < count - head - middle) at[head + middle + lane] = from[head + middle + lane];
    __syncwarp();
    if (middle > 0) {
        copies.wait(phase);
        phase ^= 1;
    }
    return at;
}

/// Word w, bit t: a supervariable starts at row 32 w + t, or that is `rows`. A warp a word: it
/// copies the columns of its rows, and of the row before, to shared memory at once, if they fit
/// there, and compares them there; `capacity` columns fit.
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
    const bool inside = i > 0 && i < rows;
    const Offset begin = inside ? __ldg(row_offsets + i) : 0;
    const Offset before = inside ? __ldg(row_offsets + i - 1) : 0;
    const Offset end = inside ? __ldg(row_offsets + i + 1) : 0;
    const bool equal_lengths = inside && end - begin == begin - before;
    bool start = !equal_lengths && i <= rows;

    int phase = 0;
    unsigned left =
        __ballot_sync(full_warp, equal_lengths && end - begin <= long_row && end > begin);
    while (left != 0) {
        const int row = __ffs(int(left)) - 1;
        const Offset from = __shfl_sync(full_warp, before, row);
        const bool mine = (left >> lane & 1u) != 0;
        const bool fits = mine && end - from <= capacity;
        const unsigned fitting = __ballot_sync(full_warp, fits);
        if (fitting == 0) {
            const Offset at = __shfl_sync(full_warp, begin, row);
            const bool different = long_rows_differ(columns, at, at - from, lane, 32);
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

    const unsigned long_rows = __ballot_sync(full_warp, equal_lengths && end - begin > long_row);
    unsigned marks = __ballot_sync(full_warp, start);
    if (lane == 0) shared_long[warp] = long_rows;
    __syncthreads();
    for (int w = 0; w < mark_warps; ++w) {
        for (unsigned more = shared_long[w]; more != 0; more &= more - 1) {
            const int t = __ffs(int(more)) - 1;
            const Offset row = (Offset(blockIdx.x) * mark_warps + w) * 32 + t;
            const Offset at = row_offsets[row];
            const bool different = long_rows_differ(columns, at, row_offsets[row + 1] - at,
                                                    int(threadIdx.x), 32 * mark_warps);
            if (__syncthreads_or(different) && w == warp) marks |= 1u << t;
        }
    }
    if (lane == 0 && word < words) starts[word] = marks;
}

}  // namespace

Buffer<unsigned> mark_supervariables(const Context& context, const CsrPattern& pattern) {
    const Offset words = Offset(pattern.rows) / 32 + 3;
    Buffer<unsigned> starts(context, words);
    // A warp's rows and the row before fit, if they are not much longer than most; two rows always
    // do, or are read from where they are.
    const double mean = double(pattern.nonzeros) / std::max<Index>(pattern.rows, 1);
    const int capacity =
        bulk_copies() ? int(std::clamp(33 * 1.125 * mean, 128.0, 4096.0)) / 32 * 32 : 0;
    const auto kernel = mean <= 16 ? mark_kernel<8> : mark_kernel<32>;
    launch_dependent(kernel, blocks_for(words, mark_warps), 32 * mark_warps,
                     mark_warps * (4 * capacity + 128), stream_of(context), pattern.rows,
                     pattern.row_offsets, pattern.column_indices, words, capacity, starts.data());
    return starts;
}

}  // namespace tessera::cuda
