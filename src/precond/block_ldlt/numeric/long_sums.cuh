#pragma once

#include "precond/block_ldlt/numeric/kernels.hpp"

namespace tessera::block_ldlt::cuda {

/// Pieces of one list: their places among all.
struct PieceRange {
    Index begin, end;
};

/// Those of an item whose list is cut.
template <class T>
__device__ __forceinline__ PieceRange pieces_of(const LongSums<T>& sums, Offset item) {
    Index which = 0, behind = sums.count;
    while (behind - which > 1) {
        const Index middle = which + (behind - which) / 2;
        (sums.items[middle] <= item ? which : behind) = middle;
    }
    return {sums.first_piece[which], sums.first_piece[which + 1]};
}

}  // namespace tessera::block_ldlt::cuda
