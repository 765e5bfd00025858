#pragma once

#include <limits>
#include <vector>

#include "tessera/context.hpp"

namespace tessera::incomplete {

/// The entries begin .. end - 1 of the list of an item.
struct SumPiece {
    Offset item, begin, end;
};

/// Device view of SplitSums, with memory for partial sums.
template <class T>
struct SplitSumsView {
    Offset limit = std::numeric_limits<Offset>::max();  ///< Longer lists are split.
    const Offset* items = nullptr;                      ///< Items with such lists, ascending.
    Index count = 0;                                    ///< Number of these items.
    const Index* first_piece = nullptr;                 ///< count + 1 first pieces.
    const SumPiece* pieces = nullptr;
    Index piece_count = 0;
    T* partial = nullptr;  ///< One block per piece; for products with vectors k elements.
};

/// The lists of a BlockPattern in the memory of a Context.
struct PatternLists {
    Index k = 1;
    Index block_rows = 0;
    Offset blocks = 0;
    bool symmetric = true;  ///< Whether the blocks above the diagonal are those below, transposed.
    const Offset* column_offsets = nullptr;
    const Index* rows = nullptr;
    const Index* columns = nullptr;
    const Offset* row_offsets = nullptr;
    const Index* row_blocks = nullptr;
    const Offset* update_offsets = nullptr;
    const Index* left = nullptr;
    const Index* right = nullptr;

    /// Average number of values in the blocks of a row.
    Offset row_values() const { return (1 + blocks / (block_rows > 0 ? block_rows : 1)) * k * k; }
};

/// Lists with those that are split: the argument of kernels.
template <class T>
struct PatternView : PatternLists {
    SplitSumsView<T> split_rows, split_columns;  ///< Lists of block rows and block columns.
    SplitSumsView<T> split_updates;              ///< Lists of products for off-diagonal blocks.
};

/// The values of a matrix in the blocks of a pattern, column-major, one block after the other:
/// those below the diagonal, the transposes of those above it, and those on it. Null: not stored.
template <class T>
struct MatrixBlocks {
    T* lower = nullptr;
    T* upper = nullptr;
    T* diagonal = nullptr;
};

/// Task of a warp in a triangular solve: a block row (in a transposed solve a block column) with
/// the list entries begin .. end - 1; of a split list a piece, or the row from the sums of its
/// pieces.
struct SolveTask {
    Index row;
    Index first_piece;
    Index pieces;  ///< Pieces of the row; 0: not split; -1: the task is the piece first_piece.
    Offset begin, end;
};

/// Start of a level.
struct LevelStart {
    Offset row, block;
};

}  // namespace tessera::incomplete
