#pragma once

#include <algorithm>

#include "batched/factor/factor_job.hpp"
#include "gpu/load.cuh"
#include "gpu/staged_batch.cuh"
#include "gpu/tiles/factor_tile.cuh"
#include "gpu/tiles/rotating_rows.cuh"
#include "gpu/tuning/batched_h200.hpp"

/// Launches of the factorisations. Matrices of up to 32 rows are worked on by teams of 4, 8, 16 or
/// 32 lanes, larger ones by a thread block each.
namespace tessera::batched::cuda {

using namespace tessera::cuda;

namespace {

/// Bytes of the memory of the teams of a warp, or of a thread block that is one team, 32 (or all)
/// threads of which take one place each of every array.
template <class T>
constexpr int factor_bytes(int n, int lanes) {
    const int threads = std::max(lanes, 32);
    const int matrices = (threads / lanes) * factor_stride(n, lanes, int(sizeof(T)));
    const int arrays = threads * (4 * int(sizeof(T)) + 2 * int(sizeof(int)));
    return (matrices * int(sizeof(T)) + 15) / 16 * 16 + arrays;
}

/// Memory of team `team` of those that share `bytes`.
template <class T, class Team>
__device__ __forceinline__ TeamMemory<T> team_memory(unsigned char* memory, int bytes, int team,
                                                     int n) {
    constexpr int width = Team::threads;
    constexpr int threads = width < 32 ? 32 : width;
    TeamMemory<T> mine;
    mine.pitch = factor_pitch(n);
    mine.f = reinterpret_cast<T*>(memory) + team * factor_stride(n, width, int(sizeof(T)));
    constexpr int arrays = threads * (4 * int(sizeof(T)) + 2 * int(sizeof(int)));
    T* const values = reinterpret_cast<T*>(memory + bytes - arrays) + team * width;
    mine.stage = values;
    mine.stage_two = values + threads;
    mine.raw = values + 2 * threads;
    mine.raw_pair = values + 3 * threads;
    int* const indices = reinterpret_cast<int*>(memory + bytes - 2 * threads * int(sizeof(int)));
    mine.rows = indices + team * width;
    mine.columns = indices + threads + team * width;
    return mine;
}

/// Results, factors and permutations of the matrix of a team, out of its memory. rotated: whether
/// RotatingRows left it, with its columns in place and the entries of U still to be divided.
template <Factorisation kind, bool rotated, class T, class Team>
__device__ __forceinline__ void finish(const Team& team, const TeamMemory<T>& memory,
                                       const FactorJob<T>& job, bool told, int n, Offset b,
                                       bool here, T tau) {
    const bool failed = tell<kind>(team, memory, job.results, told, b, here, n, tau);
    const int lane = team.lane();
    const bool inside = here && lane < n;
    const int row = inside ? memory.rows[lane] : 0;
    const int* const columns = kind == Factorisation::ldu ? memory.columns : memory.rows;
    const auto& p = job.permutations;
    const Offset start = p.offsets != nullptr ? p.offsets[b] : b * p.stride;
    if (inside && p.rows != nullptr) p.rows[start + lane] = row;
    if (inside && p.columns != nullptr) {
        p.columns[start + lane] = kind == Factorisation::ldu && !rotated ? columns[lane] : lane;
    }
    const Offset line = job.f.sizes != nullptr ? n : job.f.leading_dimension;
    T* to = start_of(job.f, b) + lane;
    if constexpr (rotated) {
        constexpr bool divided = kind == Factorisation::ldu;
        const T* from = memory.f + row;
        const Divisor<T> divisor(divided && inside ? from[lane * memory.pitch] : T(1));
        if (!team.anywhere(failed || !divisor.plain)) {
#pragma unroll 8
            for (int s = 0; s < n; ++s, to += line) {
                const T value = from[s * memory.pitch];
                const T quotient = divided ? divisor.plain_quotient(value) : value;
                store_if(inside, to, s > lane ? quotient : value);
            }
            return;
        }
        for (int s = 0; s < n && inside; ++s, to += line) {
            T value = from[s * memory.pitch];
            if (divided && s > lane) value = divisor.quotient(value);
            *to = failed ? std::numeric_limits<T>::quiet_NaN() : value;
        }
    } else {
#pragma unroll 8
        for (int s = 0; s < n; ++s, to += line) {
            const T value = memory.at(row, columns[s]);
            store_if(inside, to, failed ? std::numeric_limits<T>::quiet_NaN() : value);
        }
    }
}

/// tau of matrix b, whose largest magnitude is `largest`; 0 where there is none.
template <class T>
__device__ __forceinline__ T threshold_of(const FactorOptions<T>& options, Offset b, T largest) {
    T tau = options.threshold;
    if (options.thresholds != nullptr) tau = options.thresholds[b * options.threshold_stride];
    if (options.relative) tau *= largest;
    return tau > T(0) ? tau : T(0);
}

/// Loads, eliminates and stores the matrix of a team.
template <class Method, class T, class Team, class Rows>
__device__ __forceinline__ void factorise(const Team& team, const TeamMemory<T>& memory,
                                          const FactorJob<T>& job, bool told, int n, Offset b,
                                          bool here) {
    const Offset line = job.a.sizes != nullptr ? n : job.a.leading_dimension;
    Rows rows(team, start_of(job.a, b), line, here, n, memory.f, memory.pitch);
    if constexpr (Method::symmetric) rows.mirror(team, memory.f, memory.pitch);
    const T largest = job.options.relative ? team.max_size(rows.largest()) : T(1);
    const T tau = threshold_of(job.options, b, largest);
    Method::eliminate(team, rows, memory, n, tau);
    finish<Method::kind, false>(team, memory, job, told, n, b, here, tau);
}

/// LDU, LL^T or LDL^T by Method; one matrix of up to Lanes rows per Lanes lanes, one row and one
/// column per lane. Rows are in registers or in shared memory; nothing is moved: the pivot row is
/// published in shared memory, factors are permuted on the way out.
template <class Method, class T, int Lanes, class Rows, int blocks>
__global__ void __launch_bounds__(factor_threads, blocks)
    factor_kernel(const __grid_constant__ SizeClasses classes,
                  const __grid_constant__ FactorJob<T> job, bool told, int bytes) {
    extern __shared__ __align__(16) unsigned char factor_memory[];
    begin_dependent();
    constexpr int teams = factor_threads / Lanes;
    const TeamBatch batch = classes.of_block(teams);
    const int team_number = int(threadIdx.x) / Lanes;
    const Offset position = batch.first + team_number;
    const bool here = position < batch.end;
    const Offset b = classes.matrix(here ? position : batch.end - 1);
    const WarpTeam<Lanes> team;
    const auto memory = team_memory<T, WarpTeam<Lanes>>(
        factor_memory + int(threadIdx.x) / 32 * bytes, bytes, team_number % (32 / Lanes), batch.n);
    factorise<Method, T, WarpTeam<Lanes>, Rows>(team, memory, job, told, batch.n, b, here);
}

/// The same for 33..128 rows: one matrix per thread block, one row per thread, in shared memory.
template <class Method, class T>
__global__ void __launch_bounds__(factor_threads, factor_large_blocks)
    factor_large_kernel(const __grid_constant__ SizeClasses classes,
                        const __grid_constant__ FactorJob<T> job, bool told, int bytes) {
    extern __shared__ __align__(16) unsigned char factor_memory[];
    __shared__ unsigned long long scratch[factor_threads / 32];
    begin_dependent();
    using Team = BlockTeam<factor_threads>;
    const TeamBatch batch = classes.of_block(1);
    const Team team(scratch);
    const auto memory = team_memory<T, Team>(factor_memory, bytes, 0, batch.n);
    factorise<Method, T, Team, SharedRows<T>>(team, memory, job, told, batch.n,
                                              classes.matrix(batch.first), true);
}

/// LDU with static or partial pivoting and static LL^T: one matrix per Lanes lanes, Rows rows per
/// lane in rotating registers (see RotatingRows). Outputs are then written with one lane per row,
/// in Rows turns. bytes: shared memory of a turn of a warp.
template <class Method, class T, int Lanes, int Rows, int blocks>
__global__ void __launch_bounds__(factor_threads, blocks)
    factor_rotating_kernel(const __grid_constant__ SizeClasses classes,
                           const __grid_constant__ FactorJob<T> job, bool told, int bytes) {
    extern __shared__ __align__(16) unsigned char factor_memory[];
    begin_dependent();
    using Team = WarpTeam<Lanes>;
    using WideTeam = WarpTeam<Lanes * Rows>;
    constexpr int matrices = 32 / Lanes;  // A warp.
    constexpr int a_turn = 32 / (Lanes * Rows);
    const TeamBatch batch = classes.of_block(factor_threads / 32 * matrices);
    const int n = batch.n;
    const int warp = int(threadIdx.x) / 32;
    const int lane = int(threadIdx.x) % 32;
    unsigned char* const warp_memory = factor_memory + warp * Rows * bytes;
    const auto memory_of = [&](int m) {
        return team_memory<T, WideTeam>(warp_memory + m / a_turn * bytes, bytes, m % a_turn, n);
    };
    const auto matrix_of = [&](int m, bool& here) {
        const Offset position = batch.first + warp * matrices + m;
        here = position < batch.end;
        return classes.matrix(here ? position : batch.end - 1);
    };
    {
        const Team team;
        bool here;
        const Offset b = matrix_of(lane / Lanes, here);
        RotatingRows<T, Lanes, Rows> rows;
        rows.template load<Method::symmetric>(team, start_of(job.a, b),
                                              job.a.sizes != nullptr ? n : job.a.leading_dimension,
                                              here, n);
        const T largest = job.options.relative ? team.max_size(rows.largest()) : T(1);
        const T tau = threshold_of(job.options, b, largest);
        const TeamMemory<T> memory = memory_of(lane / Lanes);
        Method::eliminate(team, rows, memory, n, tau);
        if (team.lane() == 0) memory.raw_pair[0] = tau;  // For the results.
    }
    __syncwarp();
    const WideTeam team;
#pragma unroll 1
    for (int turn = 0; turn < Rows; ++turn) {
        const int m = turn * a_turn + lane / (Lanes * Rows);
        bool here;
        const Offset b = matrix_of(m, here);
        finish<Method::kind, true>(team, memory_of(m), job, told, n, b, here,
                                   memory_of(m).raw_pair[0]);
    }
}

/// The matrices of smallest..largest rows, `matrices` a thread block, by teams of `lanes`.
template <class T>
StagedLaunch factor_launch(const FactorJob<T>& job, int smallest, int largest, int lanes,
                           int matrices) {
    return staged_launch(
        job.a, job.plan, smallest, largest, matrices, [](Index) { return 1; },
        [&](Index n) { return factor_bytes<T>(n, lanes); });
}

/// Whether outputs other than info are requested.
template <class T>
bool is_told(const FactorResults<T>& results) {
    return results.perturbed != nullptr || results.perturbation != nullptr ||
           results.smallest_pivot != nullptr || results.inertia != nullptr ||
           results.log_determinant != nullptr || results.determinant_sign != nullptr;
}

/// The matrices of Width / 2 + 1 .. Width rows, or of 1 .. 4, in shared memory or in registers.
template <class Method, class T, int Width, bool shared = shared_is_faster<Method, T>(Width)>
void factor_small(const Context& context, const FactorJob<T>& job) {
    constexpr int rows = rows_a_lane<Method>(Width);
    const int matrices = factor_threads / Width * (shared ? 1 : rows);
    const StagedLaunch launch =
        factor_launch(job, Width == 4 ? 1 : Width / 2 + 1, Width, Width, matrices);
    if (launch.blocks == 0) return;
    const auto run = [&](auto kernel, int turns) {
        launch_dependent(kernel, launch.blocks, factor_threads,
                         factor_threads / 32 * turns * launch.team_bytes, stream_of(context),
                         launch.classes, job, is_told(job.results), launch.team_bytes);
    };
    if constexpr (shared) {
        run(factor_kernel<Method, T, Width, SharedRows<T>, factor_shared_blocks>, 1);
    } else if constexpr (rows > 1) {
        constexpr int blocks = factor_rotating_blocks<T>(Width);
        run(factor_rotating_kernel<Method, T, Width / rows, rows, blocks>, rows);
    } else {
        constexpr int blocks = factor_blocks(Width * int(sizeof(T)));
        run(factor_kernel<Method, T, Width, RegisterRows<T, Width, Method::ordered>, blocks>, 1);
    }
}

/// The outputs of empty matrices.
template <class T>
__global__ void empty_factors_kernel(Index count, const Index* order, FactorResults<T> results) {
    for_elements<1>(count, [&](Offset i) {
        const Index b = order == nullptr ? Index(i) : order[i];
        if (results.info != nullptr) results.info[b] = 0;
        if (results.perturbed != nullptr) results.perturbed[b] = 0;
        if (results.perturbation != nullptr) results.perturbation[b] = T(0);
        if (results.smallest_pivot != nullptr) {
            results.smallest_pivot[b] = std::numeric_limits<T>::infinity();
        }
        for (int k = 0; k < 3 && results.inertia != nullptr; ++k) results.inertia[3 * b + k] = 0;
        if (results.log_determinant != nullptr) results.log_determinant[b] = T(0);
        if (results.determinant_sign != nullptr) results.determinant_sign[b] = 1;
    });
}

}  // namespace

/// The matrices of a batch by `Method`, the largest first: they take longest. of_32(): whether it
/// took those of 17 .. 32 rows.
template <class Method, class T, class Of32 = bool (*)()>
void factorise_batch(
    const Context& context, const FactorJob<T>& job, Of32&& of_32 = [] { return false; }) {
    const StagedLaunch large =
        factor_launch(job, largest_warp_size + 1, largest_size, factor_threads, 1);
    if (large.blocks > 0) {
        launch_dependent(factor_large_kernel<Method, T>, large.blocks, factor_threads,
                         large.team_bytes, stream_of(context), large.classes, job,
                         is_told(job.results), large.team_bytes);
    }
    if (!of_32()) factor_small<Method, T, 32>(context, job);
    factor_small<Method, T, 16>(context, job);
    factor_small<Method, T, 8>(context, job);
    factor_small<Method, T, 4>(context, job);
    if (const Index empty = job.count(0); empty > 0) {
        const Index* const order = job.plan == nullptr ? nullptr : job.plan->order();
        empty_factors_kernel<<<blocks_for(empty, 256), 256, 0, stream_of(context)>>>(empty, order,
                                                                                     job.results);
        TESSERA_CUDA(cudaGetLastError());
    }
}

}  // namespace tessera::batched::cuda
