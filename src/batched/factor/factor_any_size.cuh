#pragma once

#include "batched/factor/kernels.hpp"
#include "gpu/tiles/factor/ldu.cuh"
#include "gpu/tiles/factor/llt.cuh"

/// Kernels and launches of LDU and LL^T for all sizes: teams of 4, 8, 16 or 32 lanes up to 32 rows,
/// a thread block per matrix above.
namespace tessera::batched::cuda {

using namespace tessera::cuda;

namespace {

/// Writes factors, permutations and requested outputs of a matrix from shared memory. rotated: the
/// matrix was eliminated by RotatingRows, so that its columns are in order and the rows of U are
/// still to be divided by the pivots.
template <Factorisation kind, bool rotated, class T, class Team>
__device__ __forceinline__ void write_outputs(const Team& team, const TeamMemory<T>& memory,
                                              const FactorJob<T>& job, bool more_than_info, int n,
                                              Offset b, bool active, T tau) {
    const bool failed =
        write_results<kind>(team, memory, job.results, more_than_info, b, active, n, tau);
    const int lane = team.lane();
    const bool inside = active && lane < n;
    const int row = inside ? memory.rows[lane] : 0;
    const int* const columns = kind == Factorisation::ldu ? memory.columns : memory.rows;
    const auto& p = job.permutations;
    const Offset start = p.start(b);
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
        if (!team.any(failed || !divisor.in_range)) {
#pragma unroll 8
            for (int s = 0; s < n; ++s, to += line) {
                const T value = from[s * memory.pitch];
                const T quotient = divided ? divisor.fast_quotient(value) : value;
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

/// Loads, eliminates and stores the matrix of a team.
template <class Method, class Rows, class T, class Team>
__device__ __forceinline__ void factorise(const TeamMatrix<T, Team>& matrix,
                                          const FactorJob<T>& job, bool more_than_info) {
    const auto& [team, memory, n, b, active] = matrix;
    const Offset line = job.a.sizes != nullptr ? n : job.a.leading_dimension;
    Rows rows(team, start_of(job.a, b), line, active, n, memory.f, memory.pitch);
    if constexpr (Method::symmetric) rows.mirror(team, memory.f, memory.pitch);
    const T largest = job.options.relative ? team.max_magnitude(rows.largest()) : T(1);
    const T tau = threshold_of(job.options, b, largest);
    Method::eliminate(team, rows, memory, n, tau);
    write_outputs<Method::kind, false>(team, memory, job, more_than_info, n, b, active, tau);
}

/// LDU or LL^T by Method; one matrix per team (4 to 32 lanes for up to 32 rows, a thread
/// block for up to 128), one row and one column per thread. Rows are in registers or in shared
/// memory and are not moved: the pivot row is broadcast through shared memory, and factors are
/// permuted when they are written.
template <class Method, class T, class Team, class Rows, int blocks>
__global__ void __launch_bounds__(factor_threads, blocks)
    factor_kernel(const __grid_constant__ SizeClasses classes,
                  const __grid_constant__ FactorJob<T> job, bool more_than_info, int bytes) {
    extern __shared__ __align__(16) unsigned char factor_memory[];
    begin_dependent();
    factorise<Method, Rows>(team_matrix<T, Team>(classes, factor_memory, bytes), job,
                            more_than_info);
}

/// LDU with static or partial pivoting and static LL^T: one matrix per Lanes lanes, Rows rows per
/// lane in rotating registers (see RotatingRows). Outputs are then written with one lane per row,
/// in Rows passes. bytes: shared memory per pass of a warp.
template <class Method, class T, int Lanes, int Rows, int blocks>
__global__ void __launch_bounds__(factor_threads, blocks)
    factor_rotating_kernel(const __grid_constant__ SizeClasses classes,
                           const __grid_constant__ FactorJob<T> job, bool more_than_info,
                           int bytes) {
    extern __shared__ __align__(16) unsigned char factor_memory[];
    begin_dependent();
    using Team = WarpTeam<Lanes>;
    using WideTeam = WarpTeam<Lanes * Rows>;
    constexpr int matrices = 32 / Lanes;  // Per warp.
    constexpr int matrices_per_pass = 32 / (Lanes * Rows);
    const TeamBatch batch = classes.of_block(factor_threads / 32 * matrices);
    const int n = batch.n;
    const int warp = int(threadIdx.x) / 32;
    const int lane = int(threadIdx.x) % 32;
    unsigned char* const warp_memory = factor_memory + warp * Rows * bytes;
    const auto memory_of = [&](int m) {
        return team_memory<T, WideTeam>(warp_memory + m / matrices_per_pass * bytes, bytes,
                                        m % matrices_per_pass, n);
    };
    const auto matrix_of = [&](int m, bool& active) {
        const Offset position = batch.first + warp * matrices + m;
        active = position < batch.end;
        return classes.matrix(active ? position : batch.end - 1);
    };
    {
        const Team team;
        bool active;
        const Offset b = matrix_of(lane / Lanes, active);
        RotatingRows<T, Lanes, Rows> rows;
        rows.template load<Method::symmetric>(team, start_of(job.a, b),
                                              job.a.sizes != nullptr ? n : job.a.leading_dimension,
                                              active, n);
        const T largest = job.options.relative ? team.max_magnitude(rows.largest()) : T(1);
        const T tau = threshold_of(job.options, b, largest);
        const TeamMemory<T> memory = memory_of(lane / Lanes);
        Method::eliminate(team, rows, memory, n, tau);
        if (team.lane() == 0) memory.threshold() = tau;  // For the outputs below.
    }
    __syncwarp();
    const WideTeam team;
#pragma unroll 1
    for (int pass = 0; pass < Rows; ++pass) {
        const int m = pass * matrices_per_pass + lane / (Lanes * Rows);
        bool active;
        const Offset b = matrix_of(m, active);
        write_outputs<Method::kind, true>(team, memory_of(m), job, more_than_info, n, b, active,
                                          memory_of(m).threshold());
    }
}

/// The matrices of `smallest` .. Width rows.
template <class Method, class T, int Width, bool shared = prefers_shared_memory<Method, T>(Width)>
void factor_small(const Context& context, const FactorJob<T>& job, int smallest) {
    constexpr int rows = shared ? 1 : rows_per_lane<Method>(Width);
    const auto run = [&](auto* kernel) {
        launch_teams(context, job.a, job.plan, smallest, Width, Width,
                     factor_threads / Width * rows, factor_threads / 32 * rows, kernel, job,
                     wants_more_than_info(job.results));
    };
    using Team = WarpTeam<Width>;
    if constexpr (shared) {
        run(factor_kernel<Method, T, Team, SharedRows<T>, factor_shared_blocks>);
    } else if constexpr (rows > 1) {
        constexpr int blocks = factor_rotating_blocks<T>(Width);
        run(factor_rotating_kernel<Method, T, Width / rows, rows, blocks>);
    } else {
        constexpr int blocks = factor_blocks(Width * int(sizeof(T)));
        run(factor_kernel<Method, T, Team, RegisterRows<T, Width>, blocks>);
    }
}

}  // namespace

/// Largest matrices first: they take longest.
template <Factorisation kind, Pivoting pivoting, class T>
void factorise_as(const Context& context, const FactorJob<T>& job) {
    using Method = std::conditional_t<kind == Factorisation::ldu, Ldu<pivoting>, Llt<pivoting>>;
    launch_teams(
        context, job.a, job.plan, max_warp_rows + 1, largest_size, factor_threads, 1, 1,
        factor_kernel<Method, T, BlockTeam<factor_threads>, SharedRows<T>, factor_large_blocks>,
        job, wants_more_than_info(job.results));
    factor_small<Method, T, 32>(context, job, 17);
    factor_small<Method, T, 16>(context, job, 9);
    factor_small<Method, T, 8>(context, job, 5);
    factor_small<Method, T, 4>(context, job, 0);
}

}  // namespace tessera::batched::cuda
