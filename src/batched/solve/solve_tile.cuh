#pragma once

#include "batched/solve/kernels.hpp"
#include "gpu/tiles/factor/staged_factors.cuh"

namespace tessera::batched::cuda {

using namespace tessera::cuda;

namespace {

/// Element s of a permutation of matrix b; null is the identity.
__device__ __forceinline__ int permuted(const PermutationsView<const Index>& view,
                                        const Index* array, Offset b, int s) {
    return array == nullptr ? s : array[view.start(b) + s];
}

/// Solves for per_pass vectors at once.
template <Factorisation kind, bool transposed, bool inverse, int per_pass, class T, class Team>
__device__ __forceinline__ void solve_matrix(const TeamMatrix<T, Team>& matrix,
                                             const SolveJob<T>& job) {
    const auto& [team, memory, n, b, active] = matrix;
    const int s = team.lane();
    const bool inside = active && s < n;
    const Offset line = job.f.sizes != nullptr ? n : job.f.leading_dimension;
    stage_factors(team, start_of(job.f, b), line, memory, n);
    const StagedFactors<kind, transposed, T, Team> factors(team, memory, n);
    const Index* const p = job.permutations.rows;
    const Index* const q = kind == Factorisation::ldu ? job.permutations.columns : p;
    const int from = inside ? permuted(job.permutations, transposed ? q : p, b, s) : 0;
    const int to = inside ? permuted(job.permutations, transposed ? p : q, b, s) : 0;
    if constexpr (inverse) {
        const Offset line_x = job.inverse.sizes != nullptr ? n : job.inverse.leading_dimension;
        T* const x = start_of(job.inverse, b);
        for (int v0 = 0; v0 < n; v0 += per_pass) {
            inverse_columns<kind, per_pass>(
                factors, inside, from, to, n, v0,
                [&](int row, int column, T value) { x[row + column * line_x] = value; });
            team.sync();
        }
    }
    for (int v0 = 0; !inverse && v0 < job.b.vectors; v0 += per_pass) {
        T y[per_pass];
#pragma unroll
        for (int v = 0; v < per_pass; ++v) {
            const bool active_vector = inside && v0 + v < job.b.vectors;
            y[v] = active_vector ? start_of(job.b, b)[from + (v0 + v) * job.b.leading_dimension]
                                 : T(0);
        }
        factors.solve(y);
#pragma unroll
        for (int v = 0; v < per_pass; ++v) {
            const int column = v0 + v;
            if (!inside || column >= job.b.vectors) continue;
            start_of(job.x, b)[to + column * job.x.leading_dimension] = y[v];
        }
        team.sync();
    }
}

/// Triangular solves with the factors, or the inverse from them; one matrix per team (8 to 32 lanes
/// for up to 32 rows, a thread block for up to 128), one row per thread, factors staged in shared
/// memory, solution entries broadcast.
template <Factorisation kind, bool transposed, bool inverse, int per_pass, class T, class Team>
__global__ void __launch_bounds__(factor_threads)
    solve_kernel(const __grid_constant__ SizeClasses classes,
                 const __grid_constant__ SolveJob<T> job, int bytes) {
    extern __shared__ __align__(16) unsigned char solve_memory[];
    begin_dependent();
    solve_matrix<kind, transposed, inverse, per_pass>(
        team_matrix<T, Team>(classes, solve_memory, bytes), job);
}

/// Largest matrices first.
template <Factorisation kind, bool transposed, bool inverse, class T>
void solve_batch(const Context& context, const SolveJob<T>& job) {
    const auto run = [&](auto* kernel, int smallest, int largest, int lanes) {
        launch_teams(context, job.f, job.plan, smallest, largest, lanes, factor_threads / lanes,
                     lanes > 32 ? 1 : factor_threads / 32, kernel, job);
    };
    using Block = BlockTeam<factor_threads>;
    run(solve_kernel<kind, transposed, inverse, rhs_per_pass, T, Block>, 33, largest_size,
        factor_threads);
    const auto run_small = [&]<int Lanes>(std::integral_constant<int, Lanes>) {
        using Team = WarpTeam<Lanes>;
        run(!inverse && job.b.vectors == 1
                ? solve_kernel<kind, transposed, inverse, 1, T, Team>
                : solve_kernel<kind, transposed, inverse, rhs_per_pass, T, Team>,
            Lanes == 8 ? 1 : Lanes / 2 + 1, Lanes, Lanes);
    };
    run_small(std::integral_constant<int, 32>());
    run_small(std::integral_constant<int, 16>());
    run_small(std::integral_constant<int, 8>());
}

template <bool inverse, class T>
void solve_with(const Context& context, const SolveJob<T>& job) {
    using enum Factorisation;
    if (job.factorisation == llt) return solve_batch<llt, false, inverse>(context, job);
    if (job.factorisation == ldlt) return solve_batch<ldlt, false, inverse>(context, job);
    if constexpr (!inverse) {
        if (job.transpose == Transpose::yes) return solve_batch<ldu, true, false>(context, job);
    }
    solve_batch<ldu, false, inverse>(context, job);
}

}  // namespace

template <class T>
void solve(const Context& context, const SolveJob<T>& job) {
    solve_with<false>(context, job);
}

template <class T>
void inverse_from_factors(const Context& context, const SolveJob<T>& job) {
    solve_with<true>(context, job);
}

}  // namespace tessera::batched::cuda
