#pragma once

#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "gpu/tiles/fixed_size_blocks.cuh"
#include "gpu/tiles/tile_sizes.cuh"
#include "gpu/tuning/block_jacobi_h200.hpp"
#include "precond/block_jacobi/setup/inverse_stores.cuh"

namespace tessera::cuda {

namespace {

/// Gauss-Jordan with implicit partial pivoting of diagonal blocks that all have n rows, which the
/// compiler knows. As setup_any_size_kernel, but full blocks are copied without a search, and
/// values are stored several adjacent rows at once.
template <class T, int n, class Store>
__global__ void __launch_bounds__(32 * fixed_size_shape<T>(n).warps,
                                  fixed_size_shape<T>(n).thread_blocks)
    setup_fixed_size_kernel(CsrView<T> matrix, Index count, Store store, SetupResults<T> results) {
    constexpr SetupShape shape = fixed_size_shape<T>(n);
    constexpr int lanes = shape.lanes;
    using Warp = FixedSizeBlocks<T, n, lanes>;
    extern __shared__ __align__(16) unsigned char setup_memory[];
    const Warp shared(setup_memory + threadIdx.x / 32 * Warp::bytes);
    const int group = Warp::block_of(int(threadIdx.x % 32) / lanes);
    const Index first_block =
        (Index(blockIdx.x) * shape.warps + Index(threadIdx.x / 32)) * Warp::blocks;
    begin_dependent();
    if (first_block >= count) return;
    const int here = min(Warp::blocks, count - first_block);

    const bool full = copy_full_blocks(matrix, first_block * n, shared);
    if (!full) extract_fixed_size_blocks(matrix, first_block * n, here, shared);
    __syncwarp();
    // Groups without a block invert the last one once more.
    const T* const given = shared.value + min(group, here - 1) * Warp::block_values;
    T a[n / lanes][n];
    take_fixed_size_block<T, n, lanes>(given, a);
    const BlockFacts<T> block = examine_fixed_size_block<T, n, lanes>(given, a);
    T* const inverse = shared.value + group * Warp::block_values;
    const int info = invert_fixed_size_blocks<lanes>(
        a, shared, group, [&] { take_fixed_size_block<T, n, lanes>(given, a); });
    const bool mine = group < here;
    const Index b = first_block + (mine ? group : 0);
    const auto output = [&](auto&& f) { store(b, Offset(b) * (n * n), n, f); };
    const InverseFacts<T> facts =
        store.want_largest
            ? write_fixed_size_block<n, lanes, true>(inverse, mine ? n : 0, block.symmetric, output)
            : write_fixed_size_block<n, lanes, false>(inverse, mine ? n : 0, block.symmetric,
                                                      output);
    if (mine && threadIdx.x % lanes == 0) {
        if (facts.finite) store.report_overflow(b, facts.largest);
        report_inverse(results, b, n, info, block, facts);
    }
}

/// Launches the kernel for `largest` rows, if that is n or more and there is one.
template <class T, bool Reduced, int n = 4>
bool launch_fixed_size(const Context& context, const SetupJob<T>& job) {
    if constexpr (n > 32) {
        return false;
    } else {
        constexpr SetupShape shape = fixed_size_shape<T>(n);
        if constexpr (tile_compiled(n) && shape.lanes > 0) {
            if (job.blocks.largest == n) {
                using Warp = FixedSizeBlocks<T, n, shape.lanes>;
                with_store<Reduced>(job, [&](auto store) {
                    launch_dependent(setup_fixed_size_kernel<T, n, decltype(store)>,
                                     blocks_for(job.blocks.count, shape.warps * Warp::blocks),
                                     32 * shape.warps, shape.warps * Warp::bytes,
                                     stream_of(context), job.matrix, job.blocks.count, store,
                                     job.results);
                });
                return true;
            }
        }
        return launch_fixed_size<T, Reduced, n + 4>(context, job);
    }
}

}  // namespace

template <class T, bool Reduced>
bool setup_fixed_size(const Context& context, const SetupJob<T>& job) {
    return launch_fixed_size<T, Reduced>(context, job);
}

}  // namespace tessera::cuda
