#pragma once

#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "gpu/tiles/inverted_blocks.cuh"
#include "gpu/tiles/tile_sizes.cuh"
#include "gpu/tuning/block_jacobi_h200.hpp"
#include "precond/block_jacobi/setup/inverse_stores.cuh"

namespace tessera::cuda {

namespace {

/// Gauss-Jordan with implicit partial pivoting of diagonal blocks of any sizes up to `Tile`. A
/// warp takes 32 / lanes consecutive blocks: it searches their entries in CSR, gathers them to
/// shared memory, eliminates in registers with one or more rows a lane, and stores by way of
/// shared memory, where the inverse is symmetrised and its norm found.
template <class T, int Tile, class Store>
__global__ void __launch_bounds__(32 * any_size_shape<T>(Tile).warps,
                                  any_size_shape<T>(Tile).thread_blocks)
    setup_any_size_kernel(CsrView<T> matrix, PackedBlocks<T> blocks, Store store,
                          SetupResults<T> results) {
    constexpr int lanes = any_size_shape<T>(Tile).lanes;
    using Warp = WarpBlocks<T, Tile, lanes>;
    extern __shared__ __align__(16) unsigned char setup_memory[];
    const Warp shared(setup_memory + threadIdx.x / 32 * Warp::bytes);
    const int warp_lane = int(threadIdx.x) % 32;
    const int group = warp_lane / lanes;
    const Offset warp = Offset(blockIdx.x) * any_size_shape<T>(Tile).warps + threadIdx.x / 32;
    const Offset first_block = warp * Warp::blocks;
    begin_dependent();
    if (first_block >= blocks.count) return;
    const int here = int(min(Offset(Warp::blocks), blocks.count - first_block));

    const Index start = blocks.block_offsets[first_block + min(warp_lane, here)];
    extract_blocks(matrix, start, shared);
    T a[(Tile + lanes - 1) / lanes][Tile];
    take_blocks(shared, a);
    const BlockFacts<T> block = examine_blocks(shared, a);
    const int n = __shfl_sync(full_warp, start, group + 1) - __shfl_sync(full_warp, start, group);
    const int info = invert_blocks(shared, a, n, lanes_max(n));
    const Index b = Index(first_block) + min(group, here - 1);  // Without a block n is 0.
    const Offset entry = blocks.entry_offsets[b];
    const InverseFacts<T> inverse = store_inverses<!Store::reduced>(
        shared, n, block.symmetric, store.want_largest, [&](auto&& f) { store(b, entry, n, f); });
    if (warp_lane % lanes == 0 && group < here) {
        if (inverse.finite) store.report_overflow(b, inverse.largest);
        report_inverse(results, b, n, info, block, inverse);
    }
}

}  // namespace

template <class T, bool Reduced>
void setup_any_size(const Context& context, const SetupJob<T>& job) {
    with_tile<4>(job.blocks.largest, [&](auto tile) {
        constexpr int width = decltype(tile)::value;
        constexpr SetupShape shape = any_size_shape<T>(width);
        using Warp = WarpBlocks<T, width, shape.lanes>;
        with_store<Reduced>(job, [&](auto store) {
            launch_dependent(setup_any_size_kernel<T, width, decltype(store)>,
                             blocks_for(job.blocks.count, shape.warps * Warp::blocks),
                             32 * shape.warps, shape.warps * Warp::bytes, stream_of(context),
                             job.matrix, job.blocks, store, job.results);
        });
    });
}

}  // namespace tessera::cuda
