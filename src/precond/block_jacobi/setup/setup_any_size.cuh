#pragma once

#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "gpu/tiles/inverted_blocks.cuh"
#include "gpu/tiles/tile_sizes.cuh"
#include "precond/block_jacobi/storage/block_formats.hpp"
#include "precond/block_jacobi/kernels.hpp"
#include "precond/block_jacobi/setup/setup_outcome.cuh"

/// Kernels of the block-Jacobi setup; instantiated for one type per source file.
namespace tessera::cuda {

/// BlockExtraction::shared_multiple where the inverses go to their formats; a kernel of its own,
/// since either would have fewer registers in one with the other.
template <class T>
void setup_narrow(const Context& context, const SetupJob<T>& job);

namespace {

constexpr int setup_warps = 4;  ///< A thread block.

/// How blocks of up to `Tile` rows are spread: lanes a block, rows a lane, and the thread blocks a
/// multiprocessor that the registers are limited for (more spills, fewer hides less latency).
template <class T, int Tile>
struct Spread {
    static constexpr int lanes = Tile == 12 ? 8 : Tile <= 16 ? Tile : Tile <= 24 ? 8 : 16;
    static constexpr int rows = (Tile + lanes - 1) / lanes;
    static constexpr int thread_blocks = Tile <= 8 ? 8 : Tile == 12 ? 6 : Tile <= 16 ? 8 : 4;
};
template <int Tile>
struct Spread<double, Tile> {
    static constexpr int lanes = Tile == 12 ? 16 : Tile <= 16 ? Tile : Tile <= 24 ? 8 : 32;
    static constexpr int rows = (Tile + lanes - 1) / lanes;
    static constexpr int thread_blocks = Tile <= 12   ? 8
                                         : Tile == 16 ? 7
                                         : Tile == 20 ? 3
                                         : Tile == 24 ? 2
                                                      : 4;
};

/// How the kernels of the papers are spread: a warp a block (shared_full, shared), or as above.
template <class T, int Tile, BlockExtraction extraction>
struct Shape {
    static constexpr bool warp_a_block =
        extraction == BlockExtraction::shared_full || extraction == BlockExtraction::shared;
    static constexpr int lanes = warp_a_block ? 32 : Spread<T, Tile>::lanes;
    static constexpr int rows = warp_a_block ? 1 : Spread<T, Tile>::rows;
    static constexpr int thread_blocks = !warp_a_block    ? Spread<T, Tile>::thread_blocks
                                         : sizeof(T) == 4 ? 6
                                         : Tile <= 16     ? 6
                                                          : 4;
    using Warp = WarpBlocks<T, Tile, lanes>;
};

/// One row of the matrix, swept by a warp from its start to the last column of the block; the
/// entries in the columns of the block go to row[column - first].
template <class T>
__device__ __forceinline__ void sweep_row(const CsrView<T>& matrix, Index row, Index first, int n,
                                          T* values) {
    const Offset end = __ldg(matrix.row_offsets + row + 1);
    Offset x = __ldg(matrix.row_offsets + row) + threadIdx.x % 32;
    for (bool more = true; more; x += 32) {
        const Index c = load_if(x < end, matrix.column_indices + x, first + n) - first;
        if (c >= 0 && c < n) values[c] = __ldg(matrix.values + x);
        more = __all_sync(full_warp, c < n);
    }
}

/// Fills the block area as extract_blocks does; each of the papers' ways to read.
template <BlockExtraction extraction, class T, int Tile, int Lanes>
__device__ __forceinline__ void extract_as(const CsrView<T>& matrix, Index start,
                                           const WarpBlocks<T, Tile, Lanes>& shared) {
    using Warp = WarpBlocks<T, Tile, Lanes>;
    const int warp_lane = int(threadIdx.x) % 32;
    const int group = warp_lane / Lanes;
    const Index first = __shfl_sync(full_warp, start, group);
    const int n = __shfl_sync(full_warp, start, group + 1) - first;
    if constexpr (extraction == BlockExtraction::shared_multiple) {
        extract_blocks(matrix, start, shared);
    } else if constexpr (extraction == BlockExtraction::cached) {
        shared.clear();
        __syncwarp();
        for (int i = warp_lane % Lanes; i < n; i += Lanes) {
            T* const row = shared.value + group * Warp::block_values + i * Warp::stride;
            const Offset end = __ldg(matrix.row_offsets + first + i + 1);
            for (Offset x = __ldg(matrix.row_offsets + first + i); x < end; ++x) {
                const Index c = __ldg(matrix.column_indices + x) - first;
                if (c >= n) break;
                if (c >= 0) row[c] = __ldg(matrix.values + x);
            }
        }
    } else if constexpr (extraction == BlockExtraction::shared_full) {
        shared.clear();
        __syncwarp();
        for (int i = 0; i < n; ++i) {
            sweep_row(matrix, first + i, first, n, shared.value + i * Warp::stride);
        }
    } else {
        // Row by row through one shared row into registers; the area behind takes them at the end.
        T* const row = reinterpret_cast<T*>(shared.row);
        T a[Tile];
#pragma unroll
        for (int i = 0; i < Tile; ++i) {
            a[i] = T(0);
            if (i >= n) continue;
            if (warp_lane < Tile) row[warp_lane] = T(0);
            __syncwarp();
            sweep_row(matrix, first + i, first, n, row);
            __syncwarp();
            if (warp_lane < Tile) a[i] = row[warp_lane];
            __syncwarp();
        }
#pragma unroll
        for (int i = 0; i < Tile; ++i) {
            if (warp_lane < Tile) shared.value[i * Warp::stride + warp_lane] = a[i];
        }
    }
    __syncwarp();
}

/// As store_inverses, but in the format of the block, to `to`; what overflows there is told.
template <class T, int Tile, int Lanes>
__device__ __forceinline__ InverseFacts<T> store_narrow(const WarpBlocks<T, Tile, Lanes>& shared,
                                                        int n, bool symmetric, BlockFormat format,
                                                        std::byte* to, SetupVerdict* verdict) {
    using Warp = WarpBlocks<T, Tile, Lanes>;
    const int lane = int(threadIdx.x) % Lanes;
    const T* const block = shared.value + int(threadIdx.x) % 32 / Lanes * Warp::block_values;
    InverseFacts<T> facts{T(0), T(0), true};
    with_format<T>(format, [&](auto known) {
        constexpr BlockFormat in = decltype(known)::value;
        auto* const values = reinterpret_cast<StoredBits<in>*>(to);
#pragma unroll 1
        for (int row = lane; row < n; row += Lanes) {
            T sum = T(0);
#pragma unroll 2
            for (int c = 0; c < n; ++c) {
                T x = block[row * Warp::stride + c];
                if (symmetric && c != row) x = middle_of(x, block[c * Warp::stride + row]);
                values[c * n + row] = narrow<in>(x);
                sum += fabs(x);
                facts.largest = fmax(facts.largest, fabs(x));
            }
            facts.norm = fmax(facts.norm, sum);
            facts.finite = facts.finite && sum <= std::numeric_limits<T>::max();
        }
    });
    __syncwarp();
    facts.norm = lanes_max<Lanes>(facts.norm);
    facts.largest = lanes_max<Lanes>(facts.largest);
    facts.finite = !any_of_lanes<Lanes>(!facts.finite);
    if (!facts.finite) {  // An entry is not, or only the sum.
        facts.finite = entries_finite(shared, n);
        for (int e = lane; !facts.finite && e < n * n; e += Lanes) {
            store(format, std::numeric_limits<T>::quiet_NaN(), to + e * bytes_of(format));
        }
    }
    if (lane == 0 && facts.finite && double(facts.largest) > largest_finite(format)) {
        atomicOr(&verdict->overflow, 1);
    }
    return facts;
}

/// Extracts, inverts and stores 32 / lanes blocks a warp; Narrow: in their formats.
template <class T, int Tile, BlockExtraction extraction, bool Narrow>
__global__ void __launch_bounds__(32 * setup_warps, Shape<T, Tile, extraction>::thread_blocks)
    setup_kernel(CsrView<T> matrix, PackedBlocks<T> blocks, T* inverses, NarrowStore narrow,
                 CountedBlocks counted, Index* info, T* reciprocal_condition, T* largest) {
    using Form = Shape<T, Tile, extraction>;
    using Warp = typename Form::Warp;
    constexpr int lanes = Form::lanes;
    extern __shared__ __align__(16) unsigned char setup_memory[];
    const Warp shared(setup_memory + threadIdx.x / 32 * Warp::bytes);
    const int warp_lane = int(threadIdx.x) % 32;
    const int group = warp_lane / lanes;
    const Offset warp = Offset(blockIdx.x) * setup_warps + threadIdx.x / 32;
    const Offset first_block = warp * Warp::blocks;
    begin_dependent();
    if (first_block >= blocks.count) return;
    const int here = int(min(Offset(Warp::blocks), blocks.count - first_block));

    const Index start = blocks.block_offsets[first_block + min(warp_lane, here)];
    extract_as<extraction>(matrix, start, shared);
    T a[Form::rows][Tile];
    take_blocks(shared, a);
    const BlockFacts<T> block = examine_blocks(shared, a);
    const int n = __shfl_sync(full_warp, start, group + 1) - __shfl_sync(full_warp, start, group);
    int failure = invert_blocks(shared, a, n, lanes_max(n));
    InverseFacts<T> inverse;
    if constexpr (Narrow) {
        const StoredBlocks& stored = narrow.blocks;
        const BlockFormat format = stored.formats == nullptr
                                       ? stored.format
                                       : stored.formats[first_block + min(group, here - 1)];
        std::byte* const to =
            narrow.bytes + stored.starts[first_block + min(group, here)] * stored.unit;
        inverse = store_narrow(shared, n, block.symmetric, format, to, narrow.verdict);
    } else {
        T* const out = inverses + blocks.entry_offsets[first_block + min(group, here)];
        inverse = store_inverses(shared, n, block.symmetric, largest != nullptr, out);
    }
    if (failure == 0 && !inverse.finite) failure = n;
    if (warp_lane % lanes == 0 && group < here) {
        const Offset b = first_block + group;
        const T condition = failure == 0 ? T(1) / block.norm / inverse.norm : T(0);
        const T most = failure == 0 ? inverse.largest : T(0);
        tell_outcome(b, failure, condition, most, counted, info, reciprocal_condition, largest);
    }
}

template <class T, int Tile, BlockExtraction extraction, bool Narrow = false>
void launch_setup(const Context& context, const SetupJob<T>& job) {
    using Warp = typename Shape<T, Tile, extraction>::Warp;
    constexpr int bytes = setup_warps * Warp::bytes;
    const auto kernel = setup_kernel<T, Tile, extraction, Narrow>;
    const unsigned grid = blocks_for(job.blocks.count, setup_warps * Warp::blocks);
    launch_dependent(kernel, grid, 32 * setup_warps, bytes, stream_of(context), job.matrix,
                     job.blocks, job.inverses, job.narrow, job.counted, job.info,
                     job.reciprocal_condition, job.largest);
}

}  // namespace

}  // namespace tessera::cuda
