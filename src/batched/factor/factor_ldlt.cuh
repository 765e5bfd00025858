#pragma once

#include "batched/factor/kernels.hpp"
#include "gpu/staged_batch.cuh"
#include "gpu/tiles/factor/ldlt.cuh"
#include "gpu/tiles/staging/warp_staging.cuh"

/// LDL^T, by few lanes per matrix, or, for large ones, by a warp or a thread block.
namespace tessera::batched::cuda {

using namespace tessera::cuda;

namespace {

/// Shared memory of the matrices of n rows of a thread block, `teams` of them, in values.
/// Two lower triangles share a rectangle of n + 1 rows: one below its diagonal, the other one, by
/// rows, on and above. The pitch is odd, and teams use different banks.
template <class T, class Team, int vectors>
struct TriangleMemory {
    static constexpr int threads = std::max(32, Team::threads);  ///< Threads of a block.
    static constexpr int teams = threads / Team::threads;
    static constexpr int rectangles = (teams + 1) / 2;
    int n;
    int pitch;
    int rectangle;  ///< From one to the next.
    int vector;     ///< From the vectors of a matrix to those of the next.

    __host__ __device__ constexpr explicit TriangleMemory(int n_) : n(n_), pitch((n_ + 1) | 1) {
        rectangle = spread(n * pitch);
        vector = spread(vectors * n + (n + int(sizeof(T)) - 1) / int(sizeof(T)));
    }
    __host__ __device__ constexpr int values() const {
        return rectangles * rectangle + teams * vector;
    }
    __device__ __forceinline__ SymmetricMatrix<T> matrix(T* memory, int m) const {
        T* const own = memory + rectangles * rectangle + m * vector;
        const bool below = m < rectangles;
        return {memory + (below ? m * rectangle + 1 : (m - rectangles) * rectangle),
                own,
                reinterpret_cast<unsigned char*>(own + vectors * n),
                n,
                below ? 1 : pitch,
                below ? pitch : 1};
    }

    /// visit(address, row, column, place) for the elements of the first `count` matrices of
    /// `batch`, adjacent ones in adjacent threads. place: where an element is or, above the
    /// diagonal, one of the first vector. start: the address of matrix m in thread m.
    template <class V, class Visit>
    __device__ __forceinline__ void for_elements(V* start, Offset line, int count,
                                                 Visit&& visit) const {
        const unsigned inverse = inverse_of(n);
        for (int base = 0; base < n * n; base += threads) {
            const int e = base + int(threadIdx.x);
            const int j = quotient_of(e, inverse), i = e - j * n;
            const Offset offset = i + j * line;
            const bool inside = e < n * n;
            const int step = i >= j ? rectangle : vector;
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int first = half * rectangles, end = min(count, first + rectangles);
                int place = rectangles * rectangle + first * vector + j;
                if (i >= j) place = half == 0 ? j * pitch + i + 1 : i * pitch + j;
#pragma unroll 4
                for (int m = first; m < end; ++m, place += step) {
                    V* const from = broadcast_address<threads>(start, m) + offset;
                    if (inside) visit(from, i, j, place);
                }
            }
        }
    }

  private:
    static __host__ __device__ constexpr int spread(int count) {
        const int lanes = Team::threads, step = 2 * lanes;
        return teams == 1 ? count : count + (lanes - count % step + step) % step;
    }
};

/// The largest magnitude of the matrix of a team.
template <class T, class Team>
__device__ __forceinline__ T largest_magnitude(const Team& team, const SymmetricMatrix<T>& a) {
    T largest = T(0);
    for (int i = team.lane(); i < a.n; i += Team::threads) {
        for (int j = 0; j <= i; ++j) {
            const T size = fabs(a.at(i, j));
            largest = size > largest ? size : largest;
        }
    }
    return team.max_magnitude(largest);
}

/// Outputs from the pivots of a matrix, equal in all threads of its team.
template <class T>
struct TriangleTotals : PivotTotals<T> {
    T tau;
    bool more_than_info;  ///< Whether other outputs than info are requested.

    __device__ __forceinline__ void one(int s, T given, T used) {
        if (!isfinite(used)) this->fail(s);
        add(s, given, used);
    }
    __device__ __forceinline__ void two(int s, const PivotPair<T>& given, const PivotPair<T>& used,
                                        const PivotPair<T>& inverse) {
        const T all = used.e11 + used.e21 + used.e22 + (inverse.e11 + inverse.e21 + inverse.e22);
        if (!isfinite(all)) this->fail(s);
        if (!more_than_info) return;  // An eigenvalue of 0 has no finite inverse.
        const PivotEigen<T> v = rare_eigenpairs(given);
        add(s, v.first, with_threshold(v.first, tau));
        add(s + 1, v.second, with_threshold(v.second, tau));
    }

