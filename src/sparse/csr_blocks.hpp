#pragma once

#include <limits>

#include "base/host_device.hpp"
#include "tessera/types.hpp"

// The blocks of a matrix in CSR with sorted and unique columns: block rows have B rows.
namespace tessera {

/// The pattern of a CSR matrix in the memory of a Context.
struct CsrPattern {
    Index rows = 0;
    Index columns = 0;
    const Offset* row_offsets = nullptr;
    const Index* column_indices = nullptr;
};

/// The entries of the B rows of a block row that are not read yet, each row from left to right;
/// none for rows outside the matrix.
template <int B, class Csr>
struct RowCursors {
    static constexpr Index none = std::numeric_limits<Index>::max();
    const Csr& matrix;
    Offset at[B], end[B];

    TESSERA_HOST_DEVICE RowCursors(const Csr& csr, Offset block_row) : matrix(csr) {
        for (int r = 0; r < B; ++r) {
            const Offset row = block_row * B + r;
            at[r] = row < matrix.rows ? matrix.row_offsets[row] : 0;
            end[r] = row < matrix.rows ? matrix.row_offsets[row + 1] : 0;
        }
    }
    /// The columns of the next B entries of each row, all that a block can have; `none` past the
    /// end. Loads do not wait for each other.
    TESSERA_HOST_DEVICE void read(Index (&columns)[B][B]) const {
        for (int r = 0; r < B; ++r) {
            for (int j = 0; j < B; ++j) {
                columns[r][j] = at[r] + j < end[r] ? matrix.column_indices[at[r] + j] : none;
            }
        }
    }
    /// Moves each row's position past its entries of block column `block_column`; `columns` is what
    /// read gave.
    TESSERA_HOST_DEVICE void pass(const Index (&columns)[B][B], Index block_column) {
        const Offset next = (Offset(block_column) + 1) * B;
        for (int r = 0; r < B; ++r) {
            for (int j = 0; j < B; ++j) at[r] += columns[r][j] < next && columns[r][j] != none;
        }
    }
};

/// Whether a block row that has `blocks` blocks has only full ones: then the k-th of them holds the
/// entries k B .. k B + B - 1 of each row.
template <int B, class Csr>
TESSERA_HOST_DEVICE bool has_full_blocks(const Csr& matrix, Offset block_row, Offset blocks) {
    const Offset first = block_row * B;
    if (blocks == 0 || first + B > matrix.rows) return false;
    bool full = true;
    for (Offset row = first; row < first + B; ++row) {
        full = full && matrix.row_offsets[row + 1] - matrix.row_offsets[row] == blocks * B;
    }
    return full;
}

/// f(block column) for the blocks of a block row that hold an entry, ascending: a merge of its
/// rows.
template <int B, class F>
TESSERA_HOST_DEVICE inline void for_blocks(const CsrPattern& matrix, Offset block_row, F&& f) {
    RowCursors<B, CsrPattern> rows(matrix, block_row);
    Index columns[B][B];
    while (true) {
        rows.read(columns);
        Index least = columns[0][0];
        for (int r = 1; r < B; ++r) least = columns[r][0] < least ? columns[r][0] : least;
        if (least == rows.none) return;
        rows.pass(columns, least / B);
        f(least / B);
    }
}

}  // namespace tessera
