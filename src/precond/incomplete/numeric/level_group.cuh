#pragma once

#include "gpu/tiles/factor/staged_factors.cuh"
#include "gpu/tuning/batched_h200.hpp"
#include "precond/incomplete/numeric/rows_ldlt.cuh"
#include "precond/incomplete/numeric/schur.cuh"
#include "precond/incomplete/numeric/warp_ldlt.cuh"

namespace tessera::incomplete::cuda {

using batched::Factorisation;
using batched::Pivoting;

/// Threads of the thread block, and the shared memory of each of its warps in bytes.
template <class T, int k>
struct LevelGroupShape {
    static constexpr int threads = level_group_threads<T>(k);
    static constexpr int warps = threads / 32;
    static constexpr int lanes = BlockTile<T, k>::lanes;
    static constexpr int teams = 32 / lanes;  ///< Teams per warp; each has a block of its own.
    static constexpr int block_bytes = (teams * k * k * int(sizeof(T)) + 15) / 16 * 16;
    static constexpr int pitch = tessera::cuda::factor_pitch(k);
    static constexpr int matrix_bytes = (pitch * k * int(sizeof(T)) + 15) / 16 * 16;
    static constexpr int arrays_bytes = 32 * (4 * int(sizeof(T)) + int(sizeof(int)));
    static constexpr int bytes = block_bytes + 2 * matrix_bytes + arrays_bytes;
};

/// Shared memory of a warp: one block per team, B_i overwritten by its factors, the factors in
/// pivot order, and arrays of 32 elements.
template <class T, int k>
struct LevelGroupMemory {
    using Shape = LevelGroupShape<T, k>;
    T* blocks;
    T* ordered;
    tessera::cuda::TeamMemory<T> team;

