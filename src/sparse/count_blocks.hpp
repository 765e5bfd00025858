#pragma once

#include <cstdint>

#include "base/context_state.hpp"
#include "base/for_each.hpp"
#include "sparse/csr_blocks.hpp"

namespace tessera {

/// Sets partial[i], at first 0, where a block of block row i of B rows lacks an entry. `lanes`
/// threads share a block row.
template <int B>
struct MarkPartialBlocks {
    static constexpr int work = 64;
    int lanes;
    CsrPattern matrix;
    std::uint8_t* partial;

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const Offset block_row = place / lanes;
        if (!has_full_blocks(block_row, place % lanes)) partial[block_row] = 1;
    }

  private:
    /// Looks at every lanes-th entry.
    TESSERA_HOST_DEVICE bool has_full_blocks(Offset block_row, Offset lane) const {
        const Offset row = block_row * B;
        if (row + B > matrix.rows) return false;
        const Offset length = matrix.row_offsets[row + 1] - matrix.row_offsets[row];
        bool full = length % B == 0;
        TESSERA_UNROLL
        for (int r = 1; r < B; ++r) {
            full = full && matrix.row_offsets[row + r + 1] - matrix.row_offsets[row + r] == length;
        }
        const Index* const columns = matrix.column_indices + matrix.row_offsets[row];
        for (Offset e = lane; full && e < length; e += lanes) {
            const Index column = columns[e], inside = Index(e % B);
            full = column % B == inside && columns[e - inside] == column - inside;
            TESSERA_UNROLL
            for (int r = 1; r < B; ++r) full = full && columns[r * length + e] == column;
        }
        return full;
    }
};

/// The number of blocks in a block row of B rows; `partial` of MarkPartialBlocks, if B > 1.
template <int B>
TESSERA_HOST_DEVICE Index count_blocks_of_row(const CsrPattern& matrix, Offset block_row,
                                              const std::uint8_t* partial) {
    if (B == 1 || partial[block_row] == 0) {
        const Offset row = block_row * B;
        return Index((matrix.row_offsets[row + 1] - matrix.row_offsets[row]) / B);
    }
    Index count = 0;
    for_blocks<B>(matrix, block_row, [&](Index) { ++count; });
    return count;
}

#ifndef __CUDACC__
/// For each block row of B rows whether a block lacks an entry; empty if B is 1.
template <int B>
Buffer<std::uint8_t> partial_block_rows(const Context& context, const CsrPattern& matrix,
                                        Index block_rows) {
    if (B == 1) return {};
    Buffer<std::uint8_t> partial(context, block_rows);
    if (block_rows > 0) context.state().fill_bytes(partial.data(), 0, block_rows);
    const int lanes = context.on_gpu() ? 8 : 1;
    for_each_index(context, Offset(block_rows) * lanes,
                   MarkPartialBlocks<B>{lanes, matrix, partial.data()});
    return partial;
}
#endif

}  // namespace tessera
