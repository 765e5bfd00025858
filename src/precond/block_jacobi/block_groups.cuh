#pragma once

#include "gpu/launch.cuh"
#include "precond/block_jacobi/kernels.hpp"

namespace tessera::cuda {

inline constexpr int extract_warps = 4;  ///< A thread block of the kernels that take groups.

/// Consecutive blocks that a warp takes together.
struct GroupOfBlocks {
    Index first_block;
    int blocks;
    Index first_row;
    int rows;
};

__device__ __forceinline__ GroupOfBlocks group_of(Offset g, const Index* groups,
                                                  const Index* block_offsets) {
    const Index first = __ldg(groups + g);
    const Index last = __ldg(groups + g + 1);
    const Index row = __ldg(block_offsets + first);
    return {first, last - first, row, __ldg(block_offsets + last) - row};
}

/// Shared memory for the packed values of a group.
template <class T, int Rows>
__host__ __device__ constexpr int staging_bytes(int largest) {
    return Rows * largest * int(sizeof(T));
}

}  // namespace tessera::cuda
