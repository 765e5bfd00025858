#pragma once

#include <type_traits>

#include "batched/solve/kernels.hpp"
#include "batched/solve/solve_checked.cuh"
#include "gpu/launch.cuh"
#include "gpu/tiles/elimination/gauss.cuh"
#include "gpu/tiles/staging/packs.cuh"
#include "gpu/tiles/staging/warp_staging.cuh"
#include "gpu/tiles/tile_sizes.cuh"
#include "gpu/tuning/solve_h200.hpp"

/// Systems of 1..32 equations: elimination and substitution in one kernel, which reads matrices and
/// right-hand sides once and stores solutions alone.
namespace tessera::batched::cuda {

using namespace tessera::cuda;

namespace {

/// Bytes of a warp: addresses of 32 matrices, and the matrices.
template <class T, int n>
constexpr int per_thread_bytes = 256 + thread_stage<T, n>.bytes(32, int(sizeof(T)));

/// One system per thread, in registers, see ThreadSystem; a warp stages its matrices in shared
/// memory by cp.async. With pivoting for single vectors.
template <class T, int n, bool pivoting, int warps, int thread_blocks>
__global__ void __launch_bounds__(32 * warps, thread_blocks)
    solve_per_thread_kernel(const __grid_constant__ SystemJob<T> job, Index first, Index all,
                            bool first_in_chain) {
    constexpr LineStage stage = thread_stage<T, n>;
    constexpr int width =
        std::min(pack_bytes(n * int(sizeof(T))), pack_bytes(stage.stride * int(sizeof(T))));
    extern __shared__ __align__(16) unsigned char thread_memory[];
    if (begin_in_chain(first_in_chain)) return;
    unsigned char* const own = thread_memory + int(threadIdx.x) / 32 * per_thread_bytes<T, n>;
    T* const staged = reinterpret_cast<T*>(own + 256);
    const int lane = int(threadIdx.x) % 32;
    const WarpMatrices matrices = matrices_of_warp<32, warps>(job.order, first, all, n, own);
    const int count = matrices.count;
    if (count == 0) return;
    load_matrices(job.a, matrices, stage, staged);
    const int m = min(lane, count - 1);
    const Offset system = matrices.member(m);
    std::conditional_t<pivoting, ThreadSystem<T, n>, DefiniteTile<T, 1, n>> here;
    const auto load_vector = [&](int v) {
        const T* const from = start_of(job.b, system) + v * job.b.leading_dimension;
        if (reinterpret_cast<unsigned long long>(from) % width == 0) {
            load_packs<width, n>(from, here.y);
        } else {
#pragma unroll
            for (int i = 0; i < n; ++i) here.y[i] = from[i];
        }
    };
    if (pivoting) load_vector(0);
    wait_for_copies();

    T* const mine = staged + m * stage.stride;
    unsigned largest = 0;
    const bool by_rows = pivoting && job.a.layout == Layout::row_major;
    const auto load = [&](auto&& entry) {
#pragma unroll
        for (int c = 0; c < n; ++c) {
            T line[n];
            load_packs<width, n>(mine + c * n, line);
#pragma unroll
            for (int r = pivoting ? 0 : c; r < n; ++r) {
                entry(r, c) = line[r];
                if (pivoting || r == c) largest = max(largest, high_word(line[r]) & 0x7fffffffu);
            }
        }
    };
    if (by_rows) {
        load([&](int r, int c) -> T& { return here.a[c][r]; });
    } else {
        load([&](int r, int c) -> T& { return here.a[r][c]; });
    }
    const PivotRange range = here.eliminate(n, 0);
    const bool failed = lane < count && !range.fast;
    const unsigned skipped = __ballot_sync(full_warp, failed);
    const bool run = job.order == nullptr && job.x.starts == nullptr && job.x.offsets == nullptr &&
                     job.x.stride == n;
    for (int v = 0; v < (pivoting ? 1 : job.b.vectors); ++v) {
        if (!pivoting) load_vector(v);
        here.solve();
        __syncwarp();  // The matrices, or the last solutions, have been read.
        if (lane < count) store_packs<width, n>(mine, here.y);
        __syncwarp();
        const Offset shift = v * job.x.leading_dimension;
        if (run) {
            T* const to = job.x.values + matrices.first * n + shift;
#pragma unroll
            for (int c = 0; c < n; ++c) {
                const int e = c * 32 + lane;
                if (e / n < count && (skipped >> (e / n) & 1) == 0) {
                    to[e] = staged[e / n * stage.stride + e % n];
                }
            }
            continue;
        }
#pragma unroll 1
        for (int e = lane; e < count * n; e += 32) {
            if ((skipped >> (e / n) & 1) != 0) continue;
            T* const to = start_of(job.x, matrices.member(e / n)) + shift;
            to[e % n] = staged[e / n * stage.stride + e % n];
        }
    }
    if (lane < count && job.info != nullptr && !failed) {
        job.info[system] = range.near_singular<T>(n, largest) ? n + 1 : 0;
    }
    solve_failed<pivoting, 1>(job, failed, matrices);
}

template <class T, int n, bool pivoting>
void launch_solve_per_thread(tessera::cuda::LaunchChain& chain, const SystemJob<T>& job) {
    const Index count = job.count(n);
    if (count == 0) return;
    constexpr int bytes = per_thread_bytes<T, n>;
    constexpr int warps = bytes > 16384 ? 1 : 4;
    chain.launch(solve_per_thread_kernel<T, n, pivoting, warps,
                                         thread_system_blocks<T>(n, pivoting) * 4 / warps>,
                 blocks_for(count, 32 * warps), 32 * warps, warps * bytes, job, job.first(n),
                 count);
}

/// Rows of a general matrix; those, and columns, from n on repeat the last ones. Returns the high
/// word of the largest magnitude.
template <int Lanes, class T, int Rows, int Tile, int Vectors>
__device__ __forceinline__ unsigned load_system(GaussTile<T, Lanes, Rows, Tile, Vectors>& tile,
                                                const T* matrix, int n, int pitch, int lane,
                                                bool by_rows) {
    auto& a = tile.a;
    unsigned largest = 0;
    if (by_rows) {
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            const T* const row = matrix + min(lane + Lanes * i, n - 1) * pitch;
#pragma unroll
            for (int j = 0; j < Tile; ++j) a[i][j] = row[min(j, n - 1)];
        }
    } else {
#pragma unroll
        for (int j = 0; j < Tile; ++j) {
            const T* const column = matrix + min(j, n - 1) * pitch;
#pragma unroll
            for (int i = 0; i < Rows; ++i) a[i][j] = column[min(lane + Lanes * i, n - 1)];
        }
    }
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
#pragma unroll
        for (int j = 0; j < Tile; ++j) largest = max(largest, high_word(a[i][j]) & 0x7fffffffu);
    }
    return lanes_max<Lanes>(largest);
}
/// Rows of the lower triangle of a symmetric matrix; from n on those of the identity.
template <int Lanes, class T, int Tile>
__device__ __forceinline__ unsigned load_system(DefiniteTile<T, Lanes, Tile>& tile, const T* matrix,
                                                int n, int pitch, int lane, bool) {
    unsigned largest = 0;
#pragma unroll
    for (int i = 0; i < tile.rows; ++i) {
        const int row = lane + Lanes * i;
        const T* const from = matrix + min(row, n - 1);
#pragma unroll
        for (int j = 0; j < tile.columns(i); ++j) {
            const T value = from[min(j, n - 1) * pitch];
            tile.a[i][j] = row < n ? value : T(row == j);
        }
        if (row < n) largest = max(largest, high_word(from[row * pitch]) & 0x7fffffffu);
    }
    return lanes_max<Lanes>(largest);
}

