#include <bit>
#include <climits>

#include "gpu/scan.cuh"
#include "sparse/sliced/block_row.hpp"
#include "sparse/stored_value.hpp"

namespace tessera::cuda {

namespace {

constexpr int threads = 256;
/// Threads that share a row of the matrix while its values are written, and a block row while its
/// blocks are counted.
constexpr int value_lanes = 8;
constexpr int count_lanes = 8;
/// Threads that share a position of a matrix of full blocks.
constexpr int full_parts = 4;

/// kernel<<<enough for n items>>>(arguments...), or nothing for n = 0.
template <class Kernel, class... Arguments>
void launch(const Context& context, Offset n, Kernel* kernel, Arguments... arguments) {
    if (n == 0) return;
    kernel<<<blocks_for(n, threads), threads, 0, stream_of(context)>>>(arguments...);
    TESSERA_CUDA(cudaGetLastError());
}

/// A kernel over for_slots of `to`.
template <class Kernel, class... Arguments>
void launch_full(const Context& context, const SlicedPattern& to, Kernel* kernel,
                 Arguments... arguments) {
    if (to.positions() == 0) return;
    const dim3 blocks(blocks_for(to.positions(), threads), full_parts);
    kernel<<<blocks, threads, 0, stream_of(context)>>>(arguments...);
    TESSERA_CUDA(cudaGetLastError());
}

void set_zero(const Context& context, void* memory, Offset bytes) {
    if (bytes > 0) TESSERA_CUDA(cudaMemsetAsync(memory, 0, std::size_t(bytes), stream_of(context)));
}

__device__ Offset thread_index() { return Offset(blockIdx.x) * threads + threadIdx.x; }

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
__global__ void __launch_bounds__(threads)
    count_blocks_kernel(CsrPattern matrix, Offset block_rows, Index* lengths,
                        unsigned long long* totals) {
    __shared__ unsigned long long shared[2];
    if (threadIdx.x < 2) shared[threadIdx.x] = 0;
    __syncthreads();
    const Offset i = thread_index() / count_lanes;
    const int lane = int(threadIdx.x) % count_lanes;
    const bool whole = (i + 1) * B <= matrix.rows;
    const bool full = whole && has_full_blocks<B>(matrix, i, lane);
    const bool merges = any_of_lanes<count_lanes>(!full);
    Index length = 0;
    if (lane == 0 && i < block_rows) {
        if (merges) {
            for_blocks<B>(matrix, Index(i), [&](Index, std::uint64_t) { ++length; });
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

__global__ void __launch_bounds__(threads) number_kernel(Offset count, Index* numbers) {
    const Offset i = thread_index();
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
__global__ void __launch_bounds__(threads)
    split_kernel(Offset count, Offset window, KeyBit key, const Offset* ones, Index* to) {
    const Offset i = thread_index();
    if (i >= count) return;
    const Offset start = i / window * window;
    const Offset end = start + window < count ? start + window : count;
    const Offset ones_before = ones[i] - ones[start];
    const Offset zeros = end - start - (ones[end] - ones[start]);
    to[key(i) != 0 ? start + zeros + ones_before : i - ones_before] = key.order[i];
}

__global__ void __launch_bounds__(threads)
    row_lengths_kernel(SlicedPattern pattern, const Index* lengths, Index* row_lengths,
                       Index* widths) {
    const Offset p = thread_index();
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
__global__ void __launch_bounds__(threads)
    first_columns_kernel(CsrPattern matrix, SlicedPattern pattern, Index* first_columns,
                         Index* farthest) {
    const Offset slice = thread_index() / 32;
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

template <int B>
__global__ void __launch_bounds__(threads)
    fill_columns_kernel(CsrPattern matrix, SlicedPattern to, SlotColumns columns,
                        std::uint8_t* entry_bits) {
    const Offset p = thread_index();
    const Offset height = to.slice_height;
    if (p >= to.positions()) return;
    const Offset slice = p / height, lane = p % height;
    const Offset start = to.slice_offsets[slice];
    const Index width = Index((to.slice_offsets[slice + 1] - start) / height);
    constexpr Index bytes = entry_bytes(B);
    Index k = 0;
    const auto put = [&](Index column, std::uint64_t bits) {
        put_column(to, columns, slice, start + k * height + lane, column);
        for (Index j = 0; entry_bits != nullptr && j < bytes; ++j) {
            entry_bits[start * bytes + (Offset(k) * bytes + j) * height + lane] =
                std::uint8_t(bits >> (8 * j));
        }
        ++k;
    };
    const Offset block_row = to.block_row(p);
    if (block_row < to.block_rows()) for_blocks<B>(matrix, Index(block_row), put);
    while (k < width) put(pad_column(to, slice, block_row), 0);
}

/// f(k, slot, whether it is no pad, the block row) for every `full_parts`-th slot of a position, by
/// adjacent threads for adjacent positions.
template <class F>
__device__ void for_slots(const SlicedPattern& pattern, F&& f) {
    const Offset p = thread_index();
    if (p >= pattern.positions()) return;
    const Offset height = pattern.slice_height, slice = p / height;
    const Offset start = pattern.slice_offsets[slice];
    const Index width = Index((pattern.slice_offsets[slice + 1] - start) / height);
    const Index length = pattern.row_lengths[p];
    const Offset block_row = pattern.block_row(p);
    for (Index k = Index(blockIdx.y); k < width; k += full_parts) {
        f(k, start + k * height + p % height, k < length, block_row);
    }
}

/// fill_columns for full blocks: every row of a block row has them all, in their order.
template <int B>
__global__ void __launch_bounds__(threads)
    fill_full_columns_kernel(CsrPattern matrix, SlicedPattern to, SlotColumns columns) {
    const Offset slice = thread_index() / to.slice_height;
    for_slots(to, [&](Index k, Offset slot, bool block, Offset block_row) {
        const Index column =
            block ? matrix.column_indices[matrix.row_offsets[block_row * B] + Offset(k) * B] / B
                  : pad_column(to, slice, block_row);
        put_column(to, columns, slice, slot, column);
    });
}

/// fill_values for full blocks, pads included.
template <int B, class Stored, class S>
__global__ void __launch_bounds__(threads)
    fill_full_values_kernel(CsrView<S> matrix, const S* scaling, SlicedPattern to, Stored* values) {
    const Offset height = to.slice_height;
    for_slots(to, [&](Index k, Offset slot, bool block, Offset block_row) {
        const Offset lane = slot % height;
        Stored* const block_values = values + (slot - lane) * (B * B) + lane;
#pragma unroll
        for (int r = 0; r < B; ++r) {
            const Offset row = block_row * B + r;
            const Offset first = block ? matrix.row_offsets[row] + Offset(k) * B : 0;
#pragma unroll
            for (int c = 0; c < B; ++c) {
                block_values[(r * B + c) * height] =
                    narrow_to<Stored>(block ? scaled_value(matrix, scaling, row, first + c) : S(0));
            }
        }
    });
}

/// The row of the matrix that is row r of the block row at position p, and whether there is one.
struct SlicedRow {
    Offset p = 0, row = 0;
    int r = 0;
    bool exists = false;
};

template <int B>
__device__ SlicedRow sliced_row(const SlicedPattern& pattern, Offset index) {
    SlicedRow found{index / B, 0, int(index % B), false};
    if (found.p >= pattern.positions()) return found;
    const Offset block_row = pattern.block_row(found.p);
    found.row = block_row * B + found.r;
    found.exists = found.row < pattern.rows;  // Then the block row exists.
    return found;
}

/// The k of the slot whose block column is `column`, one of those stored; `start`: that of k = 0.
__device__ Index find_slot(const SlicedPattern& pattern, Offset slice, Offset start, Index length,
                           Index column) {
    Index first = 0, last = length - 1;
    while (first < last) {
        const Index middle = (first + last) / 2;
        const Offset slot = start + Offset(middle) * pattern.slice_height;
        if (pattern.block_column(slice, slot) < column) {
            first = middle + 1;
        } else {
            last = middle;
        }
    }
    return first;
}

template <int B, class Stored, class S>
__global__ void __launch_bounds__(threads)
    fill_values_kernel(CsrView<S> matrix, const S* scaling, SlicedPattern to, Stored* values) {
    const SlicedRow at = sliced_row<B>(to, thread_index() / value_lanes);
    if (!at.exists) return;
    const Offset height = to.slice_height, slice = at.p / height, lane = at.p % height;
    const Offset start = to.slice_offsets[slice];
    const Index length = to.row_lengths[at.p];
    const Offset end = matrix.row_offsets[at.row + 1];
    for (Offset e = matrix.row_offsets[at.row] + threadIdx.x % value_lanes; e < end;
         e += value_lanes) {
        const Index column = matrix.column_indices[e];
        const Offset k = find_slot(to, slice, start + lane, length, column / B);
        values[start * (B * B) + (k * (B * B) + at.r * B + column % B) * height + lane] =
            narrow_to<Stored>(scaled_value(matrix, scaling, at.row, e));
    }
}

template <int B>
__global__ void __launch_bounds__(threads)
    count_entries_kernel(SlicedPattern from, Fill fill, Offset* counts) {
    const SlicedRow at = sliced_row<B>(from, thread_index());
    if (!at.exists) return;
    const Offset slice = at.p / from.slice_height, lane = at.p % from.slice_height;
    Offset count = 0;
    for_entries<B>(from, slice, Index(lane), from.row_lengths[at.p], at.r, fill,
                   [&](Index, int, Index) { ++count; });
    counts[at.row] = count;
}

template <int B, class Stored, class T>
__global__ void __launch_bounds__(threads)
    to_csr_kernel(SlicedPattern from, const Stored* values, Fill fill, const Offset* row_offsets,
                  Index* column_indices, T* csr_values) {
    const SlicedRow at = sliced_row<B>(from, thread_index());
    if (!at.exists) return;
    const Offset height = from.slice_height, slice = at.p / height, lane = at.p % height;
    const Offset start = from.slice_offsets[slice];
    Offset e = row_offsets[at.row];
    for_entries<B>(from, slice, Index(lane), from.row_lengths[at.p], at.r, fill,
                   [&](Index k, int c, Index column) {
                       const Offset entry = Offset(k) * (B * B) + at.r * B + c;
                       column_indices[e] = column;
                       csr_values[e++] =
                           widen_to<T>(values[start * (B * B) + entry * height + lane]);
                   });
}

struct Counts {
    const Offset* counts;
    __device__ Offset operator()(Offset i) const { return counts[i]; }
};

}  // namespace

BlockCounts count_blocks(const Context& context, const CsrPattern& matrix, Index block) {
    const Index block_rows = matrix.rows / block + (matrix.rows % block != 0);
    BlockCounts counts{Buffer<Index>(context, block_rows), 0, 0};
    Buffer<unsigned long long> totals(context, 2);
    set_zero(context, totals.data(), 16);
    with_block(block, [&](auto b) {
        launch(context, Offset(block_rows) * count_lanes, count_blocks_kernel<decltype(b)::value>,
               matrix, Offset(block_rows), counts.lengths.data(), totals.data());
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
    launch(context, count, number_kernel, count, order.data());
    const int bits = std::bit_width(static_cast<unsigned>(counts.longest));
    for (int bit = 0; bit < bits; ++bit) {
        const KeyBit key{order.data(), counts.lengths.data(), counts.longest, bit};
        exclusive_scan(context, count, key, ones.data());
        launch(context, count, split_kernel, count, Offset(window), key, ones.data(), next.data());
        std::swap(order, next);
    }
    return order;
}

Offset arrange_slices(const Context& context, const Buffer<Index>& lengths,
                      const SlicedPattern& pattern, Index* row_lengths, Offset* slice_offsets) {
    const Index slices = pattern.slices;
    Buffer<Index> widths(context, slices);
    set_zero(context, widths.data(), slices * Offset(sizeof(Index)));
    launch(context, pattern.positions(), row_lengths_kernel, pattern, lengths.data(), row_lengths,
           widths.data());
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
    launch(context, Offset(pattern.slices) * 32, first_columns_kernel, matrix, pattern,
           first_columns, farthest.data());
    Index distance = 0;
    copy_to_host(context, std::as_const(farthest).view(), std::span<Index>(&distance, 1));
    return distance;
}

void fill_columns(const Context& context, const CsrPattern& matrix, const SlicedPattern& to,
                  const SlotColumns& columns, std::uint8_t* entry_bits) {
    with_block(to.block, [&](auto b) {
        constexpr int block = decltype(b)::value;
        if (entry_bits == nullptr) {
            launch_full(context, to, fill_full_columns_kernel<block>, matrix, to, columns);
        } else {
            launch(context, to.positions(), fill_columns_kernel<block>, matrix, to, columns,
                   entry_bits);
        }
    });
}

template <class T, class S>
void fill_values(const Context& context, const CsrView<S>& matrix, const S* scaling,
                 const SlicedPattern& to, ValueFormat format, Offset slots, void* values) {
    with_stored<T>(format, [&](auto tag) {
        using Stored = typename decltype(tag)::type;
        const bool full = to.entry_bits == nullptr;
        if (!full) set_zero(context, values, slots * to.block * to.block * Offset(sizeof(Stored)));
        with_block(to.block, [&](auto b) {
            constexpr int block = decltype(b)::value;
            if (full) {
                return launch_full(context, to, fill_full_values_kernel<block, Stored, S>, matrix,
                                   scaling, to, static_cast<Stored*>(values));
            }
            launch(context, to.positions() * block * value_lanes,
                   fill_values_kernel<block, Stored, S>, matrix, scaling, to,
                   static_cast<Stored*>(values));
        });
    });
}

template <class T>
CsrMatrix<T> to_csr(const Context& context, const SlicedView<T>& matrix, Fill fill) {
    const SlicedPattern& from = matrix.pattern;
    const Offset count = from.positions() * from.block;
    Buffer<Offset> counts(context, from.rows), offsets(context, Offset(from.rows) + 1);
    with_block(from.block, [&](auto b) {
        launch(context, count, count_entries_kernel<decltype(b)::value>, from, fill, counts.data());
    });
    exclusive_scan(context, from.rows, Counts{counts.data()}, offsets.data());
    Offset nonzeros = 0;
    copy_to_host(context, std::as_const(offsets).view().last(1), std::span<Offset>(&nonzeros, 1));
    CsrMatrix<T> csr(context, from.rows, from.columns, nonzeros);
    with_stored<T>(matrix.format, [&](auto tag) {
        using Stored = typename decltype(tag)::type;
        with_block(from.block, [&](auto b) {
            launch(context, count, to_csr_kernel<decltype(b)::value, Stored, T>, from,
                   static_cast<const Stored*>(matrix.values), fill, offsets.data(),
                   csr.column_indices().data(), csr.values().data());
        });
    });
    csr.row_offsets() = std::move(offsets);
    return csr;
}

#define TESSERA_INSTANTIATE(T)                                                                  \
    template void fill_values<T, float>(const Context&, const CsrView<float>&, const float*,    \
                                        const SlicedPattern&, ValueFormat, Offset, void*);      \
    template void fill_values<T, double>(const Context&, const CsrView<double>&, const double*, \
                                         const SlicedPattern&, ValueFormat, Offset, void*);     \
    template CsrMatrix<T> to_csr<T>(const Context&, const SlicedView<T>&, Fill);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::cuda
