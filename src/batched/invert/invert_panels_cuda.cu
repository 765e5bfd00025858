#include <limits>

#include "batched/invert/kernels.hpp"
#include "gpu/batch_view.cuh"
#include "gpu/launch.cuh"
#include "gpu/tiles/elimination/gauss_jordan_panels.cuh"
#include "gpu/tiles/staging/warp_staging.cuh"
#include "gpu/tiles/tile_sizes.cuh"
#include "gpu/tuning/batched_h200.hpp"

/// Inversion of FP64 matrices of 25..32 rows on tensor cores, one per warp.
namespace tessera::batched::cuda {

using namespace tessera::cuda;

namespace {

/// Shared memory of a warp: first the matrix, then panels, then D (see PanelTile::invert).
template <int n>
struct alignas(16) PanelStage {
    static constexpr int pitch = 36;  ///< Pitch of columns; no bank conflicts within a tile.
    /// The given matrix: columns of odd length are adjacent, with few bank conflicts.
    static constexpr LineStage given =
        n % 2 == 0 ? LineStage{pitch, n* pitch, n / 2} : LineStage{n, n* n, 0};
    union {
        double values[n * pitch];
        PanelMemory panels;
    };
    int offsets[32];  ///< Offsets of the columns of D in `values`, by the rows of their pivots.
    double norm;
    unsigned long long address;
};

/// Loads a matrix, zeros outside.
template <int n>
__device__ __forceinline__ void load_tile(PanelTile<n>& tile, const InvertJob<double>& job,
                                          const WarpMatrices& matrix, PanelStage<n>& stage) {
    constexpr LineStage given = PanelStage<n>::given;
    load_matrices(job.a, matrix, given, stage.values, job.a.layout == Layout::row_major);
    wait_for_copies();
    const int q = int(threadIdx.x) % 32 / 4;
#pragma unroll
    for (int t = 0; t < PanelTile<n>::tiles; ++t) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            const int column = PanelTile<n>::column(t, int(threadIdx.x) % 4, e);
#pragma unroll
            for (int u = 0; u < PanelTile<n>::tiles; ++u) {
                const int row = 8 * u + q;
                const bool inside = row < n && column < n;
                tile.c[u][t][e] = inside ? stage.values[column * given.pitch + row] : 0.0;
            }
        }
    }
    __syncwarp();
}

/// max_i sum_j |a_ij| of a tile.
template <int n>
__device__ __forceinline__ double row_sum_norm(const PanelTile<n>& tile) {
    double sums[4] = {};
#pragma unroll
    for (int u = 0; u < 4; ++u) {
#pragma unroll
        for (int t = 0; t < PanelTile<n>::tiles; ++t) {
            sums[u] += fabs(tile.c[u][t][0]) + fabs(tile.c[u][t][1]);
        }
    }
    // Transposing reduction over the four lanes of a row: each keeps half of the sums per step.
    const bool odd = threadIdx.x % 2 == 1;
#pragma unroll
    for (int u = 0; u < 4; u += 2) {
        const double sent = odd ? sums[u] : sums[u + 1];
        sums[u] = (odd ? sums[u + 1] : sums[u]) + __shfl_xor_sync(full_warp, sent, 1);
    }
    const bool upper = threadIdx.x % 4 >= 2;
    const double sent = upper ? sums[0] : sums[2];
    const double sum = (upper ? sums[2] : sums[0]) + __shfl_xor_sync(full_warp, sent, 2);
    return lanes_max_magnitude(sum);
}

/// Stores D to shared memory and adds its entries 1.
template <int n>
__device__ __forceinline__ void store_d(const PanelTile<n>& tile, const PanelPivots& pivots,
                                        PanelStage<n>& stage) {
    const int lane = int(threadIdx.x) % 32;
#pragma unroll
    for (int t = 0; t < PanelTile<n>::tiles; ++t) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            const int column = PanelTile<n>::column(PanelTile<n>::rotated_tile(t), lane % 4, e);
            double* const to = stage.values + column * stage.pitch + lane / 4;
#pragma unroll
            for (int u = 0; u < PanelTile<n>::tiles; ++u) {
                if (column < n) to[8 * u] = tile.c[u][t][e];
            }
        }
    }
    stage.offsets[lane] = pivots.column * stage.pitch;
    __syncwarp();
    if (lane < n) stage.values[lane * stage.pitch + pivots.row] += 1.0;
    __syncwarp();
}

