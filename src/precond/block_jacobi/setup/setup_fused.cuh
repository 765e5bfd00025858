#pragma once

#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "gpu/tiles/extraction/inverted_blocks.cuh"
#include "gpu/tiles/tile_sizes.cuh"
#include "gpu/tuning/block_jacobi_h200.hpp"
#include "precond/block_jacobi/setup/inverse_stores.cuh"

namespace tessera::cuda {

namespace {

/// Gauss-Jordan with implicit partial pivoting of diagonal blocks of at most `Tile` rows; 32 /
/// lanes consecutive blocks per warp, one or more rows per lane. The warp gathers the entries from
/// CSR to shared memory, eliminates in registers, and stores through shared memory, where the
/// inverse is symmetrised and its norm computed.
template <class T, int Tile, class Store>
__global__ void __launch_bounds__(32 * setup_shape<T>(Tile).warps,
                                  setup_shape<T>(Tile).thread_blocks)
    setup_kernel(CsrView<T> matrix, PackedBlocks<T> blocks, Store store, SetupResults<T> results) {
    constexpr SetupShape shape = setup_shape<T>(Tile);
    using Warp = WarpBlocks<T, Tile, shape.lanes>;
    extern __shared__ __align__(16) unsigned char setup_memory[];
    const Warp shared(setup_memory + threadIdx.x / 32 * Warp::bytes);
    const int group = int(threadIdx.x % 32) / shape.lanes;
    const unsigned first_block =
        (blockIdx.x * unsigned(shape.warps) + threadIdx.x / 32) * unsigned(Warp::blocks);
    begin_dependent();
    if (first_block >= unsigned(blocks.count)) return;
    const int block_count = min(Warp::blocks, blocks.count - Index(first_block));

    const int lane = int(threadIdx.x % 32);
    const Index start = blocks.block_offsets[first_block + unsigned(min(lane, block_count))];
    extract_blocks(matrix, start, shared);
    const int n = __shfl_sync(full_warp, start, group + 1) - __shfl_sync(full_warp, start, group);
    __syncwarp();
    T* const values = shared.value + group * Warp::block_values;
    T a[Warp::lane_rows][Tile];
    load_block<Warp>(values, a);
    const BlockProperties<T> block = examine_block<Warp>(values, a);
    const int info = invert_blocks(a, shared, group, n, lanes_max(n));
    const bool has_block = group < block_count;
    const Index b = Index(first_block) + (has_block ? group : 0);
    const Offset entry = blocks.entry_offsets[b];
    const InverseProperties<T> inverse = write_block<Warp, !Store::reduced>(
        values, has_block ? n : 0, block.symmetric, store.want_largest,
        [&](auto&& f) { store(b, entry, n, f); });
    if (has_block && threadIdx.x % shape.lanes == 0) {
        if (inverse.finite) store.report_range(b, inverse.largest);
        report_inverse(results, b, n, info, block, inverse);
    }
}

}  // namespace

template <class T, bool Reduced>
void setup_fused(const Context& context, const SetupJob<T>& job) {
    with_tile<4>(job.blocks.largest, [&](auto tile) {
        constexpr int width = decltype(tile)::value;
        constexpr SetupShape shape = setup_shape<T>(width);
        using Warp = WarpBlocks<T, width, shape.lanes>;
        with_store<Reduced>(job, [&](auto store) {
            launch_dependent(setup_kernel<T, width, decltype(store)>,
                             blocks_for(job.blocks.count, shape.warps * Warp::blocks),
                             32 * shape.warps, shape.warps * Warp::bytes, stream_of(context),
                             job.matrix, job.blocks, store, job.results);
        });
    });
}

}  // namespace tessera::cuda
