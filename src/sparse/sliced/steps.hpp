#pragma once

#include "base/for_each.hpp"
#include "sparse/count_blocks.hpp"
#include "sparse/round_to_f16.hpp"
#include "sparse/scaled_value.hpp"
#include "sparse/stored_value.hpp"
#include "tessera/detail/bsr.hpp"

// The bodies of for_each_index and exclusive_scan that convert a matrix with sorted and unique
// columns, CSR or in block sparse rows, to the sliced formats documented in formats.hpp. Block rows
// have B rows; `Pattern` is CsrPattern or BsrPattern.
namespace tessera::sliced {

/// A value as it is stored, rounded once; on a CPU without branches, which took most of the time.
template <class Stored, class T>
TESSERA_HOST_DEVICE inline Stored stored_value(T value) {
#ifndef __CUDA_ARCH__
    if constexpr (std::is_same_v<Stored, f16>) return {round_to_f16(double(value))};
#endif
    return narrow_to<Stored>(value);
}

/// Whether the slice height can be chosen.
constexpr bool has_slices(MatrixFormat format) {
    return format == MatrixFormat::sell || format == MatrixFormat::sbell;
}

/// The pattern of a matrix of dense blocks; B divides their height and width.
struct BsrPattern {
    Index rows = 0;
    Index columns = 0;
    int height = 1;
    int width = 1;
    Offset blocks = 0;
    const Offset* row_offsets = nullptr;
    const Index* column_indices = nullptr;
};

/// The number of blocks in a block row.
template <int B>
TESSERA_HOST_DEVICE inline Index count_blocks_of_row(const BsrPattern& matrix, Offset block_row,
                                                     const std::uint8_t*) {
    if (block_row * B >= matrix.rows) return 0;
    const Offset row = block_row * B / matrix.height;
    return Index(matrix.row_offsets[row + 1] - matrix.row_offsets[row]) * (matrix.width / B);
}

/// Block columns from `first` to before `end`; end = 0: none.
struct ColumnSpan {
    Index first, end;
};

/// The span of the blocks of a block row.
TESSERA_HOST_DEVICE inline ColumnSpan column_span(const CsrPattern& matrix, Offset block_row,
                                                  Index block) {
    ColumnSpan span{matrix.columns, 0};
    const Offset start = block_row * block;
    for (Offset row = start; row < start + block && row < matrix.rows; ++row) {
        const Offset begin = matrix.row_offsets[row], end = matrix.row_offsets[row + 1];
        if (begin == end) continue;
        const Index low = matrix.column_indices[begin] / block;
        const Index high = matrix.column_indices[end - 1] / block;
        span.first = low < span.first ? low : span.first;
        span.end = high >= span.end ? high + 1 : span.end;
    }
    return span;
}
TESSERA_HOST_DEVICE inline ColumnSpan column_span(const BsrPattern& matrix, Offset block_row,
                                                  Index block) {
    if (block_row * block >= matrix.rows) return {0, 0};
    const Offset row = block_row * block / matrix.height;
    const Offset begin = matrix.row_offsets[row], end = matrix.row_offsets[row + 1];
    if (begin == end) return {0, 0};
    const Index parts = matrix.width / block;
    return {matrix.column_indices[begin] * parts, (matrix.column_indices[end - 1] + 1) * parts};
}

/// The blocks of each block row that hold an entry.
template <int B, class Pattern>
struct CountBlocks {
    static constexpr int work = 16;
    Pattern matrix;
    const std::uint8_t* partial;  ///< Marks of MarkPartialBlocks, for CsrPattern.
    Index* lengths;

    TESSERA_HOST_DEVICE void operator()(Offset block_row) const {
        lengths[block_row] = count_blocks_of_row<B>(matrix, block_row, partial);
    }
};

/// row_lengths of a pattern whose other arrays are set, and the blocks of the longest row of each
/// slice.
struct CopyLengths {
    static constexpr int work = 4;
    SlicedPattern pattern;
    const Index* lengths;
    Index* row_lengths;
    Index* widths;

    TESSERA_HOST_DEVICE void operator()(Offset p) const {
        const Offset block_row = pattern.block_row(p);
        row_lengths[p] = block_row < pattern.block_rows() ? lengths[block_row] : 0;
        raise_to(widths + p / pattern.slice_height, row_lengths[p]);
    }
};

/// The number of slots of a slice.
struct SliceSlots {
    const Index* widths;
    Offset height;
    TESSERA_HOST_DEVICE Offset operator()(Offset slice) const { return widths[slice] * height; }
};

/// Raises, for the slice of a position, the end of its span of block columns, and the number of
/// them from its first one to the last one of the matrix. At first 0.
template <class Pattern>
struct RaiseSpans {
    static constexpr int work = 8;
    Pattern matrix;
    SlicedPattern pattern;
    Index* ends;
    Index* counts_from_first;

