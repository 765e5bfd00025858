#include <algorithm>

#include "base/check_cuda.hpp"
#include "base/for_each.hpp"
#include "batched/plan/kernels.hpp"
#include "gpu/launch.cuh"
#include "gpu/scan.cuh"
#include "gpu/tuning/batched_h200.hpp"
#include "gpu/warp.cuh"

namespace tessera::batched::cuda {

namespace {

using namespace tessera::cuda;

constexpr int classes = largest_size + 1;
constexpr int sort_tile = sort_warps * sort_rounds * 32;

/// Values copied to the host: begin[n], then the first b of an invalid size (all ones: none).
constexpr int result_values = classes + 2;

/// The sizes that this warp counts in tile blockIdx.x, 32 per round; -1 past the end.
struct WarpSizes {
    int size[sort_rounds];

    static __device__ Offset first() {
        return Offset(blockIdx.x) * sort_tile + int(threadIdx.x) / 32 * (sort_rounds * 32) +
               int(threadIdx.x) % 32;
    }
    __device__ WarpSizes(Index count, const Index* sizes) {
#pragma unroll
        for (int k = 0; k < sort_rounds; ++k) {
            const Offset b = first() + k * 32;
            size[k] = b < count ? sizes[b] : -1;
        }
    }
    __device__ static bool is_valid(int n) { return n >= 0 && n < classes; }
};

/// Histogram of this warp's sizes. The lowest lane of each group of equal sizes adds their number.
__device__ __forceinline__ void histogram(const WarpSizes& mine, int* counts) {
    const int lane = int(threadIdx.x) % 32;
    for (int n = lane; n < classes; n += 32) counts[n] = 0;
    __syncwarp();
#pragma unroll
    for (int k = 0; k < sort_rounds; ++k) {
        const unsigned equal = __match_any_sync(full_warp, mine.size[k]);
        if (WarpSizes::is_valid(mine.size[k]) && lane == __ffs(int(equal)) - 1) {
            counts[mine.size[k]] += __popc(equal);
        }
        __syncwarp();
    }
}

/// Counting sort, first pass: tile_counts[n * tiles + t] is the number of sizes n in tile t; one
/// tile per thread block, equal sizes of a warp counted by match_any.
__global__ void __launch_bounds__(32 * sort_warps)
    count_kernel(Index count, const Index* sizes, Index* tile_counts, unsigned* first_invalid) {
    __shared__ int counts[sort_warps][classes];
    const WarpSizes mine(count, sizes);
#pragma unroll
    for (int k = 0; k < sort_rounds; ++k) {
        const Offset b = WarpSizes::first() + k * 32;
        if (b < count && !WarpSizes::is_valid(mine.size[k])) {
            atomicMin(first_invalid, unsigned(b));
        }
    }
    __syncwarp();
    histogram(mine, counts[threadIdx.x / 32]);
    __syncthreads();
    for (int n = int(threadIdx.x); n < classes; n += 32 * sort_warps) {
        int sum = 0;
        for (int w = 0; w < sort_warps; ++w) sum += counts[w][n];
        tile_counts[Offset(n) * gridDim.x + blockIdx.x] = sum;
    }
}

/// Counting sort, last pass, after an exclusive scan of tile_counts; one tile per thread block.
/// Writes the matrices to their positions, in stable order; the first thread block writes `begin`.
__global__ void __launch_bounds__(32 * sort_warps)
    scatter_kernel(Index count, const Index* sizes, const Offset* tile_starts, Index* order,
                   unsigned* begin) {
    __shared__ int next[sort_warps][classes];
    const WarpSizes mine(count, sizes);
    const int lane = int(threadIdx.x) % 32;
    int* const my_next = next[threadIdx.x / 32];
    histogram(mine, my_next);
    __syncthreads();
    for (int n = int(threadIdx.x); n < classes; n += 32 * sort_warps) {
        int start = int(tile_starts[Offset(n) * gridDim.x + blockIdx.x]);
        for (int w = 0; w < sort_warps; ++w) {
            const int size_count = next[w][n];
            next[w][n] = start;
            start += size_count;
        }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < sort_rounds; ++k) {
        const int n = mine.size[k];
        const unsigned equal = __match_any_sync(full_warp, n);
        const int start = WarpSizes::is_valid(n) ? my_next[n] : 0;
        __syncwarp();
        if (WarpSizes::is_valid(n)) {
            order[start + __popc(equal & ((1u << lane) - 1))] = Index(WarpSizes::first() + k * 32);
            if (lane == __ffs(int(equal)) - 1) my_next[n] = start + __popc(equal);
        }
        __syncwarp();
    }
    if (blockIdx.x == 0 && threadIdx.x <= classes) {
        begin[threadIdx.x] = unsigned(tile_starts[Offset(threadIdx.x) * gridDim.x]);
    }
}
static_assert(32 * sort_warps > classes, "one thread per class writes `begin`");

}  // namespace

Index sort_by_size(const Context& context, Index count, const Index* sizes, Index* begin,
                   Index* order) {
    std::fill(begin, begin + classes + 1, 0);
    if (count == 0) return -1;
    const cudaStream_t stream = stream_of(context);
    const unsigned tiles = blocks_for(count, sort_tile);
    const Offset table = Offset(tiles) * classes;
    Buffer<Index> tile_counts(context, table);
    Buffer<Offset> tile_starts(context, table + 1);
    Buffer<unsigned> result(context, result_values);
    unsigned* const first_invalid = result.data() + classes + 1;
    TESSERA_CUDA(cudaMemsetAsync(first_invalid, 0xff, sizeof(unsigned), stream));

    count_kernel<<<tiles, 32 * sort_warps, 0, stream>>>(count, sizes, tile_counts.data(),
                                                        first_invalid);
    TESSERA_CUDA(cudaGetLastError());
    exclusive_scan(context, table, CountAt{tile_counts.data()}, tile_starts.data());
    scatter_kernel<<<tiles, 32 * sort_warps, 0, stream>>>(count, sizes, tile_starts.data(), order,
                                                          result.data());
    TESSERA_CUDA(cudaGetLastError());

    const std::vector<unsigned> host = copy_to_host(context, result);
    std::transform(host.begin(), host.begin() + classes + 1, begin,
                   [](unsigned value) { return Index(value); });
    return host.back() == ~0u ? -1 : Index(host.back());
}

}  // namespace tessera::batched::cuda
