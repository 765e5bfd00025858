#pragma once

#include "tessera/types.hpp"

namespace tessera::incomplete {

template <Index k>
struct BlockSize {
    static constexpr Index value = k;
};

/// f(BlockSize<k>()): makes the rows of a block a compile-time constant.
template <class F>
void with_block_size(Index k, F&& f) {
    if (k == 1) f(BlockSize<1>());
    if (k == 4) f(BlockSize<4>());
    if (k == 8) f(BlockSize<8>());
    if (k == 16) f(BlockSize<16>());
    if (k == 32) f(BlockSize<32>());
}

}  // namespace tessera::incomplete
