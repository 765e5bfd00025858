#pragma once

#include "batched/factor/factor_launch.cuh"
#include "batched/solve/kernels.hpp"
#include "gpu/tiles/staged_factors.cuh"

namespace tessera::batched::cuda {

namespace {

/// A solve with the factors of a batch, or their inverses.
template <class T>
struct SolveJob {
    BatchView<const T> f;
    PermutationsView<const Index> permutations;
    VectorsView<const T> b;
    VectorsView<T> x;
    BatchView<T> inverse;  ///< In the place of b and x.
};

/// Which element of b, or x, is in position s.
__device__ __forceinline__ int permuted(const PermutationsView<const Index>& view,
                                        const Index* array, Offset b, int s) {
    if (array == nullptr) return s;
    return array[(view.offsets != nullptr ? view.offsets[b] : b * view.stride) + s];
}

/// `together` of the vectors at once.
template <Factorisation kind, bool transposed, bool inverse, int together, class T, class Team>
__device__ __forceinline__ void solve_matrix(const Team& team, const TeamMemory<T>& memory,
                                             const SolveJob<T>& job, int n, Offset b, bool here) {
    const int s = team.lane();
    const bool inside = here && s < n;
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
        for (int v0 = 0; v0 < n; v0 += together) {
            inverse_columns<kind, together>(
                factors, inside, from, to, n, v0,
                [&](int row, int column, T value) { x[row + column * line_x] = value; });
            team.sync();
        }
    }
    for (int v0 = 0; !inverse && v0 < job.b.vectors; v0 += together) {
        T y[together];
#pragma unroll
        for (int v = 0; v < together; ++v) {
            const bool given = inside && v0 + v < job.b.vectors;
            y[v] = given ? start_of(job.b, b)[from + (v0 + v) * job.b.leading_dimension] : T(0);
        }
        factors.solve(y);
#pragma unroll
        for (int v = 0; v < together; ++v) {
            const int column = v0 + v;
            if (!inside || column >= job.b.vectors) continue;
            start_of(job.x, b)[to + column * job.x.leading_dimension] = y[v];
        }
        team.sync();
    }
}

/// Triangular solves with the factors, or the inverse from them; one matrix per Lanes lanes, one
/// row per lane, factors staged in shared memory, solution entries broadcast by shuffles.
template <Factorisation kind, bool transposed, bool inverse, int together, class T, int Lanes>
__global__ void __launch_bounds__(factor_threads)
    solve_kernel(const __grid_constant__ SizeClasses classes,
                 const __grid_constant__ SolveJob<T> job, int bytes) {
    extern __shared__ __align__(16) unsigned char solve_memory[];
    begin_dependent();
    using Team = WarpTeam<Lanes>;
    const TeamBatch batch = classes.of_block(factor_threads / Lanes);
    const int team_number = int(threadIdx.x) / Lanes;
    const Offset position = batch.first + team_number;
    const bool here = position < batch.end;
    const Offset b = classes.matrix(here ? position : batch.end - 1);
    const auto memory = team_memory<T, Team>(solve_memory + int(threadIdx.x) / 32 * bytes, bytes,
                                             team_number % (32 / Lanes), batch.n);
    solve_matrix<kind, transposed, inverse, together>(Team(), memory, job, batch.n, b, here);
}

/// The same for 33..128 rows: one matrix per thread block, one row per thread.
template <Factorisation kind, bool transposed, bool inverse, class T>
__global__ void __launch_bounds__(factor_threads)
    solve_large_kernel(const __grid_constant__ SizeClasses classes,
                       const __grid_constant__ SolveJob<T> job, int bytes) {
    extern __shared__ __align__(16) unsigned char solve_memory[];
    __shared__ unsigned long long scratch[factor_threads / 32];
    begin_dependent();
    using Team = BlockTeam<factor_threads>;
    const TeamBatch batch = classes.of_block(1);
    const auto memory = team_memory<T, Team>(solve_memory, bytes, 0, batch.n);
    solve_matrix<kind, transposed, inverse, vectors_at_once>(Team(scratch), memory, job, batch.n,
                                                             classes.matrix(batch.first), true);
}

template <Factorisation kind, bool transposed, bool inverse, class T, int Lanes>
void solve_small(const Context& context, const FactorJob<T>& sizes, const SolveJob<T>& job) {
    const StagedLaunch launch =
        factor_launch(sizes, Lanes == 8 ? 1 : Lanes / 2 + 1, Lanes, Lanes, factor_threads / Lanes);
    if (launch.blocks == 0) return;
    const auto run = [&](auto kernel) {
        launch_dependent(kernel, launch.blocks, factor_threads,
                         factor_threads / 32 * launch.team_bytes, stream_of(context),
                         launch.classes, job, launch.team_bytes);
    };
    if (!inverse && job.b.vectors == 1) {
        run(solve_kernel<kind, transposed, inverse, 1, T, Lanes>);
    } else {
        run(solve_kernel<kind, transposed, inverse, vectors_at_once, T, Lanes>);
    }
}

/// All matrices, the largest first.
template <Factorisation kind, bool transposed, bool inverse, class T>
void solve_batch(const Context& context, const SolveJob<T>& job, const Plan* plan) {
    FactorJob<T> sizes;
    sizes.a = job.f;
    sizes.plan = plan;
    const StagedLaunch large =
        factor_launch(sizes, largest_warp_size + 1, largest_size, factor_threads, 1);
    if (large.blocks > 0) {
        launch_dependent(solve_large_kernel<kind, transposed, inverse, T>, large.blocks,
                         factor_threads, large.team_bytes, stream_of(context), large.classes, job,
                         large.team_bytes);
    }
    solve_small<kind, transposed, inverse, T, 32>(context, sizes, job);
    solve_small<kind, transposed, inverse, T, 16>(context, sizes, job);
    solve_small<kind, transposed, inverse, T, 8>(context, sizes, job);
}

template <bool inverse, class T>
void solve_with(const Context& context, Factorisation factorisation, Transpose transpose,
                const SolveJob<T>& job, const Plan* plan) {
    switch (factorisation) {
        case Factorisation::llt:
            return solve_batch<Factorisation::llt, false, inverse>(context, job, plan);
        case Factorisation::ldlt:
            return solve_batch<Factorisation::ldlt, false, inverse>(context, job, plan);
        default:
            if constexpr (!inverse) {
                if (transpose == Transpose::yes) {
                    return solve_batch<Factorisation::ldu, true, false>(context, job, plan);
                }
            }
            return solve_batch<Factorisation::ldu, false, inverse>(context, job, plan);
    }
}

}  // namespace

template <class T>
void solve(const Context& context, Factorisation factorisation, Transpose transpose,
           const BatchView<const T>& f, const PermutationsView<const Index>& permutations,
           const VectorsView<const T>& b, const VectorsView<T>& x, const Plan* plan) {
    const SolveJob<T> job{f, permutations, b, x, {}};
    solve_with<false>(context, factorisation, transpose, job, plan);
}

template <class T>
void inverse_from_factors(const Context& context, Factorisation factorisation,
                          const BatchView<const T>& f,
                          const PermutationsView<const Index>& permutations, const BatchView<T>& x,
                          const Plan* plan) {
    const SolveJob<T> job{f, permutations, {}, {}, x};
    solve_with<true>(context, factorisation, Transpose::no, job, plan);
}

}  // namespace tessera::batched::cuda