  private:
    static __device__ __noinline__ PivotEigen<T> rare_eigenpairs(PivotPair<T> e) {
        return eigenpairs(e);
    }
    __device__ __forceinline__ void add(int s, T given, T used) {
        if (more_than_info) {
            PivotTotals<T>::add(s, given, used, tau);
        } else if (used == T(0) && this->info == 0) {
            this->info = s + 1;
        }
    }
};

/// LDL^T, one matrix per team, see Ldlt; matrices are staged in shared memory by cp.async. Surplus
/// teams factor a matrix of zeros.
template <Pivoting pivoting, class T, class Team>
__global__ void __launch_bounds__(std::max(32, Team::threads), ldlt_blocks<T>(Team::threads))
    ldlt_kernel(const __grid_constant__ SizeClasses classes,
                const __grid_constant__ FactorJob<T> job, bool more_than_info) {
    using Memory = TriangleMemory<T, Team, Ldlt<pivoting>::vectors>;
    extern __shared__ __align__(16) unsigned char triangle_memory[];
    begin_dependent();
    const TeamBatch batch = classes.of_block(Memory::teams);
    const int n = batch.n;
    const Memory layout(n);
    const int count = int(min(Offset(Memory::teams), batch.end - batch.first));
    T* const memory = reinterpret_cast<T*>(triangle_memory);
    const int thread = int(threadIdx.x);
    const Offset own = classes.matrix(batch.first + (thread < count ? thread : 0));
    const unsigned address = unsigned(__cvta_generic_to_shared(memory));
    layout.for_elements(start_of(job.a, own), leading_dimension_of(job.a, n), count,
                        [&](const T* from, int i, int j, int place) {
                            if (i < j) return;
                            copy_to_shared<int(sizeof(T))>(
                                address + unsigned(place * int(sizeof(T))), from);
                        });
    const Team team;
    const int m = thread / Team::threads;
    const bool active = m < count;
    const SymmetricMatrix<T> a = layout.matrix(memory, m);
    for (int i = team.lane(); i < n && !active; i += Team::threads) {
        for (int j = 0; j <= i; ++j) a.at(i, j) = T(0);
    }
    wait_for_copies();
    team.sync();
    const Offset b = classes.matrix(batch.first + (active ? m : 0));
    const T largest = job.options.relative ? largest_magnitude(team, a) : T(1);
    const T tau = threshold_of(job.options, b, largest);
    TriangleTotals<T> totals{{}, tau, more_than_info};
    Ldlt<pivoting>::eliminate(team, a, tau, totals);

    T* const start = start_of(job.f, own);
    const Offset line = leading_dimension_of(job.f, n);
    layout.for_elements(start, line, count, [&](T* to, int i, int j, int place) {
        *to = j <= i + 1 ? memory[place] : T(0);
    });
    if (team.any(totals.failed)) {
        team.sync();
        for (int e = team.lane(); e < n * n && totals.failed && active; e += Team::threads) {
            start_of(job.f, b)[e % n + e / n * line] = std::numeric_limits<T>::quiet_NaN();
        }
    }
    const auto& p = job.permutations;
    for (int s = team.lane(); s < n && active; s += Team::threads) {
        if (p.rows != nullptr) p.rows[p.start(b) + s] = a.order[s];
        if (p.columns != nullptr) p.columns[p.start(b) + s] = s;
    }
    if (active && team.lane() == 0) totals.write(job.results, b, n);
}

/// The matrices of smallest .. largest rows by a Team each.
template <Pivoting pivoting, class T, class Team>
void launch_ldlt(const Context& context, const FactorJob<T>& job, int smallest, int largest) {
    using Memory = TriangleMemory<T, Team, Ldlt<pivoting>::vectors>;
    const StagedLaunch launch = staged_launch(
        job.a, job.plan, smallest, largest, Memory::teams, [](Index) { return 1; },
        [](Index n) { return Memory(n).values() * int(sizeof(T)); });
    if (launch.blocks == 0) return;
    launch_dependent(ldlt_kernel<pivoting, T, Team>, launch.blocks, Memory::threads,
                     launch.team_bytes, stream_of(context), launch.classes, job,
                     wants_more_than_info(job.results));
}

}  // namespace

/// Largest matrices first: they take longest.
template <Pivoting pivoting, class T>
void factorise_ldlt(const Context& context, const FactorJob<T>& job) {
    constexpr LdltSizes sizes = ldlt_sizes<T>();
    launch_ldlt<pivoting, T, BlockTeam<128>>(context, job, sizes.warp + 1, largest_size);
    launch_ldlt<pivoting, T, WarpTeam<32>>(context, job, sizes.eight + 1, sizes.warp);
    launch_ldlt<pivoting, T, WarpTeam<8>>(context, job, sizes.four + 1, sizes.eight);
    launch_ldlt<pivoting, T, WarpTeam<4>>(context, job, sizes.two + 1, sizes.four);
    launch_ldlt<pivoting, T, WarpTeam<2>>(context, job, sizes.one + 1, sizes.two);
    launch_ldlt<pivoting, T, WarpTeam<1>>(context, job, 0, sizes.one);
}

}  // namespace tessera::batched::cuda
