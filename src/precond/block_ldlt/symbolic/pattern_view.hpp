#pragma once

#include <limits>
#include <vector>

#include "tessera/context.hpp"

namespace tessera::block_ldlt {

/// The products begin .. end - 1 of the list of an item.
struct SumPiece {
    Offset item, begin, end;
};

/// Sums over split lists, on a GPU: of products of blocks, or of blocks and vectors.
template <class T>
struct LongSums {
    Offset limit = std::numeric_limits<Offset>::max();  ///< Longer lists are split.
    const Offset* items = nullptr;                      ///< Those with such lists, ascending,
    Index count = 0;                                    ///< and how many.
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
    const Offset* triple_offsets = nullptr;
    const Index* left = nullptr;
    const Index* right = nullptr;
    const Offset* entry_offsets = nullptr;
    const std::uint16_t* places = nullptr;

    /// Numbers in the blocks of a row, on average.
    Offset row_values() const { return (1 + blocks / (block_rows > 0 ? block_rows : 1)) * k * k; }
};

/// With the values of the permuted matrix, and the lists that are split.
template <class T>
struct PatternView : PatternLists {
    const T* values = nullptr;
    LongSums<T> long_rows, long_columns;  ///< Of the blocks of block rows and block columns.
    LongSums<T> long_blocks;              ///< Of the products of blocks off the diagonal.
};

/// What a warp of a triangular solve computes: a block row (block column, in a transposed solve)
/// from the places begin .. end - 1 of its list; or, where that is split, pieces of the list one by
/// one, and then the row from the sums of its pieces.
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
