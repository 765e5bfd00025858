#include "sparse/find_blocks/similar_cuda.cuh"

#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "gpu/warp.cuh"

namespace tessera::cuda {

namespace {

constexpr int window = 64;  ///< Rows of the largest block.
constexpr int band_threads = 256;
constexpr int band_lanes = 8;  ///< Of a row.
constexpr int stretch_warps = 2;
constexpr int tile_rows = 8;  ///< Whose masks are read together, their steps written together.
static_assert(similar_stretch % tile_rows == 0 && tile_rows == sizeof(unsigned long long));

/// The nonzeros of a row near the diagonal: bit t, t + 1 columns to its left or right.
struct Band {
    unsigned long long left;
    unsigned long long right;
};

__global__ void __launch_bounds__(band_threads)
    band_kernel(Index rows, const Offset* row_offsets, const Index* columns, Band* bands) {
    const Offset i = (Offset(blockIdx.x) * band_threads + threadIdx.x) / band_lanes;
    const int lane = int(threadIdx.x) % band_lanes;
    Band band{0, 0};
    if (i < rows) {
        const Index row = Index(i);
        Offset begin = row_offsets[row];
        const Offset end = row_offsets[row + 1];
        for (Offset high = end; high - begin > window;) {  // The band has fewer than 2 x 64.
            const Offset middle = begin + (high - begin) / 2;
            if (columns[middle] <= row - window) {
                begin = middle;
            } else {
                high = middle;
            }
        }
        for (Offset k = begin + lane; k < end; k += band_lanes) {
            const Index distance = columns[k] - row;
            if (distance >= window) break;
            if (distance > 0) band.right |= 1ull << (distance - 1);
            if (distance < 0 && distance > -window) band.left |= 1ull << (-distance - 1);
        }
    }
#pragma unroll
    for (int distance = band_lanes / 2; distance > 0; distance /= 2) {
        band.left |= __shfl_xor_sync(full_warp, band.left, distance);
        band.right |= __shfl_xor_sync(full_warp, band.right, distance);
    }
    if (i < rows && lane == 0) bands[i] = band;
}

/// Lane l's neighbour below in a window of 32 `Words` values, lane by lane, word by word; the first
/// gets `first`.
template <int Words>
__device__ void shift_window(int (&values)[Words], int first) {
    const int lane = int(threadIdx.x) % 32;
#pragma unroll
    for (int w = Words - 1; w >= 0; --w) {
        const int before = w > 0 ? __shfl_sync(full_warp, values[w > 0 ? w - 1 : 0], 31) : first;
        const int up = __shfl_up_sync(full_warp, values[w], 1);
        values[w] = lane == 0 ? before : up;
    }
}

/// A warp a stretch, from its horizon back. Lane l, word w stands for a block of t + 1 rows from
/// the present one on, t = l + 32 w: how many nonzeros it keeps without the diagonal, and how many
/// are kept by the best blocks behind it.
template <int Words>
__global__ void __launch_bounds__(32 * stretch_warps)
    similar_kernel(Index rows, Offset stretches, StartMask mask, const Band* bands, int bound,
                   unsigned long long* steps) {
    const Offset stretch = Offset(blockIdx.x) * stretch_warps + threadIdx.x / 32;
    if (stretch >= stretches) return;
    const int lane = int(threadIdx.x) % 32;
    const Offset first = stretch * similar_stretch;
    const Offset last = min(first + similar_horizon, Offset(rows));
    int kept[Words] = {};
    int best[Words] = {};
    int found = 0;  // Kept from the row before on, that is the row behind in the matrix.
    for (Offset tile = (last - 1) / tile_rows * tile_rows; tile >= first; tile -= tile_rows) {
        unsigned long long right[tile_rows], below[tile_rows], ends[tile_rows];
#pragma unroll
        for (int k = 0; k < tile_rows; ++k) {
            const Offset row = tile + k;
            const bool inside = row < last;
            right[k] = inside ? bands[row].right : 0;
            ends[k] = inside ? mask.ends(Index(row), bound) : 0;
            below[k] = 0;
#pragma unroll
            for (int w = 0; w < Words; ++w) {
                const int t = lane + 32 * w;
                const Offset under = row + 1 + t;
                const bool nonzero = under < rows && (bands[under].left >> t & 1ull) != 0;
                below[k] |= static_cast<unsigned long long>(__ballot_sync(full_warp, nonzero))
                            << (32 * w);
            }
        }
        unsigned long long written = 0;
#pragma unroll
        for (int k = tile_rows - 1; k >= 0; --k) {
            if (tile + k >= last) continue;
            shift_window(kept, 0);
            shift_window(best, found);
            int top = -1;
#pragma unroll
            for (int w = 0; w < Words; ++w) {
                const int t = lane + 32 * w;
                const unsigned long long inner = (1ull << t) - 1;
                kept[w] += __popcll(right[k] & inner) + __popcll(below[k] & inner);
                if ((ends[k] >> t & 1ull) != 0) top = max(top, (kept[w] + best[w]) * window + t);
            }
            top = __reduce_max_sync(full_warp, top);
            found = top / window;
            written |= static_cast<unsigned long long>(top % window + 1) << (8 * k);
        }
        if (lane == 0 && tile < first + similar_stretch) steps[tile / tile_rows] = written;
    }
}

}  // namespace

Buffer<std::uint8_t> similar_steps(const Context& context, const CsrPattern& pattern,
                                   StartMask mask, int bound) {
    const cudaStream_t stream = stream_of(context);
    const Offset rows = pattern.rows;
    const Offset stretches = (rows + similar_stretch - 1) / similar_stretch;
    Buffer<std::uint8_t> steps(context, stretches * similar_stretch);
    if (rows == 0) return steps;
    Buffer<Band> bands(context, rows);
    band_kernel<<<blocks_for(rows, band_threads / band_lanes), band_threads, 0, stream>>>(
        pattern.rows, pattern.row_offsets, pattern.column_indices, bands.data());
    TESSERA_CUDA(cudaGetLastError());
    const auto kernel = bound <= 32 ? similar_kernel<1> : similar_kernel<2>;
    kernel<<<blocks_for(stretches, stretch_warps), 32 * stretch_warps, 0, stream>>>(
        pattern.rows, stretches, mask, bands.data(), bound,
        reinterpret_cast<unsigned long long*>(steps.data()));
    TESSERA_CUDA(cudaGetLastError());
    return steps;
}

}  // namespace tessera::cuda
