#pragma once

#include "gpu/tuning/sparse_h200.hpp"
#include "sparse/find_blocks/kernels.hpp"

namespace tessera::cuda {

/// One bit per row, set where a supervariable starts; row `rows` counts as a start. Has two words
/// after that of `rows`.
struct StartMask {
    const unsigned* words;

    /// Bit t: a block that starts with row `row` may end at row + 1 + t: at starts of
    /// supervariables, or after `bound` (1..64) rows if there is none among these.
    __device__ unsigned long long ends(Index row, int bound) const {
        const unsigned first = unsigned(row) + 1;
        const unsigned* word = words + first / 32;
        const unsigned middle = word[1];
        const unsigned long long window =
            (__funnelshift_r(word[0], middle, first % 32) |
             static_cast<unsigned long long>(__funnelshift_r(middle, word[2], first % 32)) << 32) &
            ~0ull >> (64 - bound);
        return window != 0 ? window : 1ull << (bound - 1);
    }
};

/// Bytes of memory for the mask.
Offset mark_bytes(Index rows);

/// Computes the mask in `memory`.
StartMask mark_supervariables(const Context& context, const SquarePattern& pattern,
                              unsigned* memory);

}  // namespace tessera::cuda
