#pragma once

#include "precond/incomplete/symbolic/group_pattern.hpp"

namespace tessera::incomplete {

/// Permutation of a matrix into a grid of k x k blocks: slot s has column slots[s] and the row that
/// belongs to it or, if that is -1, a padding row and column (those of the identity).
struct Grid {
    Index k = 1;               ///< Rows of a block.
    Index rows = 0;            ///< Rows of the matrix.
    Index block_rows = 0;      ///< slots.size() / k.
    std::vector<Index> slots;  ///< Column of each slot; a multiple of k.
    std::vector<Index> slot_of_column;
    /// The row that belongs to each column, whose entry is on the diagonal; empty: that of its
    /// number.
    std::vector<Index> row_of_column;

    Index row(std::size_t slot) const {
        const Index column = slots[slot];
        return column < 0 || row_of_column.empty() ? column : row_of_column[std::size_t(column)];
    }
};

/// The grid of a permutation with padding slots: each column once, -1 in padding slots, which are
/// appended up to a multiple of k. Throws InvalidArgument for anything else.
Grid make_grid(Index k, Index rows, std::vector<Index> slots, std::vector<Index> row_of_column = {},
               int threads = 1);

/// The rows of two square patterns of the same size, the second one transposed.
GatheredRows union_with_transpose(int threads, const GatheredRows& rows,
                                  const GatheredRows& to_transpose);

/// The columns of the blocks of the strict lower triangle, row by row, that have an entry of the
/// matrix or, unless it is `symmetric`, whose transposes have one. The rows of a group are in
/// consecutive slots of a block.
GatheredRows lower_blocks(const Grid& grid, const GroupPattern& pattern, bool symmetric,
                          int threads);

/// Symbolic factorisation: adds the blocks of fill levels up to `fill`. The `lower` blocks have
/// level 0, one that arises from the blocks (i, k) and (j, k) 1 + the sum of theirs, the smallest
/// over all k < j. Throws OutOfMemory beyond `max_blocks`.
GatheredRows add_fill(GatheredRows lower, int fill, Offset max_blocks);

/// The blocks of the strict lower triangle of a block matrix with a symmetric pattern that a
/// factorisation stores, column by column; diagonal blocks are stored separately, and those of the
/// upper triangle of a matrix that is not symmetric as a second array of transposes, with the same
/// lists. All lists ascend.
///
/// Level(i) is 1 + the largest level(k) of the blocks (i, k), 0 without any, and the block rows are
/// numbered by levels, so that a level is a range of block rows and of blocks. Column j of the
/// factor needs only columns k of the blocks (j, k), all of lower levels (NumericFactor).
/// So the columns of a level are independent, and so are its rows in a triangular solve (in a
/// transposed one in descending levels).
struct BlockPattern {
    Index block_rows = 0;
    std::vector<Offset> column_offsets;  ///< block_rows + 1 offsets.
    std::vector<Index> rows;             ///< Block row of each block.
    std::vector<Index> columns;          ///< Block column of each block.
    std::vector<Offset> row_offsets;     ///< By rows: block_rows + 1 offsets,
    std::vector<Index> row_blocks;       ///< and the numbers of the blocks.
    std::vector<Index> level_offsets;    ///< Level l has the block rows from level_offsets[l].

    /// Schur updates: block (i, j) -= V_left W_right^T, (left, right) = ((i, k), (j, k)), k < j.
    std::vector<Offset> update_offsets;  ///< blocks() + 1 offsets.
    std::vector<Index> left, right;

    Offset blocks() const { return Offset(rows.size()); }
    Index levels() const { return Index(level_offsets.size()) - 1; }
    Offset updates() const { return update_offsets.back(); }
};

struct GridByLevels {
    Grid grid;
    BlockPattern pattern;  ///< All lists but the updates.
};
/// Numbers the block rows of a grid by levels (stable). Fill does not change, as each row stays
/// after its dependencies.
GridByLevels arrange_by_levels(const Grid& grid, const GatheredRows& blocks, int threads);

/// Counts the updates of each block; then stores their lists.
void count_updates(BlockPattern& pattern, int threads);
void list_updates(BlockPattern& pattern, int threads);

}  // namespace tessera::incomplete
