#pragma once

#include "tessera/types.hpp"

namespace tessera {

/// Sum of the partial sums in a binary tree over their positions.
template <class T>
T tree_sum(const T* partial, Offset count) {
    if (count == 0) return T(0);
    if (count == 1) return partial[0];
    const Offset half = (count + 1) / 2;
    return tree_sum(partial, half) + tree_sum(partial + half, count - half);
}

}  // namespace tessera
