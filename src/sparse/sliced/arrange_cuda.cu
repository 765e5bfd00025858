#include <bit>
#include <climits>

#include "gpu/scan.cuh"
#include "sparse/sliced/block_row.hpp"
#include "sparse/sliced/sliced_launch.cuh"
#include "sparse/stored_value.hpp"

namespace tessera::cuda {

namespace {

/// Threads that share a block row while its blocks are counted.
constexpr int count_lanes = 8;

/// Whether the rows of a block row have the same columns, and these are whole blocks: then its
/// blocks need no merge. A group of `count_lanes` threads asks together.
template <int B>
__device__ bool has_full_blocks(const CsrPattern& matrix, Offset block_row, int lane) {
    const Offset row = block_row * B;
    const Offset start = matrix.row_offsets[row];
    const Offset length = matrix.row_offsets[row + 1] - start;
    Offset starts[B];
    bool full = length % B == 0;
#pragma unroll
    for (int r = 1; r < B; ++r) {
        starts[r] = matrix.row_offsets[row + r];
        full = full && matrix.row_offsets[row + r + 1] - starts[r] == length;
    }
    for (Offset k = lane; full && k < length; k += count_lanes) {
        const Index column = matrix.column_indices[start + k];
        full = column % B == k % B &&
               (k % B == 0 || matrix.column_indices[start + k - 1] == column - 1);
#pragma unroll
        for (int r = 1; r < B; ++r) {
            full = full && matrix.column_indices[starts[r] + k] == column;
        }
    }
    return full;
}

/// totals: the longest length and the sum of all. These are integers: the order does not matter.
template <int B>
__global__ void __launch_bounds__(sliced_threads)
    count_blocks_kernel(CsrPattern matrix, Offset block_rows, Index* lengths,
                        unsigned long long* totals) {
    __shared__ unsigned long long shared[2];
    if (threadIdx.x < 2) shared[threadIdx.x] = 0;
    __syncthreads();
    const Offset i = item_index() / count_lanes;
    const int lane = int(threadIdx.x) % count_lanes;
    const bool whole = (i + 1) * B <= matrix.rows;
    const bool full = whole && has_full_blocks<B>(matrix, i, lane);
    const bool merges = any_of_lanes<count_lanes>(!full);
    Index length = 0;
    if (lane == 0 && i < block_rows) {
        if (merges) {
            for_blocks<B>(matrix, Index(i), [&](Index) { ++length; });
        } else {
            length = Index(matrix.row_offsets[i * B + 1] - matrix.row_offsets[i * B]) / B;
        }
        lengths[i] = length;
    }
    const Index longest = lanes_max(length);
    const Offset sum = warp_sum(Offset(length));
    if (threadIdx.x % 32 == 0) {
        atomicMax(shared, static_cast<unsigned long long>(longest));
        atomicAdd(shared + 1, static_cast<unsigned long long>(sum));
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    atomicMax(totals, shared[0]);
    atomicAdd(totals + 1, shared[1]);
}

__global__ void __launch_bounds__(sliced_threads) number_kernel(Offset count, Index* numbers) {
    const Offset i = item_index();
    if (i < count) numbers[i] = Index(i);
}

/// One bit of how much shorter than the longest row that at `position` is.
struct KeyBit {
    const Index* order;
    const Index* lengths;
    Index longest;
    int bit;
    __device__ Offset operator()(Offset position) const {
        return (longest - lengths[order[position]]) >> bit & 1;
    }
};

/// Stable: within each window those whose bit is 0 come first. ones[i]: bits that are 1 before i.
__global__ void __launch_bounds__(sliced_threads)
    split_kernel(Offset count, Offset window, KeyBit key, const Offset* ones, Index* to) {
    const Offset i = item_index();
    if (i >= count) return;
    const Offset start = i / window * window;
    const Offset end = start + window < count ? start + window : count;
    const Offset ones_before = ones[i] - ones[start];
    const Offset zeros = end - start - (ones[end] - ones[start]);
    to[key(i) != 0 ? start + zeros + ones_before : i - ones_before] = key.order[i];
}

__global__ void __launch_bounds__(sliced_threads)
    row_lengths_kernel(SlicedPattern pattern, const Index* lengths, Index* row_lengths,
                       Index* widths) {
    const Offset p = item_index();
    const Offset positions = pattern.positions();
    const Offset slice = (p < positions ? p : positions - 1) / pattern.slice_height;
    Index length = 0;
    if (p < positions) {
        const Offset block_row = pattern.block_row(p);
        if (block_row < pattern.block_rows()) length = lengths[block_row];
        row_lengths[p] = length;
    }
    if (__all_sync(full_warp, slice == __shfl_sync(full_warp, slice, 0))) {
        length = lanes_max(length);
        if (threadIdx.x % 32 == 0) atomicMax(widths + slice, length);
    } else {
        atomicMax(widths + slice, length);
    }
}

struct SliceSlots {
    const Index* widths;
    Offset height;
    __device__ Offset operator()(Offset slice) const { return widths[slice] * height; }
};

/// A warp a slice; `farthest` is a number, the largest distance in a slice.
__global__ void __launch_bounds__(sliced_threads)
    first_columns_kernel(CsrPattern matrix, SlicedPattern pattern, Index* first_columns,
                         Index* farthest) {
    const Offset slice = item_index() / 32;
    if (slice >= pattern.slices) return;
    const Index block = pattern.block;
    const Offset rows = Offset(pattern.slice_height) * block;
    Index first = INT_MAX, last = 0;
    for (Offset at = threadIdx.x % 32; at < rows; at += 32) {
        const Offset row =
            pattern.block_row(slice * pattern.slice_height + at / block) * block + at % block;
        if (row >= matrix.rows) continue;
        const Offset begin = matrix.row_offsets[row], end = matrix.row_offsets[row + 1];
        if (begin == end) continue;
        first = min(first, matrix.column_indices[begin] / block);
        last = max(last, matrix.column_indices[end - 1] / block);
    }
    first = -lanes_max(-first);
    last = lanes_max(last);
    if (threadIdx.x % 32 != 0) return;
    first_columns[slice] = first <= last ? first : 0;
    if (first < last) atomicMax(farthest, last - first);
}

}  // namespace

BlockCounts count_blocks(const Context& context, const CsrPattern& matrix, Index block) {
    const Index block_rows = matrix.rows / block + (matrix.rows % block != 0);
    BlockCounts counts{Buffer<Index>(context, block_rows), 0, 0};
    Buffer<unsigned long long> totals(context, 2);
    set_zero(context, totals.data(), 16);
    with_block(block, [&](auto b) {
        launch_items(context, Offset(block_rows) * count_lanes,
                     count_blocks_kernel<decltype(b)::value>, matrix, Offset(block_rows),
                     counts.lengths.data(), totals.data());
    });
    const auto found = copy_to_host(context, totals);
    counts.longest = Index(found[0]);
    counts.blocks = Offset(found[1]);
    return counts;
}

Buffer<Index> sort_rows(const Context& context, const BlockCounts& counts, Index window) {
    const Offset count = counts.lengths.size();
    Buffer<Index> order(context, count), next(context, count);
    Buffer<Offset> ones(context, count + 1);
    launch_items(context, count, number_kernel, count, order.data());
    const int bits = std::bit_width(static_cast<unsigned>(counts.longest));
    for (int bit = 0; bit < bits; ++bit) {
        const KeyBit key{order.data(), counts.lengths.data(), counts.longest, bit};
        exclusive_scan(context, count, key, ones.data());
        launch_items(context, count, split_kernel, count, Offset(window), key, ones.data(),
                     next.data());
        std::swap(order, next);
    }
    return order;
}

Offset arrange_slices(const Context& context, const Buffer<Index>& lengths,
                      const SlicedPattern& pattern, Index* row_lengths, Offset* slice_offsets) {
    const Index slices = pattern.slices;
    Buffer<Index> widths(context, slices);
    set_zero(context, widths.data(), slices * Offset(sizeof(Index)));
    launch_items(context, pattern.positions(), row_lengths_kernel, pattern, lengths.data(),
                 row_lengths, widths.data());
    exclusive_scan(context, slices, SliceSlots{widths.data(), pattern.slice_height}, slice_offsets);
    Offset slots = 0;
    copy_to_host(context, std::span<const Offset>(slice_offsets + slices, 1),
                 std::span<Offset>(&slots, 1));
    return slots;
}

Index find_first_columns(const Context& context, const CsrPattern& matrix,
                         const SlicedPattern& pattern, Index* first_columns) {
    Buffer<Index> farthest(context, 1);
    set_zero(context, farthest.data(), Offset(sizeof(Index)));
    launch_items(context, Offset(pattern.slices) * 32, first_columns_kernel, matrix, pattern,
                 first_columns, farthest.data());
    Index distance = 0;
    copy_to_host(context, std::as_const(farthest).view(), std::span<Index>(&distance, 1));
    return distance;
}

}  // namespace tessera::cuda
