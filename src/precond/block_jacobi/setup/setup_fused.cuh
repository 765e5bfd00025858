#pragma once

#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "gpu/tiles/inverted_blocks.cuh"
#include "gpu/tiles/tile_sizes.cuh"
#include "gpu/tuning/block_jacobi_h200.hpp"
#include "precond/block_jacobi/setup/inverse_stores.cuh"

namespace tessera::cuda {

namespace {

/// Gauss-Jordan with implicit partial pivoting of diagonal blocks of at most `Tile` rows or, where
/// Exact, of Tile rows each; 32 / lanes consecutive blocks per warp, one or more rows per lane. The
/// warp gathers the entries from CSR to shared memory (by a search or, if it has full blocks of one
/// size and nothing else, by plain copies), eliminates in registers, and stores through shared
/// memory, where the inverse is symmetrised and its norm computed.
template <class T, int Tile, bool Exact, class Store>
__global__ void __launch_bounds__(32 * setup_shape<T>(Tile, Exact).warps,
                                  setup_shape<T>(Tile, Exact).thread_blocks)
    setup_kernel(CsrView<T> matrix, PackedBlocks<T> blocks, Store store, SetupResults<T> results) {
    constexpr SetupShape shape = setup_shape<T>(Tile, Exact);
    using Warp = WarpBlocks<T, Tile, shape.lanes, Exact>;
    extern __shared__ __align__(16) unsigned char setup_memory[];
    const Warp shared(setup_memory + threadIdx.x / 32 * Warp::bytes);
    const int group = Warp::block_of(int(threadIdx.x % 32) / shape.lanes);
    const unsigned first_block =
        (blockIdx.x * unsigned(shape.warps) + threadIdx.x / 32) * unsigned(Warp::blocks);
    begin_dependent();
    if (first_block >= unsigned(blocks.count)) return;
    const int block_count = min(Warp::blocks, blocks.count - Index(first_block));

    int n = Tile;
    if constexpr (Exact) {
        extract_blocks(matrix, Index(first_block) * Tile, block_count, shared);
    } else {
        const int lane = int(threadIdx.x % 32);
        const Index start = blocks.block_offsets[first_block + unsigned(min(lane, block_count))];
        extract_blocks(matrix, start, shared);
        n = __shfl_sync(full_warp, start, group + 1) - __shfl_sync(full_warp, start, group);
    }
    __syncwarp();
    // Groups without a block invert nothing or, where Exact, the last block redundantly.
    const T* const source =
        shared.value + (Exact ? min(group, block_count - 1) : group) * Warp::block_values;
    T a[Warp::lane_rows][Tile];
    load_block<Warp>(source, a);
    const BlockProperties<T> block = examine_block<Warp>(source, a);
    const int info = invert_blocks(a, shared, group, n, Exact ? Tile : lanes_max(n),
                                   [&] { load_block<Warp>(source, a); });
    const bool has_block = group < block_count;
    const Index b = Index(first_block) + (has_block ? group : 0);
    const Offset entry = Exact ? Offset(b) * (Tile * Tile) : blocks.entry_offsets[b];
    constexpr bool unrolled = !Exact && !Store::reduced;
    const auto write = [&](bool want_largest) {
        return write_block<Warp, unrolled>(shared.value + group * Warp::block_values,
                                           has_block ? n : 0, block.symmetric, want_largest,
                                           [&](auto&& f) { store(b, entry, n, f); });
    };
    // Two branches where Exact, so that one is compiled without the search for the largest value.
    const InverseProperties<T> inverse = !Exact               ? write(store.want_largest)
                                         : store.want_largest ? write(true)
                                                              : write(false);
    if (has_block && threadIdx.x % shape.lanes == 0) {
        if (inverse.finite) store.report_overflow(b, inverse.largest);
        report_inverse(results, b, n, info, block, inverse);
    }
}

}  // namespace

template <class T, bool Exact, bool Reduced>
void setup_fused(const Context& context, const SetupJob<T>& job) {
    with_tile<4>(job.blocks.largest, [&](auto tile) {
        constexpr int width = decltype(tile)::value;
        constexpr SetupShape shape = setup_shape<T>(width, Exact);
        if constexpr (shape.lanes > 0) {
            using Warp = WarpBlocks<T, width, shape.lanes, Exact>;
            with_store<Reduced>(job, [&](auto store) {
                launch_dependent(setup_kernel<T, width, Exact, decltype(store)>,
                                 blocks_for(job.blocks.count, shape.warps * Warp::blocks),
                                 32 * shape.warps, shape.warps * Warp::bytes, stream_of(context),
                                 job.matrix, job.blocks, store, job.results);
            });
        }
    });
}

}  // namespace tessera::cuda