    __device__ __forceinline__ explicit LevelGroupMemory(unsigned char* memory) {
        blocks = reinterpret_cast<T*>(memory);
        team.f = reinterpret_cast<T*>(memory + Shape::block_bytes);
        team.pitch = Shape::pitch;
        ordered = reinterpret_cast<T*>(memory + Shape::block_bytes + Shape::matrix_bytes);
        team.stage = reinterpret_cast<T*>(memory + Shape::block_bytes + 2 * Shape::matrix_bytes);
        team.stage_two = team.stage + 32;
        team.raw = team.stage + 64;
        team.raw_e21 = team.stage + 96;
        team.rows = team.columns = reinterpret_cast<int*>(team.stage + 128);
    }
};

/// The static pivot threshold tau of block row i.
template <class T>
__device__ __forceinline__ T threshold_of(const LevelFactor<T>& factor, Offset i) {
    const T tau = factor.thresholds[i];
    return tau > T(0) ? tau : T(0);
}

/// F_i^-1 to `x` and `copy` from the factors in memory.ordered; each team of a warp solves for some
/// columns of the identity.
template <int k, class T>
__device__ __forceinline__ void invert_diagonal_block(const LevelGroupMemory<T, k>& memory, T* x,
                                                      T* copy) {
    namespace dense = tessera::cuda;
    constexpr int lanes = k < 4 ? 4 : k;
    constexpr int teams = 32 / lanes;
    constexpr int columns_at_once = k <= teams ? 1 : std::min(k / teams, dense::rhs_per_pass);
    using Team = WarpTeam<lanes>;
    const int team_index = int(threadIdx.x) % 32 / lanes;
    const Team team;
    dense::TeamMemory<T> own_memory = memory.team;
    own_memory.f = memory.ordered;
    own_memory.stage += team_index * lanes;
    const dense::StagedFactors<Factorisation::ldlt, false, T, Team> factors(team, own_memory, k);
    const bool in_block = team.lane() < k;
    const int pivot_row = in_block ? own_memory.rows[team.lane()] : 0;
#pragma unroll 1
    for (int first_column = 0; first_column < k;  // All teams take part in the shuffles.
         first_column += teams * columns_at_once) {
        dense::inverse_columns<Factorisation::ldlt, columns_at_once>(
            factors, in_block, pivot_row, pivot_row, k, first_column + team_index * columns_at_once,
            [&](int row, int column, T value) {
                x[row + column * k] = value;
                copy[row + column * k] = value;
            });
        team.sync();
    }
}

/// Rows of a block in the workspace that is faster for RowsLdlt, as measured on an H200.
template <class T, int k>
using BlockRows = std::conditional_t<sizeof(T) == 8 && (k == 8 || k == 16), SharedRows<T>,
                                     RegisterRows<T, (k < 4 ? 4 : k)>>;

/// LDL^T with complete pivoting of the Schur complement B_i by a warp: F_i in memory.team, its
/// inverse in factor.inverses and memory.blocks.
template <int k, class T>
__device__ __forceinline__ void factor_diagonal_block(const PatternView<T>& a,
                                                      const LevelFactor<T>& factor, Offset i,
                                                      const LevelGroupMemory<T, k>& memory) {
    namespace dense = tessera::cuda;
    using Shape = LevelGroupShape<T, k>;
    using Team = WarpTeam<32>;
    const Team team;
    const int lane = team.lane();
    const auto& own_memory = memory.team;
    schur_complement<true, k>(a, i, lane < Shape::lanes, lane % Shape::lanes,
                              memory.blocks + lane / Shape::lanes * (k * k), factor.v, factor.w);
    const T tau = threshold_of(factor, i);
    if constexpr (k <= 16) {
        dense::WarpLdlt<T, k> matrix([&](int row, int column) {
            return symmetric_mean<k>(memory.blocks, row + column * k);
        });
        matrix.eliminate(own_memory, tau);
    } else {
        for (int e = lane; e < k * k; e += 32) {
            own_memory.at(e % k, e / k) = symmetric_mean<k>(memory.blocks, e);
        }
        __syncwarp();
        BlockRows<T, k> rows(team, k, own_memory.f, own_memory.pitch);
        dense::RowsLdlt::eliminate(team, rows, own_memory, k, tau);
    }
    const bool failed =
        team.any(!dense::pivot_value<Factorisation::ldlt>(own_memory, lane, k, tau).finite);
    for (int e = lane; e < k * k; e += 32) {
        const T value = own_memory.at(own_memory.rows[e % k], own_memory.rows[e / k]);
        memory.ordered[e % k + e / k * own_memory.pitch] =
            failed ? std::numeric_limits<T>::quiet_NaN() : value;
    }
    __syncwarp();
    invert_diagonal_block<k>(memory, factor.inverses + i * (k * k), memory.blocks);
    __syncwarp();
}

/// Writes F_i, its permutation and its results from shared to global memory.
template <int k, class T>
__device__ __forceinline__ void store_diagonal_block(const LevelFactor<T>& factor, Offset i,
                                                     const LevelGroupMemory<T, k>& memory) {
    const WarpTeam<32> team;
    batched::FactorResults<T> results;
    results.perturbed = factor.perturbed;
    results.smallest_pivot = factor.smallest;
    tessera::cuda::write_results<Factorisation::ldlt>(team, memory.team, results, true, i, true, k,
                                                      threshold_of(factor, i));
    const int lane = team.lane();
    if (lane < k) factor.permutations[i * k + lane] = memory.team.rows[lane];
    for (int e = lane; e < k * k; e += 32) {
        factor.factors[i * (k * k) + e] = memory.ordered[e % k + e / k * memory.team.pitch];
    }
    __syncwarp();
}

/// Loads the block of A of an item of a level to shared memory: a diagonal block or, from item
/// `rows` on, an off-diagonal block for each team.
template <int k, class T>
__device__ __forceinline__ void stage_item(const LevelFactor<T>& factor, LevelStart start,
                                           LevelStart end, Offset item, T* staged) {
    using Shape = LevelGroupShape<T, k>;
    const int lane = int(threadIdx.x) % 32;
    const Offset rows = end.row - start.row;
    const Offset block = start.block + (item - rows) * Shape::teams + lane / Shape::lanes;
    const bool diagonal = item < rows;
    stage_block<k, Shape::lanes>(
        diagonal ? factor.factors : factor.w, diagonal ? start.row + item : block,
        diagonal ? lane < Shape::lanes : block < end.block, lane % Shape::lanes, staged);
}

/// Block LDL^T of consecutive small levels by one thread block. A level has two phases with a
/// barrier after each: (1) one warp factors a diagonal block, other warps compute blocks of W;
/// (2) V = W F^-1. If a level has no more items than there are warps, its blocks stay in shared
/// memory between the phases, a warp delays the store of F_i until it gets its next item, and warps
/// that are idle load the blocks of A of the next level.
template <int k, class T>
__global__ void __launch_bounds__(LevelGroupShape<T, k>::threads, 1)
    level_group_kernel(const __grid_constant__ PatternView<T> a,
                       const __grid_constant__ LevelFactor<T> factor, Index first, Index last) {
    extern __shared__ __align__(16) unsigned char shared_memory[];
    using Shape = LevelGroupShape<T, k>;
    begin_dependent();
    const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
    const int team = lane / Shape::lanes, in_team = lane % Shape::lanes;
    const LevelGroupMemory<T, k> memory(shared_memory + warp * Shape::bytes);
    T* const staged = memory.blocks + team * (k * k);
    LevelStart start = factor.levels[first], end = factor.levels[first + 1];
    const auto items_of = [](LevelStart from, LevelStart to) {
        return to.row - from.row + (to.block - from.block + Shape::teams - 1) / Shape::teams;
    };
    int first_warp = 0;       // Warp of item 0 of the level.
    bool is_staged = false;   // This warp has loaded the block of A of its first item.
    Offset pending_row = -1;  // Row whose F_i this warp has not stored yet.
    const auto finish = [&] {
        if (pending_row >= 0) store_diagonal_block<k>(factor, pending_row, memory);
        pending_row = -1;
    };
    for (Index l = first; l < last; ++l) {
        const LevelStart next = factor.levels[l + 1 < last ? l + 2 : last];
        const Offset rows = end.row - start.row, items = items_of(start, end);
        const Offset first_item = (warp - first_warp) & (Shape::warps - 1);
        finish();
        for (Offset item = first_item; item < items; item += Shape::warps) {
            if (!is_staged) stage_item<k>(factor, start, end, item, staged);
            is_staged = false;
            if (item < rows) {
                factor_diagonal_block<k>(a, factor, start.row + item, memory);
                pending_row = start.row + item;
                if (items > Shape::warps) finish();
                continue;
            }
            const Offset block = start.block + (item - rows) * Shape::teams + team;
            const bool active = block < end.block;
            schur_complement<false, k>(a, block, active, in_team, staged, factor.v, factor.w);
            store_block<k, Shape::lanes>(block, active, in_team, staged, factor.w);
            __syncwarp();
        }
        const Offset next_item = (first_item - items) & (Shape::warps - 1);
        if (items + items_of(end, next) <= Shape::warps && next_item < items_of(end, next)) {
            stage_item<k>(factor, end, next, next_item, staged);
            is_staged = true;
        }
        __syncthreads();
        if (items <= Shape::warps) {
            if (first_item >= rows && first_item < items) {
                const Offset block = start.block + (first_item - rows) * Shape::teams + team;
                const bool active = block < end.block;
                const int row = active ? int(a.columns[block] - start.row) : 0;
                const int owner = (row + first_warp) & (Shape::warps - 1);
                divide_block<k>(block, active, in_team, staged, staged,
                                reinterpret_cast<const T*>(shared_memory + owner * Shape::bytes),
                                factor.v);
            }
            first_warp += int(items);
        } else {
            for (Offset base = start.block + warp * Shape::teams; base < end.block;
                 base += Shape::warps * Shape::teams) {
                const Offset block = base + team;
                const bool active = block < end.block;
                const Offset column = active ? a.columns[block] : 0;
                divide_block<k>(block, active, in_team, staged, factor.w + block * (k * k),
                                factor.inverses + column * (k * k), factor.v);
                __syncwarp();
            }
        }
        __syncthreads();
        start = end;
        end = next;
    }
    finish();
}

template <class T>
void factor_levels(const Context& context, const PatternView<T>& a, const LevelFactor<T>& factor,
                   Index first, Index last) {
    with_block_size(a.k, [&](auto size) {
        constexpr int k = decltype(size)::value;
        using Shape = LevelGroupShape<T, k>;
        launch_dependent(&level_group_kernel<k, T>, 1, Shape::threads, Shape::warps * Shape::bytes,
                         stream_of(context), a, factor, first, last);
    });
}

/// See factor_blocks: a team of lanes per block.
template <int k, class T>
__global__ void __launch_bounds__(block_factor_threads)
    factor_blocks_kernel(const __grid_constant__ LevelFactor<T> factor, Offset first, Offset last,
                         int bytes) {
    namespace dense = tessera::cuda;
    constexpr int lanes = k < 4 ? 4 : k;
    using Team = WarpTeam<lanes>;
    extern __shared__ __align__(16) unsigned char shared_memory[];
    begin_dependent();
    const Team team;
    const int number = int(threadIdx.x) / lanes, lane = team.lane();
    const Offset position = first + Offset(blockIdx.x) * (block_factor_threads / lanes) + number;
    const bool active = position < last;
    const Offset i = active ? position : last - 1;
    const auto memory = dense::team_memory<T, Team>(shared_memory + int(threadIdx.x) / 32 * bytes,
                                                    bytes, number % (32 / lanes), k);
    T* const block = factor.factors + i * (k * k);
    BlockRows<T, k> rows(team, block, k, active, k, memory.f, memory.pitch);
    rows.mirror(team, memory.f, memory.pitch);
    const T tau = threshold_of(factor, i);
    dense::RowsLdlt::eliminate(team, rows, memory, k, tau);
    batched::FactorResults<T> results;
    results.perturbed = factor.perturbed;
    results.smallest_pivot = factor.smallest;
    const bool failed =
        dense::write_results<Factorisation::ldlt>(team, memory, results, true, i, active, k, tau);
    if (!active || lane >= k) return;
    factor.permutations[i * k + lane] = memory.rows[lane];
    for (int s = 0; s < k; ++s) {
        const T value = memory.at(memory.rows[lane], memory.rows[s]);
        block[lane + s * k] = failed ? std::numeric_limits<T>::quiet_NaN() : value;
    }
}

template <class T>
void factor_blocks(const Context& context, Index k, const LevelFactor<T>& factor, Index first,
                   Index last) {
    with_block_size(k, [&](auto size) {
        constexpr int rows = decltype(size)::value, lanes = rows < 4 ? 4 : rows;
        constexpr int bytes = tessera::cuda::factor_bytes<T>(rows, lanes);
        launch_dependent(&factor_blocks_kernel<rows, T>,
                         blocks_for(last - first, block_factor_threads / lanes),
                         block_factor_threads, block_factor_threads / 32 * bytes,
                         stream_of(context), factor, Offset(first), Offset(last), bytes);
    });
}

}  // namespace tessera::incomplete::cuda
