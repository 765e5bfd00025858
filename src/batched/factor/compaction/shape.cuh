#pragma once

#include "gpu/tiles/elimination/gauss_jordan.cuh"
#include "gpu/tuning/batched_h200.hpp"

/// Shared memory and helpers of CompactLdu.
namespace tessera::batched::cuda {

namespace {

/// Shared memory of a team, in bytes: the pivot row of a step, a dummy row for stores of eliminated
/// rows, the factors in the numbering of the given matrix, and lists. The matrix is staged there
/// first, in columns of 32 from `dummy` on.
struct CompactShape {
    static constexpr int width = 32;
    static constexpr int lanes = 8;
    static constexpr int phase = 8;              ///< Steps between compactions.
    static constexpr int matrices = 32 / lanes;  ///< Per warp.
    static constexpr int rows = width / lanes;   ///< Per lane, in phase 0.
    static constexpr int warps = tessera::cuda::compaction_warps;
    static constexpr int value = int(sizeof(float));
    static constexpr int row_bytes = (width + 1) * value;  ///< Rows begin in different banks.
    static constexpr int dummy = width * value;
    static constexpr int first_row = dummy + (width + lanes) * value;
    static constexpr int lists = first_row + width * row_bytes + matrices * value;
    static constexpr int bytes = lists + 4 * width;
    static_assert(bytes % 16 == 0 && bytes / value % 8 == 4);  // Pivot rows in different banks.
    static_assert(dummy + width * width * value <= lists);

    /// Remaining columns in phase p, and rows per lane.
    static constexpr int columns(int p) { return width - phase * p; }
    static constexpr int lane_rows(int p) { return columns(p) / lanes; }
};

/// Lists of bytes of a team.
struct CompactLists {
    unsigned char* rows;       ///< The row in each position.
    unsigned char* columns;    ///< Byte offset of the column in each position.
    unsigned char* offsets;    ///< Byte offset of each remaining column of this phase.
    unsigned char* next_rows;  ///< The remaining rows of the next phase.

    __device__ __forceinline__ explicit CompactLists(unsigned char* memory)
        : rows(memory), columns(memory + 32), offsets(memory + 64), next_rows(memory + 96) {}
};

/// Such a list in registers.
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

__device__ __forceinline__ float max_magnitude(float best, float value) {
    return fmaxf(best, fabsf(value));
}
__device__ __forceinline__ int first_lane(unsigned votes) { return __clz(int(__brev(votes))); }
__device__ __forceinline__ unsigned team_or(unsigned bits) {
#pragma unroll
    for (int distance = 1; distance < CompactShape::lanes; distance *= 2) {
        bits |= __shfl_xor_sync(tessera::cuda::full_warp, bits, distance);
    }
    return bits;
}
/// The largest of a team of 8 lanes: three independent shuffles, then one.
__device__ __forceinline__ float team_largest(float most) {
    const float one = __shfl_xor_sync(tessera::cuda::full_warp, most, 1);
    const float two = __shfl_xor_sync(tessera::cuda::full_warp, most, 2);
    const float three = __shfl_xor_sync(tessera::cuda::full_warp, most, 3);
    most = max_magnitude(max_magnitude(most, one), max_magnitude(two, three));
    return max_magnitude(most, __shfl_xor_sync(tessera::cuda::full_warp, most, 4));
}

/// *to = condition ? *from : 0 in shared memory by cp.async; see wait_for_copies.
template <int Bytes>
__device__ __forceinline__ void copy_or_clear(float* to, const float* from, bool condition) {
    const unsigned address = tessera::cuda::shared_address(to);
    const int bytes = condition ? Bytes : 0;
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
