#pragma once

#include <algorithm>

#include "base/parallel.hpp"
#include "precond/block_jacobi/kernels.hpp"

namespace tessera::cpu {

/// f(block, rows, its inverse) for all blocks, in parallel.
template <class T, class Value, class F>
void for_blocks(const Context& context, const PackedBlocks<T>& blocks, Value* inverses, F&& f) {
    const Offset grain =
        parallel_grain / std::max<Offset>(Offset(blocks.largest) * blocks.largest, 1);
    parallel_ranges(
        context.threads(), blocks.count,
        [&](Offset first, Offset last) {
            for (Offset b = first; b < last; ++b) {
                f(Index(b), blocks.block_offsets[b + 1] - blocks.block_offsets[b],
                  inverses + blocks.entry_offsets[b]);
            }
        },
        grain);
}

}  // namespace tessera::cpu
