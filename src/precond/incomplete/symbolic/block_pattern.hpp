#pragma once

#include "precond/incomplete/symbolic/group_pattern.hpp"
#include "precond/incomplete/symbolic/pattern_view.hpp"

namespace tessera::incomplete {

/// Permutation of a matrix into a grid of k x k blocks, in the memory of a Context: slot s has
/// column slots[s] and the row that belongs to it or, if that is -1, a padding row and column
/// (those of the identity).
struct Grid {
    Index k = 1;              ///< Rows of a block.
    Index rows = 0;           ///< Rows of the matrix.
    Index block_rows = 0;     ///< slots.size() / k.
    Buffer<Index> slots;      ///< Column in each slot, or -1; a multiple of k.
    Buffer<Index> row_slots;  ///< Its row; empty: that of its number.
    Buffer<Index> slot_of_column;

    const Buffer<Index>& rows_in_slots() const { return row_slots.empty() ? slots : row_slots; }
};

/// The grid of a permutation with padding slots, in host memory: each column once, -1 in padding
/// slots, which are appended up to a multiple of k. `row_of_column`: the row that belongs to each
/// column, whose entry is on the diagonal; empty: that of its number. Throws InvalidArgument for
/// anything else. Waits.
Grid make_grid(const Context& context, Index k, Index rows, std::vector<Index> slots,
               const std::vector<Index>& row_of_column = {});

/// A copy for another Context. Waits.
Grid copy_grid(const Context& from, const Grid& grid, const Context& to);

/// Blocks of the strict lower triangle by rows, in the memory of a Context: block row i has the
/// columns columns[offsets[i]] .. columns[offsets[i + 1] - 1], ascending.
struct BlockRows {
    Buffer<Offset> offsets;
    Buffer<Index> columns;
};
BlockRows copy_to_buffers(const Context& context, const GatheredRows& rows);
GatheredRows copy_to_host(const Context& context, const BlockRows& rows);

/// The rows of two square patterns of the same size, the second one transposed.
GatheredRows union_with_transpose(int threads, const GatheredRows& rows,
                                  const GatheredRows& to_transpose);

/// The blocks of the strict lower triangle that have an entry of the matrix or, unless it is
/// `symmetric`, whose transposes have one. The rows of a group are in consecutive slots of a block.
/// Waits.
BlockRows lower_blocks(const Context& context, const Grid& grid, const GroupPattern& pattern,
                       bool symmetric);

/// Symbolic factorisation: adds the blocks of fill levels up to `fill`, on the host. The `lower`
/// blocks have level 0, one that arises from the blocks (i, k) and (j, k) 1 + the sum of theirs,
/// the smallest over all k < j. Throws OutOfMemory beyond `max_blocks`.
BlockRows add_fill(const Context& context, BlockRows lower, int fill, Offset max_blocks);

/// The blocks of the strict lower triangle of a block matrix with a symmetric pattern that a
/// factorisation stores, column by column, in the memory of a Context; diagonal blocks are stored
/// separately, and those of the upper triangle of a matrix that is not symmetric as a second array
/// of transposes, with the same lists. All lists ascend.
///
/// Level(i) is 1 + the largest level(k) of the blocks (i, k), 0 without any, and the block rows are
/// numbered by levels, so that a level is a range of block rows and of blocks. Column j of the
/// factor needs only columns k of the blocks (j, k), all of lower levels (NumericFactor).
/// So the columns of a level are independent, and so are its rows in a triangular solve (in a
/// transposed one in descending levels).
struct BlockPattern {
    Index block_rows = 0;
    Buffer<Offset> column_offsets;  ///< block_rows + 1 offsets.
    Buffer<Index> rows;             ///< Block row of each block.
    Buffer<Index> columns;          ///< Block column of each block.
    Buffer<Offset> row_offsets;     ///< By rows: block_rows + 1 offsets,
    Buffer<Index> row_blocks;       ///< and the numbers of the blocks.

    Buffer<LevelStart> level_starts_in_context;
    std::vector<LevelStart> level_starts;  ///< levels() + 1 level starts, in host memory.

    /// Schur updates: block (i, j) -= V_left W_right^T, (left, right) = ((i, k), (j, k)), k < j.
    Buffer<Offset> update_offsets;  ///< blocks() + 1 offsets.
    Buffer<Index> left, right;
    Offset updates = 0;

    Offset blocks() const { return rows.size(); }
    Index levels() const { return Index(level_starts.size()) - 1; }
    /// The lists for kernels, of blocks of k rows.
    PatternLists lists(Index k, bool symmetric) const;
};

struct GridByLevels {
    Grid grid;
    BlockPattern pattern;  ///< All lists but the updates.
};
/// Numbers the block rows of a grid by levels (stable). Fill does not change, as each row stays
/// after its dependencies. Throws InvalidArgument for more than `max_levels` levels, unless that is
/// 0. Waits.
GridByLevels arrange_by_levels(const Context& context, const Grid& grid, const BlockRows& blocks,
                               Index max_levels = 0);

/// Counts the updates of each block; then stores their lists. The first one waits.
void count_updates(const Context& context, BlockPattern& pattern);
void list_updates(const Context& context, BlockPattern& pattern);
/// No updates: for factors that are not computed on the pattern.
void set_no_updates(const Context& context, BlockPattern& pattern);

}  // namespace tessera::incomplete
