#pragma once

#include "gpu/tiles/ldlt_warp.cuh"
#include "gpu/tiles/staged_factors.cuh"
#include "gpu/tuning/batched_h200.hpp"
#include "precond/block_ldlt/numeric/schur.cuh"

namespace tessera::block_ldlt::cuda {

using batched::Factorisation;
using batched::Pivoting;

/// Threads of the thread block of a run, and what its warps have in shared memory.
template <class T, int k>
struct RunShape {
    static constexpr int threads = level_group_threads<T>(k);
    static constexpr int warps = threads / 32;
    static constexpr int lanes = BlockTile<T, k>::lanes;
    static constexpr int teams = 32 / lanes;  ///< Of a warp, that have a block each.
    static constexpr int block_bytes = (teams * k * k * int(sizeof(T)) + 15) / 16 * 16;
    static constexpr int pitch = tessera::cuda::factor_pitch(k);
    static constexpr int matrix_bytes = (pitch * k * int(sizeof(T)) + 15) / 16 * 16;
    static constexpr int arrays_bytes = 32 * (4 * int(sizeof(T)) + int(sizeof(int)));
    static constexpr int bytes = block_bytes + 2 * matrix_bytes + arrays_bytes;
};

/// The memory of a warp: blocks, B_i and its factors in the places of B_i, the factors in the order
/// of the pivots, arrays of 32 elements.
template <class T, int k>
struct RunMemory {
    using Shape = RunShape<T, k>;
    T* blocks;
    T* ordered;
    tessera::cuda::TeamMemory<T> team;

