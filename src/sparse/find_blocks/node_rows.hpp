#pragma once

#include "base/for_each.hpp"
#include "sparse/csr_blocks.hpp"
#include "tessera/blocks.hpp"

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

/// The unknowns of a node where consecutive rows are nodes: the rows of `natural` blocks (of at
/// most 8) if all have as many; else 3 or 2, if natural blocks have fewer on average and blocks of
/// so many would have at most a quarter more entries than the matrix, by a sample of some 2,000:
/// finite elements without the entries that are zero; else 1. Waits.
template <class T>
Index node_rows(const Context& context, const CsrView<T>& matrix, const BlockPartition& natural);

}  // namespace tessera
