#pragma once

#include "base/for_each.hpp"
#include "sparse/csr_blocks.hpp"

namespace tessera {

/// Entries of every stride-th block row of B rows, and its blocks that hold one.
template <int B>
struct SampleBlocks {
    static constexpr int work = 128;
    CsrPattern matrix;
    Offset stride;
    Index *entries, *blocks;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const Offset row = i * stride * B;
        entries[i] = Index(matrix.row_offsets[row + B] - matrix.row_offsets[row]);
        Index count = 0;
        for_blocks<B>(matrix, i * stride, [&](Index) { ++count; });
        blocks[i] = count;
    }
};

}  // namespace tessera
