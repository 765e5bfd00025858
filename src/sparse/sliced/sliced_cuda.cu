#include "sparse/sliced/block_row.hpp"
#include "sparse/sliced/sliced_launch.cuh"
#include "sparse/stored_value.hpp"

namespace tessera::cuda {

namespace {

/// Threads that share a row of the matrix while its values are written.
constexpr int value_lanes = 8;
/// Threads that share a position of a matrix of full blocks.
constexpr int full_parts = 4;

/// A kernel over for_slots of `to`.
template <class Kernel, class... Arguments>
void launch_full(const Context& context, const SlicedPattern& to, Kernel* kernel,
                 Arguments... arguments) {
    if (to.positions() == 0) return;
    const dim3 blocks(blocks_for(to.positions(), sliced_threads), full_parts);
    kernel<<<blocks, sliced_threads, 0, stream_of(context)>>>(arguments...);
    TESSERA_CUDA(cudaGetLastError());
}

template <int B>
__global__ void __launch_bounds__(sliced_threads)
    fill_columns_kernel(CsrPattern matrix, SlicedPattern to, SlotColumns columns) {
    const Offset p = item_index();
    const Offset height = to.slice_height;
    if (p >= to.positions()) return;
    const Offset slice = p / height, lane = p % height;
    const Offset start = to.slice_offsets[slice];
    const Index width = Index((to.slice_offsets[slice + 1] - start) / height);
    Index k = 0;
    const auto put = [&](Index column) {
        put_column(to, columns, slice, start + k * height + lane, column);
        ++k;
    };
    const Offset block_row = to.block_row(p);
    if (block_row < to.block_rows()) for_blocks<B>(matrix, Index(block_row), put);
    while (k < width) put(pad_column(to, slice, block_row));
}

/// f(k, slot, whether it is no pad, the block row) for every `full_parts`-th slot of a position, by
/// adjacent threads for adjacent positions.
template <class F>
__device__ void for_slots(const SlicedPattern& pattern, F&& f) {
    const Offset p = item_index();
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
__global__ void __launch_bounds__(sliced_threads)
    fill_full_columns_kernel(CsrPattern matrix, SlicedPattern to, SlotColumns columns) {
    const Offset slice = item_index() / to.slice_height;
    for_slots(to, [&](Index k, Offset slot, bool block, Offset block_row) {
        const Index column =
            block ? matrix.column_indices[matrix.row_offsets[block_row * B] + Offset(k) * B] / B
                  : pad_column(to, slice, block_row);
        put_column(to, columns, slice, slot, column);
    });
}

/// fill_values for full blocks, pads included.
template <int B, class Stored, class S>
__global__ void __launch_bounds__(sliced_threads)
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
__global__ void __launch_bounds__(sliced_threads)
    fill_values_kernel(CsrView<S> matrix, const S* scaling, SlicedPattern to, Stored* values) {
    const SlicedRow at = sliced_row<B>(to, item_index() / value_lanes);
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

}  // namespace

void fill_columns(const Context& context, const CsrPattern& matrix, const SlicedPattern& to,
                  const SlotColumns& columns, bool full) {
    with_block(to.block, [&](auto b) {
        constexpr int block = decltype(b)::value;
        if (full) {
            launch_full(context, to, fill_full_columns_kernel<block>, matrix, to, columns);
        } else {
            launch_items(context, to.positions(), fill_columns_kernel<block>, matrix, to, columns);
        }
    });
}

template <class T, class S>
void fill_values(const Context& context, const CsrView<S>& matrix, const S* scaling,
                 const SlicedPattern& to, ValueFormat format, Offset slots, bool full,
                 void* values) {
    with_stored<T>(format, [&](auto tag) {
        using Stored = typename decltype(tag)::type;
        if (!full) set_zero(context, values, slots * to.block * to.block * Offset(sizeof(Stored)));
        with_block(to.block, [&](auto b) {
            constexpr int block = decltype(b)::value;
            if (full) {
                return launch_full(context, to, fill_full_values_kernel<block, Stored, S>, matrix,
                                   scaling, to, static_cast<Stored*>(values));
            }
            launch_items(context, to.positions() * block * value_lanes,
                         fill_values_kernel<block, Stored, S>, matrix, scaling, to,
                         static_cast<Stored*>(values));
        });
    });
}

template decltype(fill_values<float, float>) fill_values<float, float>;
template decltype(fill_values<float, double>) fill_values<float, double>;
template decltype(fill_values<double, float>) fill_values<double, float>;
template decltype(fill_values<double, double>) fill_values<double, double>;

}  // namespace tessera::cuda