/// Shared memory of a warp but the staged matrices: the tables of steps, and addresses.
template <class T, int Tile, int lanes>
constexpr int solve_table_bytes = (32 / lanes * (Tile + 1) * int(sizeof(PivotStep<T>)) + 15) / 16 *
                                  16;
template <class T, int Tile, int lanes>
constexpr int solve_fixed_bytes = solve_table_bytes<T, Tile, lanes> + (32 / lanes + 1) / 2 * 16;

/// One system per `lanes` lanes, see GaussTile; matrices are staged in shared memory by cp.async.
template <class T, int Tile, int lanes, int rows, int thread_blocks, bool pivoting, int Vectors,
          bool FixedSize>
__global__ void __launch_bounds__(32 * system_warps, thread_blocks)
    solve_small_kernel(const __grid_constant__ SystemJob<T> job, int size, Index first, Index all,
                       const LineStage given_stage, bool first_in_chain) {
    constexpr LineStage fixed_stage = LineStage::of(Tile, int(sizeof(T)), lanes, true);
    const LineStage stage = FixedSize ? fixed_stage : given_stage;
    const int stage_bytes = stage.bytes(32 / lanes, int(sizeof(T)));
    extern __shared__ __align__(16) unsigned char small_memory[];
    unsigned char* const memory =
        small_memory + int(threadIdx.x) / 32 * (stage_bytes + solve_fixed_bytes<T, Tile, lanes>);
    T* const staged = reinterpret_cast<T*>(memory);
    const int group = int(threadIdx.x) % 32 / lanes;
    const int lane = int(threadIdx.x) % lanes;
    PivotStep<T>* const table =
        reinterpret_cast<PivotStep<T>*>(memory + stage_bytes) + group * (Tile + 1);
    if (begin_in_chain(first_in_chain)) return;
    const int n = FixedSize ? Tile : size;
    const WarpMatrices matrices = matrices_of_warp<32 / lanes, system_warps>(
        job.order, first, all, n, memory + stage_bytes + solve_table_bytes<T, Tile, lanes>);
    const int count = matrices.count;
    if (count == 0) return;
    load_matrices(job.a, matrices, stage, staged);
    const int m = min(group, count - 1);
    const Offset system = matrices.member(m);
    std::conditional_t<pivoting, GaussTile<T, lanes, rows, Tile, Vectors>,
                       DefiniteTile<T, lanes, Tile>>
        tile;
    const auto element = [&](int i, int v) -> T& {
        if constexpr (pivoting) {
            return tile.y[i][v];
        } else {
            return tile.y[i];
        }
    };
    const auto for_elements = [&](int v0, auto&& visit) {
#pragma unroll
        for (int i = 0; i < rows; ++i) {
#pragma unroll
            for (int v = 0; v < Vectors; ++v) {
                const int row = lane + lanes * i;
                visit(element(i, v), row, v0 + v, row < n && v0 + v < job.b.vectors);
            }
        }
    };
    const auto load_vectors = [&](int v0) {
        for_elements(v0, [&](T& y, int row, int v, bool inside) {
            y = inside ? start_of(job.b, system)[row + v * job.b.leading_dimension] : T(0);
        });
    };
    if (pivoting) load_vectors(0);
    wait_for_copies();
    const unsigned largest = load_system<lanes>(tile, staged + m * stage.stride, n, stage.pitch,
                                                lane, job.a.layout == Layout::row_major);
    PivotRange range;
    if constexpr (pivoting) {
        range = tile.eliminate(n, lane, address_in_shared(table));
        __syncwarp();
    } else {
        range = tile.eliminate(n, lane);
    }
    const bool good = range.fast && group < count;
    for (int v0 = 0; v0 < job.b.vectors; v0 += Vectors) {
        if (!pivoting || v0 > 0) load_vectors(v0);
        if constexpr (pivoting) {
            tile.solve(n, lane, table);
        } else {
            tile.solve();
        }
        for_elements(v0, [&](T& y, int row, int v, bool inside) {
            if (good && inside) start_of(job.x, system)[row + v * job.x.leading_dimension] = y;
        });
        if (pivoting && Vectors == 1) break;
    }
    if (good && lane == 0 && job.info != nullptr) {
        job.info[system] = range.near_singular<T>(n, largest) ? n + 1 : 0;
    }
    solve_failed<pivoting, lanes>(job, group < count && !range.fast, matrices);
}