/// Calls store(j, element j) for row `lane` of the inverse; returns the sum of magnitudes of the
/// row.
template <int n, class Store>
__device__ __forceinline__ double for_inverse_row(const PanelStage<n>& stage,
                                                  const PanelPivots& pivots, Store&& store) {
    const double* const d = stage.values + pivots.row;
    const double reciprocal = __shfl_sync(full_warp, pivots.reciprocal, pivots.row);
    double sum = 0;
#pragma unroll
    for (int j = 0; j < n; j += 4) {
        const int4 four = *reinterpret_cast<const int4*>(stage.offsets + j);
        const int of_column[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int i = 0; i < 4 && i < n - j; ++i) {
            const double value = d[of_column[i]] * reciprocal;
            sum += fabs(value);
            store(j + i, value);
        }
    }
    return int(threadIdx.x) % 32 < n ? sum : 0.0;
}

/// Blocked Gauss-Jordan elimination with implicit partial pivoting in FP64; one matrix per warp in
/// 8 x 8 tensor-core tiles. Panels of four columns are eliminated with one row per lane, the other
/// columns updated by mma.m16n8k4.
template <int n>
__global__ void __launch_bounds__(32 * panel_warps, panel_blocks)
    invert_panels_kernel(const __grid_constant__ InvertJob<double> job, Index first, Index count,
                         bool first_in_chain) {
    extern __shared__ __align__(16) unsigned char panels_memory[];
    PanelStage<n>& stage = reinterpret_cast<PanelStage<n>*>(panels_memory)[threadIdx.x / 32];
    const int lane = int(threadIdx.x) % 32;
    if (begin_in_chain(first_in_chain)) return;
    const auto matrix_here = [&] {
        return matrices_of_warp<1, panel_warps>(job.order, first, count, n, &stage.address);
    };
    PanelTile<n> tile;
    {
        const WarpMatrices matrix = matrix_here();
        if (matrix.count == 0) return;
        load_tile(tile, job, matrix, stage);
    }
    if (job.results.reciprocal_condition != nullptr) {
        const double norm = row_sum_norm(tile);
        if (lane == 0) stage.norm = norm;
    }
    PanelPivots pivots = tile.template invert<false>(stage.panels);
    if (pivots.info != 0) {
        load_tile(tile, job, matrix_here(), stage);
        pivots = tile.template invert<true>(stage.panels);
    }
    store_d(tile, pivots, stage);

    const Offset b = matrix_here().member(0);
    const StridedMatrix<double> x(job.x, b, n);
    double* const to = x.start + lane * x.row_stride;
    double sum;
    if (!job.store) {
        sum = for_inverse_row(stage, pivots, [](int, double) {});
    } else if (x.row_stride == 1 && x.column_stride == n) {
        sum = for_inverse_row(stage, pivots, [&](int j, double value) {
            if (lane < n) to[j * n] = value;
        });
    } else {
        sum = for_inverse_row(stage, pivots, [&](int j, double value) {
            if (lane < n) to[j * x.column_stride] = value;
        });
    }
    int info = pivots.info;
    if (info == 0 && __any_sync(full_warp, !isfinite(sum))) {
        bool finite = true;  // The sum may overflow although all elements are finite.
        for_inverse_row(stage, pivots,
                        [&](int, double value) { finite = finite && isfinite(value); });
        if (__any_sync(full_warp, !finite && lane < n)) info = n;
    }
    if (info != 0 && job.store && lane < n) {
        for (int j = 0; j < n; ++j)
            to[j * x.column_stride] = std::numeric_limits<double>::quiet_NaN();
    }
    const double inverse_norm = lanes_max_magnitude(sum);
    if (lane == 0) write_results(job.results, b, info, stage.norm, inverse_norm);
}

}  // namespace

void invert_panels(tessera::cuda::LaunchChain& chain, const InvertJob<double>& job) {
    for_compiled_sizes<25, 32>([&](auto size) {
        constexpr int n = decltype(size)::value;
        if (const Index count = job.count(n); count > 0) {
            chain.launch(invert_panels_kernel<n>, blocks_for(count, panel_warps), 32 * panel_warps,
                         panel_warps * int(sizeof(PanelStage<n>)), job, job.first(n), count);
        }
    });
}

}  // namespace tessera::batched::cuda
