#pragma once

#include "base/gather_rows.hpp"
#include "tessera/csr.hpp"

namespace tessera::block_ldlt {

/// Where the rows of a matrix stand in a grid of k x k blocks: slot s holds row slots[s], or, where
/// that is -1, a padding row (a unit row of the padded matrix).
struct Grid {
    Index k = 1;               ///< Rows of a block.
    Index rows = 0;            ///< Of the matrix.
    Index block_rows = 0;      ///< slots.size() / k.
    std::vector<Index> slots;  ///< A multiple of k of them.
    std::vector<Index> slot_of_row;
};

/// The grid of a permutation with padding slots: each row once, -1 anywhere else; padding slots are
/// appended up to a multiple of k. Throws InvalidArgument for what is no such permutation.
Grid make_grid(Index k, Index rows, std::vector<Index> slots);

/// Symbolic factorisation: the columns of the blocks of the strict lower triangle, row by row, that
/// have an entry of the matrix, and of those of fill levels up to `fill`: a block of the matrix has
/// level 0, one that arises from the blocks (i, k) and (j, k) 1 + the sum of theirs, the smallest
/// over all k < j. `matrix` must be in host memory. Throws OutOfMemory beyond `max_blocks`.
template <class T>
GatheredRows fill_pattern(const Grid& grid, const CsrView<T>& matrix, int fill, Offset max_blocks,
                          int threads);

/// The blocks of the strict lower triangle of a symmetric block matrix that a factorisation stores,
/// column by column; the diagonal blocks stand apart. All lists ascend.
///
/// Level(i) is 1 + the largest level(k) of the blocks (i, k), 0 without any, and the block rows are
/// numbered by levels, so that a level is a range of block rows and of blocks. Column j of the
/// factor needs only columns k of the blocks (j, k), all of lower levels: its diagonal block is
/// A_jj - sum_k V_jk W_jk^T, its block (i, j) is A_ij - sum_k V_ik W_jk^T over the k of both rows.
/// So all of a level is independent, and so are the rows of a level in a triangular solve (those
/// of descending levels in a transposed one).
struct BlockPattern {
    Index block_rows = 0;
    std::vector<Offset> column_offsets;  ///< block_rows + 1.
    std::vector<Index> rows;             ///< Of each block.
    std::vector<Index> columns;          ///< Of each block.
    std::vector<Offset> row_offsets;     ///< The same blocks by rows: block_rows + 1,
    std::vector<Index> row_blocks;       ///< and which they are.
    std::vector<Index> level_offsets;    ///< Level l has the block rows from level_offsets[l].

    /// Block (i, j) takes V W^T of the pairs of blocks (left, right) = ((i, k), (j, k)), k < j.
    std::vector<Offset> triple_offsets;  ///< blocks() + 1.
    std::vector<Index> left, right;

    Offset blocks() const { return Offset(rows.size()); }
    Index levels() const { return Index(level_offsets.size()) - 1; }
    Offset triples() const { return triple_offsets.back(); }
};

/// Numbers the block rows by levels (stable), in the grid and in the pattern it returns, which has
/// all lists but the triples. That changes no block and no elimination, as all that a row needs
/// still stands before it.
BlockPattern arrange_by_levels(Grid& grid, const GatheredRows& blocks);

/// Counts the triples of each block; then lists them.
void count_triples(BlockPattern& pattern, int threads);
void list_triples(BlockPattern& pattern, int threads);

/// Which entries of the matrix go where. Item b is block b of the pattern, item blocks() + i the
/// diagonal block i (its lower triangle). Entry e of an item goes to place[e] = row + k column.
struct BlockEntries {
    std::vector<Offset> offsets;       ///< blocks() + block_rows + 1.
    std::vector<Offset> source;        ///< Position in the values of the matrix; -1: padding, 1.
    std::vector<std::uint16_t> place;  ///< Within the block.
    std::vector<Index> row, column;    ///< Of the source in the matrix.
};
template <class T>
BlockEntries find_entries(const Grid& grid, const BlockPattern& pattern, const CsrView<T>& matrix,
                          int threads);

}  // namespace tessera::block_ldlt