/// The `count` systems of n equations from `first` on in the order.
template <class T, int Tile, int lanes, int rows, int thread_blocks, bool pivoting, int Vectors,
          bool FixedSize>
void launch_solve_small(tessera::cuda::LaunchChain& chain, const SystemJob<T>& job, int n) {
    const Index count = job.count(n);
    if (count == 0) return;
    constexpr int matrices = 32 / lanes;
    const LineStage stage = LineStage::of(n, int(sizeof(T)), lanes, true);
    chain.launch(
        solve_small_kernel<T, Tile, lanes, rows, thread_blocks, pivoting, Vectors, FixedSize>,
        blocks_for(count, system_warps * matrices), 32 * system_warps,
        system_warps * (stage.bytes(matrices, int(sizeof(T))) + solve_fixed_bytes<T, Tile, lanes>),
        job, n, job.first(n), count, stage);
}

/// Whether a kernel for this size takes the systems of n equations.
template <class T>
bool has_own_kernel(const SystemJob<T>& job, int n) {
    if (!size_compiled(n)) return false;
    return job.b.vectors == 1 || !job.pivoting();
}

}  // namespace

template <class T, bool pivoting, int First, int Last>
void solve_fixed_size(tessera::cuda::LaunchChain& chain, const SystemJob<T>& job) {
    for_compiled_sizes<First, Last>([&](auto size) {
        constexpr int n = decltype(size)::value;
        if (!has_own_kernel(job, n)) return;
        if constexpr (n <= max_system_per_thread<T>(pivoting)) {
            launch_solve_per_thread<T, n, pivoting>(chain, job);
        } else {
            constexpr SystemShape shape = system_shape<T>(n, pivoting);
            launch_solve_small<T, n, shape.lanes, shape.rows, shape.thread_blocks, pivoting, 1,
                               true>(chain, job, n);
        }
    });
}

template <class T, bool pivoting>
void solve_any_size(tessera::cuda::LaunchChain& chain, const SystemJob<T>& job) {
    for (int n = 32; n >= 1; --n) {
        if (job.count(n) == 0 || has_own_kernel(job, n)) continue;
        with_tile<8>(n, [&](auto tile) {
            constexpr int width = decltype(tile)::value;
            constexpr SystemShape shape = any_system_shape<T>(width, pivoting);
            launch_solve_small<T, width, shape.lanes, shape.rows, shape.thread_blocks, pivoting,
                               pivoting ? 4 : 1, false>(chain, job, n);
        });
    }
}

}  // namespace tessera::batched::cuda