    __device__ __forceinline__ explicit RunMemory(unsigned char* memory) {
        blocks = reinterpret_cast<T*>(memory);
        team.f = reinterpret_cast<T*>(memory + Shape::block_bytes);
        team.pitch = Shape::pitch;
        ordered = reinterpret_cast<T*>(memory + Shape::block_bytes + Shape::matrix_bytes);
        team.stage = reinterpret_cast<T*>(memory + Shape::block_bytes + 2 * Shape::matrix_bytes);
        team.stage_two = team.stage + 32;
        team.raw = team.stage + 64;
        team.raw_pair = team.stage + 96;
        team.rows = team.columns = reinterpret_cast<int*>(team.stage + 128);
    }
};

/// tau of block row i.
template <class T>
__device__ __forceinline__ T threshold_of(const LevelFactor<T>& factor, Offset i) {
    const T tau = factor.thresholds[i];
    return tau > T(0) ? tau : T(0);
}

/// F_i^-1 to `x` and `too` from the factors in memory.ordered, by all teams of a warp.
template <int k, class T>
__device__ __forceinline__ void run_inverse(const RunMemory<T, k>& memory, T* x, T* too) {
    namespace dense = tessera::cuda;
    constexpr int lanes = k < 4 ? 4 : k;
    constexpr int teams = 32 / lanes;
    constexpr int per_pass = k <= teams ? 1 : std::min(k / teams, dense::vectors_per_pass);
    using Team = WarpTeam<lanes>;
    const int number = int(threadIdx.x) % 32 / lanes;
    const Team team;
    dense::TeamMemory<T> mine = memory.team;
    mine.f = memory.ordered;
    mine.stage += number * lanes;
    const dense::StagedFactors<Factorisation::ldlt, false, T, Team> factors(team, mine, k);
    const bool inside = team.lane() < k;
    const int place = inside ? mine.rows[team.lane()] : 0;
#pragma unroll 1
    for (int turn = 0; turn < k; turn += teams * per_pass) {  // For all teams: they shuffle.
        dense::inverse_columns<Factorisation::ldlt, per_pass>(factors, inside, place, place, k,
                                                              turn + number * per_pass,
                                                              [&](int row, int column, T value) {
                                                                  x[row + column * k] = value;
                                                                  too[row + column * k] = value;
                                                              });
        team.sync();
    }
}

/// F_i in memory.team, and its inverse, also in memory.blocks, by a warp.
template <int k, class T>
__device__ __forceinline__ void run_diagonal(const PatternView<T>& a, const LevelFactor<T>& factor,
                                             Offset i, const RunMemory<T, k>& memory) {
    namespace dense = tessera::cuda;
    using Shape = RunShape<T, k>;
    using Method = dense::Ldlt<Pivoting::full>;
    using Team = WarpTeam<32>;
    const Team team;
    const int lane = team.lane();
    const auto& mine = memory.team;
    schur_complement<true, k>(a, i, lane < Shape::lanes, lane % Shape::lanes,
                              memory.blocks + lane / Shape::lanes * (k * k), factor.v, factor.w);
    const T tau = threshold_of(factor, i);
    if constexpr (k <= 16) {
        dense::WarpLdlt<T, k> matrix([&](int row, int column) {
            return symmetric_mean<k>(memory.blocks, row + column * k);
        });
        matrix.eliminate(mine, tau);
    } else {
        constexpr int width = k < 4 ? 4 : k;
        using Rows = std::conditional_t<dense::shared_is_faster<Method, T>(width), SharedRows<T>,
                                        RegisterRows<T, width, Method::ordered>>;
        for (int e = lane; e < k * k; e += 32) {
            mine.at(e % k, e / k) = symmetric_mean<k>(memory.blocks, e);
        }
        __syncwarp();
        Rows rows(team, k, mine.f, mine.pitch);
        Method::eliminate(team, rows, mine, k, tau);
    }
    const bool failed =
        team.any(!dense::pivot_value<Factorisation::ldlt>(mine, lane, k, tau).finite);
    for (int e = lane; e < k * k; e += 32) {
        const T value = mine.at(mine.rows[e % k], mine.rows[e / k]);
        memory.ordered[e % k + e / k * mine.pitch] =
            failed ? std::numeric_limits<T>::quiet_NaN() : value;
    }
    __syncwarp();
    run_inverse<k>(memory, factor.inverses + i * (k * k), memory.blocks);
    __syncwarp();
}

/// F_i with its permutation and its results out of the memory of a warp.
template <int k, class T>
__device__ __forceinline__ void finish_diagonal(const LevelFactor<T>& factor, Offset i,
                                                const RunMemory<T, k>& memory) {
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

/// The entries of A of an item of a level, a block row or, from `rows` on, a block for each team,
/// to the memory of a warp.
template <int k, class T>
__device__ __forceinline__ void stage_item(const PatternView<T>& a, LevelStart start,
                                           LevelStart end, Offset item, T* staged) {
    using Shape = RunShape<T, k>;
    const int lane = int(threadIdx.x) % 32;
    const Offset rows = end.row - start.row;
    const Offset block = start.block + (item - rows) * Shape::teams + lane / Shape::lanes;
    const bool diagonal = item < rows;
    stage_entries<k, Shape::lanes>(a, diagonal ? a.blocks + start.row + item : block,
                                   diagonal ? lane < Shape::lanes : block < end.block,
                                   lane % Shape::lanes, staged);
}

/// A level: the diagonal blocks, a warp each, and at the same time the blocks of W; then those of
/// V. Where there is one for each warp at most, all is in shared memory until V is there, and a
/// warp writes F_i when the next level is under way, or when it has a block of that one itself; it
/// starts with other warps, which have the entries of A by then, where there are enough.
template <int k, class T>
__global__ void __launch_bounds__(RunShape<T, k>::threads, 1)
    run_kernel(const __grid_constant__ PatternView<T> a,
               const __grid_constant__ LevelFactor<T> factor, Index first, Index last) {
    extern __shared__ __align__(16) unsigned char run_memory[];
    using Shape = RunShape<T, k>;
    begin_dependent();
    const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
    const int team = lane / Shape::lanes, in_team = lane % Shape::lanes;
    const RunMemory<T, k> memory(run_memory + warp * Shape::bytes);
    T* const staged = memory.blocks + team * (k * k);
    LevelStart start = factor.levels[first], end = factor.levels[first + 1];
    const auto items_of = [](LevelStart from, LevelStart to) {
        return to.row - from.row + (to.block - from.block + Shape::teams - 1) / Shape::teams;
    };
    int turn = 0;         // The warp that begins a level.
    bool ready = false;   // Whether this warp has the entries of A of its first item.
    Offset written = -1;  // The block row whose F_i this warp has yet to write.
    const auto finish = [&] {
        if (written >= 0) finish_diagonal<k>(factor, written, memory);
        written = -1;
    };
    for (Index l = first; l < last; ++l) {
        const LevelStart next = factor.levels[l + 1 < last ? l + 2 : last];
        const Offset rows = end.row - start.row, items = items_of(start, end);
        const Offset mine = (warp - turn) & (Shape::warps - 1);
        finish();
        for (Offset item = mine; item < items; item += Shape::warps) {
            if (!ready) stage_item<k>(a, start, end, item, staged);
            ready = false;
            if (item < rows) {
                run_diagonal<k>(a, factor, start.row + item, memory);
                written = start.row + item;
                if (items > Shape::warps) finish();
                continue;
            }
            const Offset block = start.block + (item - rows) * Shape::teams + team;
            const bool active = block < end.block;
            schur_complement<false, k>(a, block, active, in_team, staged, factor.v, factor.w);
            store_block<k, Shape::lanes>(block, active, in_team, staged, factor.w);
            __syncwarp();
        }
        const Offset coming = (mine - items) & (Shape::warps - 1);
        if (items + items_of(end, next) <= Shape::warps && coming < items_of(end, next)) {
            stage_item<k>(a, end, next, coming, staged);
            ready = true;
        }
        __syncthreads();
        if (items <= Shape::warps) {
            if (mine >= rows && mine < items) {
                const Offset block = start.block + (mine - rows) * Shape::teams + team;
                const bool active = block < end.block;
                const int row = active ? int(a.columns[block] - start.row) : 0;
                const int holder = (row + turn) & (Shape::warps - 1);
                divide_block<k>(block, active, in_team, staged, staged,
                                reinterpret_cast<const T*>(run_memory + holder * Shape::bytes),
                                factor.v);
            }
            turn += int(items);
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
        using Shape = RunShape<T, k>;
        launch_dependent(&run_kernel<k, T>, 1, Shape::threads, Shape::warps * Shape::bytes,
                         stream_of(context), a, factor, first, last);
    });
}

}  // namespace tessera::block_ldlt::cuda
