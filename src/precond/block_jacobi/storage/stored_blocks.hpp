#pragma once

#include <cstddef>

#include "tessera/batched.hpp"
#include "tessera/csr.hpp"
#include "tessera/precond.hpp"

namespace tessera {

/// Bytes of a value.
constexpr int bytes_of(BlockFormat format) {
    return format == BlockFormat::f64                                           ? 8
           : format == BlockFormat::f32 || format == BlockFormat::truncated_f64 ? 4
                                                                                : 2;
}

/// A block-diagonal matrix as block Jacobi keeps it: block b column-major, without gaps between its
/// columns, from byte starts[b] * unit on; all arrays in the memory of a Context.
/// Where formats differ from block to block the unit is 8, so that a block may end with up to 7
/// unused bytes; where all are the same it is a value, and nothing is unused. The bytes are 16
/// bytes aligned, and 16 more than starts[count] * unit may be read.
struct StoredBlocks {
    Index rows = 0;
    Index count = 0;
    Index largest = 0;                      ///< Rows of the largest block, 0..64.
    bool one_size = false;                  ///< Known to be as have_one_size says; else not known.
    const Index* block_offsets = nullptr;   ///< count + 1 rows.
    const Offset* starts = nullptr;         ///< count + 1, in units.
    int unit = 0;                           ///< Bytes.
    BlockFormat format = BlockFormat::f64;  ///< Of all blocks, where formats is nullptr.
    const BlockFormat* formats = nullptr;   ///< count, or nullptr.
    const std::byte* bytes = nullptr;
    Index most_units = 0;  ///< As most_units says, or 0: not known.
    /// GPU: groups of consecutive blocks that have at most group_rows rows together; group g starts
    /// with block groups[g]. group_count + 1 of them.
    Index group_count = 0;
    const Index* groups = nullptr;
};

/// Rows that the blocks of a group have together at most.
constexpr Index group_rows(Index largest) { return largest <= 32 ? 32 : 64; }

constexpr Index most_units_blocks(Index largest) { return 64 / largest; }

/// The host must have waited for all that wrote them: on a GPU apply begins to read them before the
/// work given to the stream before has ended.
///
/// Products with stored blocks, which are converted to T exactly; T is float or double, and float
/// takes no f64 and no truncated_f64.
///   apply   z_b = X_b r_b, or X_b^T r_b, for each block and each of `vectors` columns of r and z,
///           whose leading dimensions are at least `rows`. They do not overlap. The error of an
///           element is at most gamma_n sum_j |x_ij| |r_j| in T. Sums have an order that depends on
///           nothing but the block's size, its row and the transpose, so that results are bitwise
///           equal whatever the other blocks and vectors are.
///   expand  the values of block b column-major from values[entry_offsets[b]] on.
///   to_csr  the block-diagonal matrix, each value of a block an entry; waits for their number.
///   have_one_size  whether all blocks but the last have `largest` rows; waits. Of the others only
///           block_offsets are looked at.
///   most_units  how many units most_units_blocks(largest) blocks take at most, from block 0 or a
///           multiple of that number on, with what lies behind them; waits. Only starts are read.
/// Otherwise no wait.
namespace cpu {
template <class T>
void apply(const Context& context, const StoredBlocks& blocks, batched::Transpose transpose,
           Index vectors, const T* r, Offset r_leading, T* z, Offset z_leading);
template <class T>
void expand(const Context& context, const StoredBlocks& blocks, const Offset* entry_offsets,
            T* values);
template <class T>
CsrMatrix<T> to_csr(const Context& context, const StoredBlocks& blocks);
bool have_one_size(const Context& context, const StoredBlocks& blocks);
Index most_units(const Context& context, const StoredBlocks& blocks);
}  // namespace cpu
namespace cuda {
template <class T>
void apply(const Context& context, const StoredBlocks& blocks, batched::Transpose transpose,
           Index vectors, const T* r, Offset r_leading, T* z, Offset z_leading);
template <class T>
void expand(const Context& context, const StoredBlocks& blocks, const Offset* entry_offsets,
            T* values);
template <class T>
CsrMatrix<T> to_csr(const Context& context, const StoredBlocks& blocks);
bool have_one_size(const Context& context, const StoredBlocks& blocks);
Index most_units(const Context& context, const StoredBlocks& blocks);
}  // namespace cuda

}  // namespace tessera
