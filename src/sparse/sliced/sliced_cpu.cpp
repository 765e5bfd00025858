#include <cstring>
#include <limits>
#include <numeric>

#include "sparse/slice_chunks.hpp"
#include "sparse/sliced/block_row.hpp"
#include "sparse/stored_value.hpp"

namespace tessera::cpu {

namespace {

/// Columns of one block row; pads get a column near those of its entries.
template <int B>
void fill_row(const CsrPattern& matrix, const SlicedPattern& to, Index slice, Index lane,
              Index block_row, const SlotColumns& columns) {
    const Offset height = to.slice_height;
    const Index width = Index((to.slice_offsets[slice + 1] - to.slice_offsets[slice]) / height);
    const Offset first = to.slice_offsets[slice] + lane;
    Index k = 0;
    const auto put = [&](Index column) {
        put_column(to, columns, slice, first + k * height, column);
        ++k;
    };
    if (block_row < to.block_rows()) for_blocks<B>(matrix, block_row, put);
    const Index pad = pad_column(to, slice, block_row);
    while (k < width) put(pad);
}

template <class Stored, class S>
void fill_chunk(const CsrView<S>& matrix, const S* scaling, const SlicedPattern& to,
                const SliceChunk& chunk, Stored* values) {
    const Index block = to.block, height = to.slice_height;
    const Offset start = to.slice_offsets[chunk.slice];
    const Offset area = Offset(block) * block;
    for (Offset v = start * area; v < to.slice_offsets[chunk.slice + 1] * area; v += height) {
        std::memset(static_cast<void*>(values + v + chunk.first), 0,
                    std::size_t(chunk.last - chunk.first) * sizeof(Stored));
    }
    for (Index lane = chunk.first; lane < chunk.last; ++lane) {
        const Offset block_row = to.block_row(Offset(chunk.slice) * height + lane);
        if (block_row >= to.block_rows()) continue;
        for (Index r = 0; r < block; ++r) {
            const Offset row = block_row * block + r;
            if (row >= matrix.rows) break;
            Offset k = 0;
            for (Offset e = matrix.row_offsets[row]; e < matrix.row_offsets[row + 1]; ++e) {
                const Index column = matrix.column_indices[e];
                while (to.block_column(chunk.slice, start + k * height + lane) < column / block)
                    ++k;
                const Offset entry = k * area + r * block + column % block;
                values[start * area + entry * height + lane] =
                    narrow_to<Stored>(scaled_value(matrix, scaling, row, e));
            }
        }
    }
}

}  // namespace

BlockCounts count_blocks(const Context& context, const CsrPattern& matrix, Index block) {
    const Index block_rows = matrix.rows / block + (matrix.rows % block != 0);
    BlockCounts counts{Buffer<Index>(context, block_rows), 0, 0};
    Index* const lengths = counts.lengths.data();
    parallel_ranges(
        context.threads(), block_rows,
        [&](Offset first, Offset last) {
            with_block(block, [&](auto b) {
                for (Offset i = first; i < last; ++i) {
                    Index length = 0;
                    for_blocks<b>(matrix, Index(i), [&](Index) { ++length; });
                    lengths[i] = length;
                }
            });
        },
        1024);
    for (Index i = 0; i < block_rows; ++i) {
        counts.longest = std::max(counts.longest, lengths[i]);
        counts.blocks += lengths[i];
    }
    return counts;
}

Buffer<Index> sort_rows(const Context& context, const BlockCounts& counts, Index window) {
    const Offset count = counts.lengths.size();
    Buffer<Index> permutation(context, count);
    Index* const order = permutation.data();
    const Index* const lengths = counts.lengths.data();
    std::iota(order, order + count, 0);
    parallel_ranges(
        context.threads(), (count + window - 1) / window,
        [&](Offset first, Offset last) {
            for (Offset w = first; w < last; ++w) {
                std::stable_sort(order + w * window, order + std::min(count, (w + 1) * window),
                                 [&](Index a, Index b) { return lengths[a] > lengths[b]; });
            }
        },
        1);
    return permutation;
}

Offset arrange_slices(const Context&, const Buffer<Index>& lengths, const SlicedPattern& pattern,
                      Index* row_lengths, Offset* slice_offsets) {
    const Index height = pattern.slice_height;
    slice_offsets[0] = 0;
    for (Index s = 0; s < pattern.slices; ++s) {
        Index longest = 0;
        for (Offset p = Offset(s) * height; p < Offset(s + 1) * height; ++p) {
            const Offset block_row = pattern.block_row(p);
            row_lengths[p] = block_row < lengths.size() ? lengths.data()[block_row] : 0;
            longest = std::max(longest, row_lengths[p]);
        }
        slice_offsets[s + 1] = slice_offsets[s] + Offset(longest) * height;
    }
    return slice_offsets[pattern.slices];
}

Index find_first_columns(const Context& context, const CsrPattern& matrix,
                         const SlicedPattern& pattern, Index* first_columns) {
    const auto ends = [&](Index slice) {
        std::pair<Index, Index> found{std::numeric_limits<Index>::max(), 0};
        for (Index lane = 0; lane < pattern.slice_height; ++lane) {
            const Offset p = Offset(slice) * pattern.slice_height + lane;
            const Offset first = pattern.block_row(p) * pattern.block;
            for (Offset row = first; row < std::min<Offset>(first + pattern.block, matrix.rows);
                 ++row) {
                const Offset begin = matrix.row_offsets[row], end = matrix.row_offsets[row + 1];
                if (begin == end) continue;
                found.first = std::min(found.first, matrix.column_indices[begin]);
                found.second = std::max(found.second, matrix.column_indices[end - 1]);
            }
        }
        return std::pair{found.first / pattern.block, found.second / pattern.block};
    };
    Buffer<Index> distances(context, pattern.slices);
    parallel_ranges(
        context.threads(), pattern.slices,
        [&](Offset begin, Offset end) {
            for (Offset slice = begin; slice < end; ++slice) {
                const auto [first, last] = ends(Index(slice));
                first_columns[slice] = first <= last ? first : 0;
                distances.data()[slice] = first <= last ? last - first : 0;
            }
        },
        256);
    const Index* const all = distances.data();
    return std::accumulate(all, all + pattern.slices, Index(0),
                           [](Index a, Index b) { return std::max(a, b); });
}

void fill_columns(const Context& context, const CsrPattern& matrix, const SlicedPattern& to,
                  const SlotColumns& columns, bool) {
    const Index block_rows = to.block_rows();
    SliceChunks(to).for_each(context, [&](const SliceChunk& chunk) {
        for (Index lane = chunk.first; lane < chunk.last; ++lane) {
            const Offset p = Offset(chunk.slice) * to.slice_height + lane;
            const Index block_row = Index(std::min<Offset>(to.block_row(p), block_rows));
            with_block(to.block, [&](auto b) {
                fill_row<b>(matrix, to, chunk.slice, lane, block_row, columns);
            });
        }
    });
}

template <class T, class S>
void fill_values(const Context& context, const CsrView<S>& matrix, const S* scaling,
                 const SlicedPattern& to, ValueFormat format, Offset, bool, void* values) {
    with_stored<T>(format, [&](auto tag) {
        using Stored = typename decltype(tag)::type;
        SliceChunks(to).for_each(context, [&](const SliceChunk& chunk) {
            fill_chunk(matrix, scaling, to, chunk, static_cast<Stored*>(values));
        });
    });
}

template decltype(fill_values<float, float>) fill_values<float, float>;
template decltype(fill_values<float, double>) fill_values<float, double>;
template decltype(fill_values<double, float>) fill_values<double, float>;
template decltype(fill_values<double, double>) fill_values<double, double>;

}  // namespace tessera::cpu
