#include <algorithm>
#include <bit>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>
#include <cuda/atomic>

#include "base/zeros.hpp"
#include "gpu/for_each.cuh"
#include "gpu/scan.cuh"
#include "gpu/tuning/block_lists_h200.hpp"
#include "precond/incomplete/symbolic/gpu_schedule.hpp"
#include "precond/incomplete/symbolic/kernels.hpp"

// Lists of blocks by radix sorts; levels by rows that wait for each other; Schur updates by
// intersections of rows.

namespace tessera::incomplete::cuda {

using namespace tessera::cuda;

namespace {

/// Calls a function of CUB with its work space.
template <class Call>
void with_work_space(const Context& context, Call&& call) {
    std::size_t bytes = 0;
    TESSERA_CUDA(call(nullptr, bytes));
    Buffer<char> space(context, Offset(std::max<std::size_t>(bytes, 1)));
    TESSERA_CUDA(call(static_cast<void*>(space.data()), bytes));
}

/// Bits of the numbers 0 .. largest.
int bits_of(Index largest) { return std::max(1, int(std::bit_width(unsigned(largest)))); }

/// Stable radix sort by keys of so many bits.
void sort_pairs(const Context& context, Buffer<Index>& keys, Buffer<Index>& values, int bits) {
    Buffer<Index> other_keys(context, keys.size()), other_values(context, keys.size());
    cub::DoubleBuffer<Index> both_keys(keys.data(), other_keys.data());
    cub::DoubleBuffer<Index> both_values(values.data(), other_values.data());
    with_work_space(context, [&](void* space, std::size_t& bytes) {
        return cub::DeviceRadixSort::SortPairs(space, bytes, both_keys, both_values, keys.size(), 0,
                                               bits, stream_of(context));
    });
    if (both_keys.Current() != keys.data()) std::swap(keys, other_keys);
    if (both_values.Current() != values.data()) std::swap(values, other_values);
}

/// Position of the first of ascending numbers from `from` to `to` that is not below `number`.
template <class T>
__device__ __forceinline__ Offset lower_bound(const T* numbers, Offset from, Offset to, T number) {
    while (from < to) {
        const Offset middle = (from + to) / 2;
        if (numbers[middle] < number) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

/// The start of each number in an ascending list: offset i is the count of smaller ones than i.
template <class Offsets>
struct FindStarts {
    static constexpr int work = 64;
    const Index* numbers;
    Offset count;
    Offsets* offsets;
    __device__ void operator()(Offset i) const {
        offsets[i] = Offsets(lower_bound(numbers, 0, count, Index(i)));
    }
};

struct Count {
    static constexpr int work = 1;
    Index* numbers;
    __device__ void operator()(Offset i) const { numbers[i] = Index(i); }
};

/// A block of the lower triangle as a number that is sorted by rows and, in these, by columns.
using Key = unsigned long long;

/// The keys of the blocks of the entries of groups of rows, above the diagonal those of their
/// transposes; all bits for entries without one. `lanes` threads share the row in a slot.
struct WriteKeys {
    static constexpr int work = 128;
    static constexpr int lanes = 8;
    const Index *row_in_slot, *slot_of_column;
    Index k, size;
    const Offset* offsets;
    const Index* columns;
    bool symmetric;
    int bits;  ///< Bits of a block row.
    Key* keys;

    __device__ void operator()(Offset place) const {
        const Index slot = Index(place / lanes), row = row_in_slot[slot];
        if (row < 0 || row % size != 0) return;
        const Key i = Key(slot / k), none = (Key(1) << 2 * bits) - 1;
        const Offset end = offsets[row / size + 1];
        for (Offset e = offsets[row / size] + place % lanes; e < end; e += lanes) {
            const Key j = Key(slot_of_column[columns[e] * size] / k);
            const bool left_out = i == j || (symmetric && j > i);
            keys[e] = left_out ? none : i > j ? i << bits | j : j << bits | i;
        }
    }
};

/// Offsets of block rows in ascending keys. No key equals that of a diagonal block, but that of
/// entries without a block may.
struct FindRows {
    static constexpr int work = 64;
    const Key* keys;
    Offset count;
    int bits;
    Offset* offsets;
    __device__ void operator()(Offset i) const {
        offsets[i] = i == 0 ? 0 : lower_bound(keys, 0, count, Key(i - 1) << bits | Key(i - 1));
    }
};

struct ColumnsOfKeys {
    static constexpr int work = 2;
    const Key* keys;
    int bits;
    Index* columns;
    __device__ void operator()(Offset e) const {
        columns[e] = Index(keys[e] & ((Key(1) << bits) - 1));
    }
};

}  // namespace

BlockRows lower_blocks(const Context& context, const Grid& grid, const GroupPattern& pattern,
                       bool symmetric) {
    BlockRows result{zeros<Offset>(context, Offset(grid.block_rows) + 1), {}};
    if (pattern.entries == 0) return result;
    const int bits = bits_of(grid.block_rows - 1);
    Buffer<Key> keys(context, pattern.entries), others(context, pattern.entries);
    for_each_index(
        context, grid.slots.size() * WriteKeys::lanes,
        WriteKeys{grid.rows_in_slots().data(), grid.slot_of_column.data(), grid.k, pattern.size,
                  pattern.offsets, pattern.columns, symmetric, bits, keys.data()});
    cub::DoubleBuffer<Key> both(keys.data(), others.data());
    with_work_space(context, [&](void* space, std::size_t& bytes) {
        return cub::DeviceRadixSort::SortKeys(space, bytes, both, pattern.entries, 0, 2 * bits,
                                              stream_of(context));
    });
    Buffer<Offset> count(context, 1);
    with_work_space(context, [&](void* space, std::size_t& bytes) {
        return cub::DeviceSelect::Unique(space, bytes, both.Current(), both.Alternate(),
                                         count.data(), pattern.entries, stream_of(context));
    });
    for_each_index(
        context, result.offsets.size(),
        FindRows{both.Alternate(), read_value(context, count.data()), bits, result.offsets.data()});
    const Offset blocks = read_value(context, result.offsets.data() + grid.block_rows);
    result.columns = Buffer<Index>(context, blocks);
    for_each_index(context, blocks, ColumnsOfKeys{both.Alternate(), bits, result.columns.data()});
    return result;
}

namespace {

/// What the thread blocks of the search for levels share; 0 before it.
struct LevelSearch {
    unsigned drawn;  ///< Thread blocks' worth of rows that are taken.
    Index highest;   ///< Highest level.
    Index too_many;  ///< Whether the search has ended early.
};

/// The level of each block row, 1 + the highest of its blocks' columns, -1 before. One thread per
/// row adds a block whenever its level is known and never waits, as rows of a warp depend on each
/// other, whose levels are passed by shuffles. Thread blocks draw ascending rows, so that the rows
/// that others wait for are always under way.
__global__ void __launch_bounds__(level_threads)
    find_levels_kernel(Index rows, const Offset* offsets, const Index* columns, Index max_levels,
                       Index* level, LevelSearch* search) {
    constexpr auto relaxed = ::cuda::memory_order_relaxed;
    using Shared = ::cuda::atomic_ref<Index, ::cuda::thread_scope_device>;
    __shared__ unsigned drawn;
    const int lane = int(threadIdx.x) % 32;
    while (true) {
        __syncthreads();
        if (threadIdx.x == 0) drawn = atomicAdd(&search->drawn, 1U);
        __syncthreads();
        const Offset first = Offset(drawn) * level_threads, row = first + threadIdx.x;
        if (first >= rows) return;
        bool done = row >= rows;
        Offset e = done ? 0 : offsets[row];
        const Offset end = done ? 0 : offsets[row + 1];
        Index other = e < end ? columns[e] : -1, highest = 0, mine = -1;
        for (unsigned round = 1; __any_sync(full_warp, !done); ++round) {
            const Offset in_warp = other - (row - lane);
            Index found = __shfl_sync(full_warp, mine, int(in_warp) & 31);
            if (e < end) {
                if (in_warp < 0) found = Shared(level[other]).load(relaxed);
                if (found >= 0) {
                    highest = max(highest, found + 1);
                    if (++e < end) other = columns[e];
                }
            }
            if (!done && e == end) {
                mine = highest;
                Shared(level[row]).store(mine, relaxed);
                raise_to(&search->highest, mine);
                if (max_levels > 0 && mine >= max_levels) raise_to(&search->too_many, Index(1));
                done = true;
            }
            if (round % 64 == 0 &&
                __any_sync(full_warp, Shared(search->too_many).load(relaxed) != 0)) {
                break;
            }
        }
        if (__syncthreads_or(Shared(search->too_many).load(relaxed)) != 0) return;
    }
}

}  // namespace

LevelOrder order_by_levels(const Context& context, const BlockRows& blocks, Index max_levels) {
    const Index rows = Index(blocks.offsets.size() - 1);
    if (rows == 0) return {{}, zeros<Index>(context, 1)};
    Buffer<Index> level(context, rows), order(context, rows);
    context.state().fill_bytes(level.data(), 0xff, rows * Offset(sizeof(Index)));
    Buffer<LevelSearch> search = zeros<LevelSearch>(context, 1);
    find_levels_kernel<<<std::min(blocks_for(rows, level_threads), level_blocks), level_threads, 0,
                         stream_of(context)>>>(rows, blocks.offsets.data(), blocks.columns.data(),
                                               max_levels, level.data(), search.data());
    TESSERA_CUDA(cudaGetLastError());
    const LevelSearch found = read_value(context, search.data());
    if (found.too_many != 0) return {};
    for_each_index(context, rows, Count{order.data()});
    sort_pairs(context, level, order, bits_of(found.highest));
    Buffer<Index> level_offsets(context, Offset(found.highest) + 2);
    for_each_index(context, level_offsets.size(),
                   FindStarts<Index>{level.data(), rows, level_offsets.data()});
    return {std::move(order), std::move(level_offsets)};
}

namespace {

/// The number of blocks of row order[i].
struct RowLength {
    const Offset* offsets;
    const Index* order;
    __device__ Offset operator()(Offset i) const {
        return offsets[order[i] + 1] - offsets[order[i]];
    }
};

/// The blocks of row order[i] with their new numbers; `lanes` threads share a row.
struct RenumberBlocks {
    static constexpr int work = 64;
    static constexpr int lanes = 8;
    const Offset* offsets;
    const Index *old_columns, *order, *number;
    const Offset* row_offsets;
    Index *rows, *columns;
    __device__ void operator()(Offset place) const {
        const Offset i = place / lanes, from = offsets[order[i]];
        const Offset count = offsets[order[i] + 1] - from;
        for (Offset e = place % lanes; e < count; e += lanes) {
            rows[row_offsets[i] + e] = Index(i);
            columns[row_offsets[i] + e] = number[old_columns[from + e]];
        }
    }
};

/// to_e = numbers[at_e].
struct Gather {
    static constexpr int work = 2;
    const Index *at, *numbers;
    Index* to;
    __device__ void operator()(Offset e) const { to[e] = numbers[at[e]]; }
};

}  // namespace

void list_blocks(const Context& context, const BlockRows& blocks, const Buffer<Index>& order,
                 const Buffer<Index>& number, BlockPattern& pattern) {
    const Offset rows = order.size(), count = blocks.columns.size();
    pattern.row_offsets = Buffer<Offset>(context, rows + 1);
    exclusive_scan(context, rows, RowLength{blocks.offsets.data(), order.data()},
                   pattern.row_offsets.data());
    for (auto* list : {&pattern.rows, &pattern.columns, &pattern.row_blocks}) {
        *list = Buffer<Index>(context, count);
    }
    pattern.column_offsets = zeros<Offset>(context, rows + 1);
    if (count == 0) return;
    for_each_index(
        context, rows * RenumberBlocks::lanes,
        RenumberBlocks{blocks.offsets.data(), blocks.columns.data(), order.data(), number.data(),
                       pattern.row_offsets.data(), pattern.rows.data(), pattern.columns.data()});
    const int bits = bits_of(Index(rows - 1));
    sort_pairs(context, pattern.columns, pattern.rows, bits);
    for_each_index(
        context, rows + 1,
        FindStarts<Offset>{pattern.columns.data(), count, pattern.column_offsets.data()});
    Buffer<Index> keys(context, count);
    copy(context, pattern.rows, keys);
    for_each_index(context, count, Count{pattern.row_blocks.data()});
    sort_pairs(context, keys, pattern.row_blocks, bits);
}

namespace {

/// The updates of the blocks, in the order of their rows: the columns k < j that rows i and j have
/// in common, where a team of `lanes` threads looks up those of the shorter row in the longer one.
/// Counts them or, with `counts` null, lists them.
__global__ void __launch_bounds__(update_threads)
    updates_kernel(const __grid_constant__ PatternLists a, const Index* row_columns, int lanes,
                   Index* counts, Index* left, Index* right) {
    const Offset e = (Offset(blockIdx.x) * update_threads + threadIdx.x) / lanes;
    if (e >= a.blocks) return;
    const int lane = int(threadIdx.x) % lanes, warp_lane = int(threadIdx.x) % 32;
    const unsigned team = full_warp >> (32 - lanes) << (warp_lane - lane);
    const Index block = a.row_blocks[e], j = a.columns[block];
    const Offset first_left = a.row_offsets[a.rows[block]], left_count = e - first_left;
    const Offset first_right = a.row_offsets[j], right_count = a.row_offsets[j + 1] - first_right;
    const bool from_left = left_count <= right_count;
    const Offset first = from_left ? first_left : first_right;
    const Offset count = from_left ? left_count : right_count;
    const Offset others = from_left ? first_right : first_left;
    const Offset others_end = others + (from_left ? right_count : left_count);
    Offset found = counts != nullptr ? 0 : a.update_offsets[block];
    for (Offset done = 0; done < count; done += lanes) {
        const Offset at = first + done + lane;
        Offset other = others_end;
        if (done + lane < count) {
            other = lower_bound(row_columns, others, others_end, row_columns[at]);
            if (other < others_end && row_columns[other] != row_columns[at]) other = others_end;
        }
        const unsigned hits = __ballot_sync(team, other < others_end);
        if (counts == nullptr && other < others_end) {
            const Offset to = found + __popc(hits & ((1U << warp_lane) - 1));
            left[to] = a.row_blocks[from_left ? at : other];
            right[to] = a.row_blocks[from_left ? other : at];
        }
        found += __popc(hits);
    }
    if (counts != nullptr && lane == 0) counts[block] = Index(found);
}

void run_updates(const Context& context, const BlockPattern& pattern, Index* counts, Index* left,
                 Index* right) {
    const Offset blocks = pattern.blocks();
    if (blocks == 0) return;
    Buffer<Index> row_columns(context, blocks);
    for_each_index(context, blocks,
                   Gather{pattern.row_blocks.data(), pattern.columns.data(), row_columns.data()});
    const int lanes = longest_list(context, pattern.row_offsets) > long_row ? 32 : update_lanes;
    updates_kernel<<<blocks_for(blocks * lanes, update_threads), update_threads, 0,
                     stream_of(context)>>>(pattern.lists(1, true), row_columns.data(), lanes,
                                           counts, left, right);
    TESSERA_CUDA(cudaGetLastError());
}

}  // namespace

void count_updates(const Context& context, BlockPattern& pattern) {
    const Offset blocks = pattern.blocks();
    Buffer<Index> counts(context, blocks);
    run_updates(context, pattern, counts.data(), nullptr, nullptr);
    pattern.update_offsets = Buffer<Offset>(context, blocks + 1);
    exclusive_scan(context, blocks, CountAt{counts.data()}, pattern.update_offsets.data());
}

void list_updates(const Context& context, BlockPattern& pattern) {
    run_updates(context, pattern, nullptr, pattern.left.data(), pattern.right.data());
}

}  // namespace tessera::incomplete::cuda