    TESSERA_HOST_DEVICE void operator()(Offset p) const {
        const ColumnSpan span = column_span(matrix, pattern.block_row(p), pattern.block);
        if (span.end == 0) return;
        const Offset slice = p / pattern.slice_height;
        raise_to(ends + slice, span.end);
        raise_to(counts_from_first + slice, pattern.block_column_count() - span.first);
    }
};

/// The first block column of each slice that holds an entry (0: none), and the largest distance
/// from it to the last one of a slice.
struct FindFirstColumns {
    static constexpr int work = 4;
    Index block_columns;
    const Index* ends;
    const Index* counts_from_first;
    Index* first_columns;
    Index* max_distance;

    TESSERA_HOST_DEVICE void operator()(Offset slice) const {
        const bool any = ends[slice] > 0;
        const Index first = any ? block_columns - counts_from_first[slice] : 0;
        first_columns[slice] = first;
        raise_to(max_distance, any ? ends[slice] - 1 - first : 0);
    }
};

/// Into how many shares the slots of each position are divided, as a power of two.
struct Shares {
    int exponent = 0;
    TESSERA_HOST_DEVICE int count() const { return 1 << exponent; }
    /// Number of steps of a loop over all of them.
    Offset items(Offset positions) const { return (positions + 31) / 32 * 32 << exponent; }
};

/// Item i of a loop over all shares; 32 items after each other are shares of as many positions.
struct Share {
    Offset position;
    Offset slice = 0, lane = 0;  ///< The position is this one of this slice.
    Offset start = 0;            ///< The first slot of the slice.
    Index slots = 0;  ///< Slots of a position of the slice; 0 where there is no position.
    Index number;     ///< Number of the share among those of the position.

    TESSERA_HOST_DEVICE Share(const SlicedPattern& pattern, Shares shares, Offset i)
        : position((i / 32 >> shares.exponent) * 32 + i % 32),
          number(Index(i / 32) & (shares.count() - 1)) {
        if (position >= pattern.positions()) return;
        const auto height = unsigned(pattern.slice_height);
        slice = unsigned(position) / height;
        lane = unsigned(position) % height;
        start = pattern.slice_offsets[slice];
        slots = Index((pattern.slice_offsets[slice + 1] - start) / pattern.slice_height);
    }
};

/// The block columns of a share; the other arrays of `pattern` are set. Pads get a column near
/// those of their row, or the first one of the slice.
template <int B>
struct FillColumns {
    static constexpr int work = 256;
    CsrPattern matrix;
    SlicedPattern pattern;
    Index* block_columns;  ///< Or, with 16 bits:
    std::uint16_t* column_offsets;
    Shares shares;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const Share share(pattern, shares, i);
        if (share.slots == 0) return;
        const Offset width = share.slots;
        const Index first =
            pattern.first_columns != nullptr ? pattern.first_columns[share.slice] : 0;
        const auto put = [&](Offset k, Index column) {
            const Offset slot = share.start + k * pattern.slice_height + share.lane;
            if (block_columns != nullptr) {
                block_columns[slot] = column;
            } else {
                column_offsets[slot] = std::uint16_t(column - first);
            }
        };
        const Offset block_row = pattern.block_row(share.position),
                     blocks = pattern.row_lengths[share.position];
        const Index last = pattern.block_column_count() - 1;
        const Index near = block_row < last ? Index(block_row) : last;
        const Index pad = pattern.first_columns != nullptr ? first : near;
        if (has_full_blocks<B>(matrix, block_row, blocks)) {
            const Index* const columns = matrix.column_indices + matrix.row_offsets[block_row * B];
            for (Offset k = share.number; k < width; k += shares.count()) {
                put(k, k < blocks ? columns[k * B] / B : pad);
            }
        } else if (share.number == 0) {
            Offset k = 0;
            for_blocks<B>(matrix, block_row, [&](Index column) { put(k++, column); });
            while (k < width) put(k++, pad);
        }
    }
};

