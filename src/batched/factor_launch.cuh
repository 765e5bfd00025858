#pragma once

#include <algorithm>

#include "batched/factor_tile.cuh"
#include "gpu/staged_batch.cuh"

/// Launches of the factorisations. Matrices of up to 32 rows are worked on by teams of 4, 8, 16 or
/// 32 lanes, larger ones by a thread block each.
namespace tessera::batched::cuda {

namespace {

constexpr int factor_threads = 128;  ///< Of a thread block.

/// Thread blocks of a multiprocessor that registers are limited for, where rows of `width` values
/// of `value_bytes` lie in registers.
constexpr int factor_blocks(int width, int value_bytes) {
    return width * value_bytes > 128 ? 4 : width * value_bytes > 64 ? 6 : 8;
}

/// Bytes of the memory of the teams of a warp, or of a thread block that is one team, 32 (or all)
/// threads of which take one place each of every array.
template <class T>
int factor_bytes(int n, int lanes) {
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

/// A matrix by each team. bytes: shared memory of a warp, or of a thread block that is one team.
template <class Method, class T, class Team, class Rows>
__device__ __forceinline__ void factorise(const Team& team, const TeamMemory<T>& memory,
                                          const FactorJob<T>& job, bool told, int n, Offset b,
                                          bool here) {
    const int lane = team.lane();
    const Offset line_a = job.a.sizes != nullptr ? n : job.a.leading_dimension;
    const Offset line_f = job.f.sizes != nullptr ? n : job.f.leading_dimension;
    T tau = job.options.threshold;
    if (job.options.thresholds != nullptr && here) {
        tau = job.options.thresholds[b * job.options.threshold_stride];
    }
    {
        Rows rows(team, start_of(job.a, b), line_a, here, n, memory.f, memory.pitch);
        if constexpr (Method::symmetric) rows.mirror(team, memory.f, memory.pitch);
        if (job.options.relative) tau *= team.max_size(rows.largest());
        if (!(tau > T(0))) tau = T(0);
        Method::eliminate(team, rows, memory, n, tau);
    }
    const bool failed = tell<Method::kind>(team, memory, job.results, told, b, here, n, tau);
    if (!here || lane >= n) return;
    const int* const columns = Method::kind == Factorisation::ldu ? memory.columns : memory.rows;
    const int row = memory.rows[lane];
    T* const to = start_of(job.f, b) + lane;
#pragma unroll 4
    for (int s = 0; s < n; ++s) {
        const T value = memory.at(row, columns[s]);
        to[s * line_f] = failed ? std::numeric_limits<T>::quiet_NaN() : value;
    }
    const auto& p = job.permutations;
    const Offset start = p.offsets != nullptr ? p.offsets[b] : b * p.stride;
    if (p.rows != nullptr) p.rows[start + lane] = row;
    if (p.columns != nullptr) p.columns[start + lane] = columns[lane];
}

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

template <class Method, class T>
__global__ void __launch_bounds__(factor_threads, 1)
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

/// The matrices of smallest..largest rows, `matrices` a thread block.
template <class T>
StagedLaunch factor_launch(const FactorJob<T>& job, int smallest, int largest, int lanes) {
    StagedLaunch launch;
    SizeClasses& classes = launch.classes;
    classes.size = job.a.size;
    classes.count = job.a.count;
    if (job.plan != nullptr) classes.order = job.plan->order();
    for (int n = 0; n <= largest_size; ++n) {
        classes.matrices[n] = 1;
        classes.first_block[n] = launch.blocks;
        if (job.plan != nullptr) classes.begin[n] = job.plan->begin(n);
        const Index count = n < smallest || n > largest ? 0 : job.count(n);
        if (count == 0) continue;
        launch.blocks += blocks_for(count, factor_threads / lanes);
        launch.team_bytes = std::max(launch.team_bytes, factor_bytes<T>(n, lanes));
    }
    if (job.plan != nullptr) classes.begin[largest_size + 1] = job.plan->count();
    return launch;
}

template <class T>
bool is_told(const FactorResults<T>& results) {
    return results.info != nullptr || results.perturbed != nullptr ||
           results.perturbation != nullptr || results.smallest_pivot != nullptr ||
           results.inertia != nullptr || results.log_determinant != nullptr ||
           results.determinant_sign != nullptr;
}

template <class Method, class T, int Lanes>
void factor_small(const Context& context, const FactorJob<T>& job) {
    const StagedLaunch launch = factor_launch(job, Lanes == 4 ? 1 : Lanes / 2 + 1, Lanes, Lanes);
    if (launch.blocks == 0) return;
    const int bytes = factor_threads / 32 * launch.team_bytes;
    const auto run = [&](auto kernel) {
        launch_dependent(kernel, launch.blocks, factor_threads, bytes, stream_of(context),
                         launch.classes, job, is_told(job.results), launch.team_bytes);
    };
    if (job.options.workspace == Workspace::shared_memory) {
        run(factor_kernel<Method, T, Lanes, SharedRows<T>, 8>);
    } else {
        run(factor_kernel<Method, T, Lanes, RegisterRows<T, Lanes, Method::ordered>,
                          factor_blocks(Lanes, int(sizeof(T)))>);
    }
}

/// The results of matrices without rows.
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

/// The matrices of a batch by `Method`, the largest first: they take longest.
template <class Method, class T>
void factorise_batch(const Context& context, const FactorJob<T>& job) {
    const StagedLaunch large =
        factor_launch(job, largest_warp_size + 1, largest_size, factor_threads);
    if (large.blocks > 0) {
        launch_dependent(factor_large_kernel<Method, T>, large.blocks, factor_threads,
                         large.team_bytes, stream_of(context), large.classes, job,
                         is_told(job.results), large.team_bytes);
    }
    factor_small<Method, T, 32>(context, job);
    factor_small<Method, T, 16>(context, job);
    factor_small<Method, T, 8>(context, job);
    factor_small<Method, T, 4>(context, job);
    if (const Index empty = job.count(0); empty > 0 && is_told(job.results)) {
        const Index* const order = job.plan == nullptr ? nullptr : job.plan->order();
        empty_factors_kernel<<<blocks_for(empty, 256), 256, 0, stream_of(context)>>>(empty, order,
                                                                                     job.results);
        TESSERA_CUDA(cudaGetLastError());
    }
}

}  // namespace tessera::batched::cuda
