#pragma once

#include "gpu/tiles/gauss_jordan.cuh"
#include "gpu/tuning/batched_h200.hpp"

/// The shared memory of the factorisation in ldu_compact_tile.cuh.
namespace tessera::batched::cuda {

namespace {

/// Shared memory of a team, in bytes: the pivot row of a step, a place for what is not wanted, the
/// factors where their elements came from, and lists. The matrix comes there first, in columns of
/// 32 from `unwanted` on.
struct CompactShape {
    static constexpr int width = 32;
    static constexpr int lanes = 8;
    static constexpr int phase = 8;              ///< Steps between the moves.
    static constexpr int matrices = 32 / lanes;  ///< A warp.
    static constexpr int rows = width / lanes;   ///< A lane, at first.
    static constexpr int warps = tessera::cuda::compaction_warps;
    static constexpr int value = int(sizeof(float));
    static constexpr int row_bytes = (width + 1) * value;  ///< Rows begin in different banks.
    static constexpr int unwanted = width * value;
    static constexpr int first_row = unwanted + (width + lanes) * value;
    static constexpr int lists = first_row + width * row_bytes + matrices * value;
    static constexpr int bytes = lists + 4 * width;
    static_assert(bytes % 16 == 0 && bytes / value % 8 == 4);  // Pivot rows in different banks.
    static_assert(unwanted + width * width * value <= lists);

    /// Columns that are left in a phase, and the rows of a lane.
    static constexpr int columns(int p) { return width - phase * p; }
    static constexpr int lane_rows(int p) { return columns(p) / lanes; }
};

/// The lists of a team, of bytes.
struct CompactLists {
    unsigned char* rows;     ///< The row in each position.
    unsigned char* columns;  ///< Four times the column in each position.
    unsigned char* slots;    ///< Four times the column in each place of this phase.
    unsigned char* row_of;   ///< The row in each place of the next phase.

    __device__ __forceinline__ explicit CompactLists(unsigned char* memory)
        : rows(memory), columns(memory + 32), slots(memory + 64), row_of(memory + 96) {}
};

/// A list in registers.
struct CompactList {
    unsigned words[CompactShape::width / 4];

    __device__ __forceinline__ explicit CompactList(const unsigned char* list) {
#pragma unroll
        for (int k = 0; k < CompactShape::width / 4; ++k) {
            words[k] = reinterpret_cast<const unsigned*>(list)[k];
        }
    }
    __device__ __forceinline__ unsigned operator[](int i) const {
        return __byte_perm(words[i / 4], 0, 0x4440 + i % 4);
    }
};

__device__ __forceinline__ float larger(float best, float value) {
    return fmaxf(best, fabsf(value));
}
__device__ __forceinline__ int first_of(unsigned votes) { return __clz(int(__brev(votes))); }
__device__ __forceinline__ unsigned all_bits(unsigned bits) {
#pragma unroll
    for (int distance = 1; distance < CompactShape::lanes; distance *= 2) {
        bits |= __shfl_xor_sync(tessera::cuda::full_warp, bits, distance);
    }
    return bits;
}
/// The largest of a team: three exchanges at once, then one.
__device__ __forceinline__ float team_largest(float most) {
    const float one = __shfl_xor_sync(tessera::cuda::full_warp, most, 1);
    const float two = __shfl_xor_sync(tessera::cuda::full_warp, most, 2);
    const float three = __shfl_xor_sync(tessera::cuda::full_warp, most, 3);
    most = larger(larger(most, one), larger(two, three));
    return larger(most, __shfl_xor_sync(tessera::cuda::full_warp, most, 4));
}

/// *to = wanted ? *from : 0 in shared memory, before wait_for_copies is over.
template <int Bytes>
__device__ __forceinline__ void copy_or_clear(float* to, const float* from, bool wanted) {
    const unsigned address = tessera::cuda::shared_address(to);
    const int bytes = wanted ? Bytes : 0;
    if constexpr (Bytes == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from),
                     "r"(bytes)
                     : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(from),
                     "n"(Bytes), "r"(bytes)
                     : "memory");
    }
}

}  // namespace

}  // namespace tessera::batched::cuda