/// The values of a share: scaled_value of the entries, zero of fill and pads.
template <int B, class Stored, class S>
struct FillValues {
    static constexpr int work = 512;
    CsrView<S> matrix;
    const S* scaling;
    SlicedPattern pattern;
    Stored* values;
    Shares shares;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const Share share(pattern, shares, i);
        const Offset height = pattern.slice_height, width = share.slots, start = share.start,
                     lane = share.lane;
        if (width == 0) return;
        const Offset block_row = pattern.block_row(share.position);
        Stored* const first = values + start * (B * B) + lane;
        const Offset blocks = pattern.row_lengths[share.position];
        if (has_full_blocks<B>(matrix, block_row, blocks)) {
            // Shares read neighbouring blocks at once: their sectors of memory are then read once.
            for (Offset k = share.number; k < width; k += shares.count()) {
                copy_full_block(block_row, k, k < blocks, first);
            }
            return;
        }
        const Offset end = width * (share.number + 1) >> shares.exponent;
        Offset k = width * share.number >> shares.exponent;
        if (k == end) return;
        RowCursors<B, CsrView<S>> rows(matrix, block_row);
        if (k >= blocks) {
            skip_to(rows, rows.none);  // Pads only.
        } else if (k > 0) {
            skip_to(rows, Offset(pattern.block_column(share.slice, start + k * height + lane)) * B);
        }
        for (; k < end; ++k) {
            const Offset slot = start + k * height;
            const Index block_column = pattern.block_column(share.slice, slot + lane);
            Index columns[B][B];
            rows.read(columns);
            Stored* to = first + k * height * (B * B);
            for (int r = 0; r < B; ++r) {
                for (int c = 0; c < B; ++c, to += height) {
                    const Offset column = Offset(block_column) * B + c;
                    Offset e = rows.at[r];
                    bool stored = false;
                    for (int j = 0; j < B; ++j) {
                        e += columns[r][j] < column;
                        stored |= columns[r][j] == column;
                    }
                    *to = stored_value<Stored>(
                        stored ? scaled_value(matrix, scaling, block_row * B + r, e) : S(0));
                }
            }
            rows.pass(columns, block_column);
        }
    }

  private:
    /// Block k of a block row whose blocks are full; zero of pads.
    TESSERA_HOST_DEVICE void copy_full_block(Offset block_row, Offset k, bool is_block,
                                             Stored* first) const {
        Stored* to = first + k * pattern.slice_height * (B * B);
        TESSERA_UNROLL
        for (int r = 0; r < B; ++r) {
            const Offset row = block_row * B + r, entry = matrix.row_offsets[row] + k * B;
            TESSERA_UNROLL
            for (int c = 0; c < B; ++c, to += pattern.slice_height) {
                *to = stored_value<Stored>(is_block ? scaled_value(matrix, scaling, row, entry + c)
                                                    : S(0));
            }
        }
    }

    /// Moves the cursors to the first entries from `column` on, by bisection.
    TESSERA_HOST_DEVICE void skip_to(RowCursors<B, CsrView<S>>& rows, Offset column) const {
        for (int r = 0; r < B; ++r) {
            Offset last = rows.end[r];
            while (rows.at[r] < last) {
                const Offset middle = (rows.at[r] + last) / 2;
                const bool before = matrix.column_indices[middle] < column;
                rows.at[r] = before ? middle + 1 : rows.at[r];
                last = before ? last : middle;
            }
        }
    }
};

/// The columns, as FillColumns writes them, and values of a share, from dense blocks; zero of pads.
template <int B, class Stored>
struct FillFromBlocks {
    static constexpr int work = 256;
    BsrView<double> matrix;
    SlicedPattern pattern;
    Index* block_columns;
    std::uint16_t* column_offsets;
    Stored* values;
    Shares shares;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const Share share(pattern, shares, i);
        if (share.slots == 0) return;
        const Offset height = pattern.slice_height, block_row = pattern.block_row(share.position);
        const Index length = pattern.row_lengths[share.position];
        const int size = matrix.block_size(), parts = matrix.width / B;
        const Index last = pattern.block_column_count() - 1;
        const Index first =
            pattern.first_columns != nullptr ? pattern.first_columns[share.slice] : 0;
        const Index pad = pattern.first_columns != nullptr ? first
                          : block_row < last               ? Index(block_row)
                                                           : last;
        const double* row = nullptr;  // The first value, if there are any.
        const Index* columns = nullptr;
        if (length > 0) {
            const Offset r = block_row * B, begin = matrix.row_offsets[r / matrix.height];
            row = matrix.values + begin * size + r % matrix.height * matrix.width;
            columns = matrix.column_indices + begin;
        }
        for (Index k = share.number; k < share.slots; k += shares.count()) {
            const double* const block = row + Offset(k / parts) * size + k % parts * B;
            const Offset slot = share.start + k * height + share.lane;
            const Index column = k < length ? columns[k / parts] * parts + k % parts : pad;
            if (block_columns != nullptr) {
                block_columns[slot] = column;
            } else {
                column_offsets[slot] = std::uint16_t(column - first);
            }
            Stored* to = values + (share.start + k * height) * (B * B) + share.lane;
            for (int r = 0; r < B; ++r) {
                for (int c = 0; c < B; ++c, to += height) {
                    *to = stored_value<Stored>(k < length ? block[r * matrix.width + c] : 0.0);
                }
            }
        }
    }
};

}  // namespace tessera::sliced
