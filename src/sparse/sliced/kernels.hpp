#pragma once

#include "sparse/scaled_value.hpp"
#include "tessera/formats.hpp"

namespace tessera {

/// The pattern of a CSR matrix in the memory of a Context.
struct CsrPattern {
    Index rows = 0;
    Index columns = 0;
    const Offset* row_offsets = nullptr;
    const Index* column_indices = nullptr;
};

/// Block rows of a CSR matrix and the numbers of their blocks.
struct BlockCounts {
    Buffer<Index> lengths;
    Index longest = 0;
    Offset blocks = 0;
};

/// Where the block columns of slots go: one of the two, as in SlicedPattern.
struct SlotColumns {
    Index* block_columns = nullptr;
    std::uint16_t* column_offsets = nullptr;
};

/// Whether slices have a height of their own.
constexpr bool has_slices(MatrixFormat format) {
    return format == MatrixFormat::sell || format == MatrixFormat::sbell;
}

// The steps from CSR to a sliced matrix as documented in formats.hpp. `matrix` has sorted
// and unique columns; `block` is one of block_sizes. Those that return numbers wait.
//
// count_blocks: the blocks of each block row that hold an entry.
// sort_rows: the block rows by descending length within windows of `window` >= 2, those of equal
//   length in their order.
// arrange_slices: row_lengths (slices * height of them, zero where no block row is) and
//   slice_offsets, for a pattern that has all but these; returns the slots.
// find_first_columns: the first block column of each slice that holds an entry, 0 where none does;
//   returns the largest distance from it to the last one of a slice.
// fill_columns: the block columns of all slots. `full`: no block has fill.
// fill_values: all values of the `slots` slots, scaled_value of the entries, zero of fill and pads.
#define TESSERA_SLICED_STEPS                                                                     \
    BlockCounts count_blocks(const Context& context, const CsrPattern& matrix, Index block);     \
    Buffer<Index> sort_rows(const Context& context, const BlockCounts& counts, Index window);    \
    Offset arrange_slices(const Context& context, const Buffer<Index>& lengths,                  \
                          const SlicedPattern& pattern, Index* row_lengths,                      \
                          Offset* slice_offsets);                                                \
    Index find_first_columns(const Context& context, const CsrPattern& matrix,                   \
                             const SlicedPattern& pattern, Index* first_columns);                \
    void fill_columns(const Context& context, const CsrPattern& matrix, const SlicedPattern& to, \
                      const SlotColumns& columns, bool full);                                    \
    template <class T, class S>                                                                  \
    void fill_values(const Context& context, const CsrView<S>& matrix, const S* scaling,         \
                     const SlicedPattern& to, ValueFormat format, Offset slots, bool full,       \
                     void* values);
namespace cpu {
TESSERA_SLICED_STEPS
}
namespace cuda {
TESSERA_SLICED_STEPS
}
#undef TESSERA_SLICED_STEPS

}  // namespace tessera
