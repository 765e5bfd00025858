#pragma once

#include <limits>
#include <vector>

#include "tessera/context.hpp"

namespace tessera::block_ldlt {

/// The entries begin .. end - 1 of the list of an item.
struct SumPiece {
    Offset item, begin, end;
};

/// SplitSums as kernels see it, with memory for partial sums.
template <class T>
struct SplitSumsView {
    Offset limit = std::numeric_limits<Offset>::max();  ///< Longer lists are split.
    const Offset* items = nullptr;                      ///< The items with such lists, ascending,
    Index count = 0;                                    ///< and their number.
    const Index* first_piece = nullptr;                 ///< count + 1.
    const SumPiece* pieces = nullptr;
    Index piece_count = 0;
    T* partial = nullptr;  ///< A block for each piece; of products with vectors k elements.
};

/// The lists of a BlockPattern and its BlockEntries in the memory of a Context.
struct PatternLists {
    Index k = 1;
    Index block_rows = 0;
    Offset blocks = 0;
    const Offset* column_offsets = nullptr;
    const Index* rows = nullptr;
    const Index* columns = nullptr;
    const Offset* row_offsets = nullptr;
    const Index* row_blocks = nullptr;
    const Offset* update_offsets = nullptr;
    const Index* left = nullptr;
    const Index* right = nullptr;
    const Offset* entry_offsets = nullptr;
    const std::uint16_t* positions = nullptr;

    /// Values in the blocks of a row, on average.
    Offset row_values() const { return (1 + blocks / (block_rows > 0 ? block_rows : 1)) * k * k; }
};

/// Lists with the values of the permuted matrix, as kernels take them.
template <class T>
struct PatternView : PatternLists {
    const T* values = nullptr;
    SplitSumsView<T> split_rows, split_columns;  ///< Of the blocks of block rows and block columns.
    SplitSumsView<T> split_updates;              ///< Of the products of blocks off the diagonal.
};

/// Task of a warp in a triangular solve: a block row (in a transposed solve a block column) with
/// the list entries begin .. end - 1; of a split list a piece, or the row from the sums of its
/// pieces.
struct SolveTask {
    Index row;
    Index first_piece;
    Index pieces;  ///< Of the row; 0: it is not split; -1: the task is the piece first_piece.
    Offset begin, end;
};

/// Where a level begins.
struct LevelStart {
    Offset row, block;
};

}  // namespace tessera::block_ldlt
