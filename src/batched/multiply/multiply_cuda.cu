#include "batched/multiply/kernels.hpp"
#include "gpu/staged_batch.cuh"

namespace tessera::batched::cuda {

namespace {

using namespace tessera::cuda;

template <class T>
struct MultiplyJob {
    BatchView<const T> a;
    bool rows;  ///< Sums run along the rows of a (else its columns).
    T alpha;
    VectorsView<const T> x;
    T beta;
    VectorsView<T> y;
};

/// Copies the vectors v0 .. v0 + Vectors - 1 of x to shared memory: entry k of vector v of matrix m
/// goes to to[(v - v0) matrices n + m n + k]. `start` as in stage_columns.
template <int Team, int Vectors, class T>
__device__ __forceinline__ void gather_vectors(const VectorsView<const T>& x, const T* start, int n,
                                               unsigned inverse_n, int matrices, int v0, T* to) {
    const int lines = matrices * n;
#pragma unroll 4
    for (int base = 0; base < lines; base += Team) {
        const int r = base + int(threadIdx.x) % Team;
        const int m = Team == 32 ? quotient_of(r, inverse_n) : 0;
        const T* const from = broadcast_address<Team>(start, m) + (r - m * n);
#pragma unroll
        for (int v = 0; v < Vectors; ++v) {
            const bool inside = r < lines && v0 + v < x.vectors;
            const T value = load_if(inside, from + (v0 + v) * x.leading_dimension, T(0));
            if (r < lines) to[v * lines + r] = value;
        }
    }
}

/// Computes the vectors v0 .. v0 + Vectors - 1 of y from the staged matrices and vectors.
template <int Team, int Vectors, class T>
__device__ __forceinline__ void multiply_staged(const MultiplyJob<T>& job, T* start, int n,
                                                unsigned inverse_n, int matrices, int v0,
                                                const T* staged, const T* vectors) {
    const int lines = matrices * n;
    const int thread = int(threadIdx.x) % Team;
#pragma unroll 1
    for (int base = 0; base < lines; base += Team) {
        const int r = base + thread;
        const int m = Team == 32 ? quotient_of(r, inverse_n) : 0;
        T* const to = broadcast_address<Team>(start, m) + (r - m * n);
        if (r >= lines) continue;
        const StagedLine line(job.rows, n, m, r);
        const T* entry = staged + line.first;
        const T* factor = vectors + m * n;
        T sum[Vectors] = {};
#pragma unroll 4
        for (int k = 0; k < n; ++k) {
            const T value = entry[k * line.stride];
#pragma unroll
            for (int v = 0; v < Vectors; ++v) {
                sum[v] = fma(value, factor[v * lines + k], sum[v]);
            }
        }
#pragma unroll
        for (int v = 0; v < Vectors; ++v) {
            if (Vectors > 1 && v0 + v >= job.y.vectors) continue;
            T* const entry_of_y = Vectors > 1 ? to + (v0 + v) * job.y.leading_dimension : to;
            *entry_of_y = job.beta == T(0) ? job.alpha * sum[v]
                                           : fma(job.alpha, sum[v], job.beta * *entry_of_y);
        }
    }
}

/// y_b = alpha op(A_b) x_b + beta y_b for matrices of any layout, staged in shared memory; one
/// entry of y per thread, `Vectors` vectors at a time. Each sum runs in ascending order of its
/// index.
template <class T, int Team, int Threads, int Vectors>
__global__ void __launch_bounds__(Threads, staged_blocks(Team))
    multiply_kernel(const __grid_constant__ SizeClasses classes,
                    const __grid_constant__ MultiplyJob<T> job, int team_bytes) {
    extern __shared__ __align__(16) unsigned char memory[];
    begin_dependent();
    const StagedTeam<T, Team> team(classes, job.a, memory, team_bytes);
    if (team.matrices == 0) return;
    const int n = team.n;
    const int matrices = team.matrices;
    const Offset b = team.has_matrix() ? team.matrix(classes) : 0;
    const T* const x = team.has_matrix() ? start_of(job.x, b) : nullptr;
    T* const y = team.has_matrix() ? start_of(job.y, b) : nullptr;
    const unsigned inverse_n = inverse_of(n);
    gather_vectors<Team, Vectors>(job.x, x, n, inverse_n, matrices, 0, team.scratch);
    team.load(job.a);
    sync_team<Team>();
    multiply_staged<Team, Vectors>(job, y, n, inverse_n, matrices, 0, team.staged, team.scratch);
    if constexpr (Vectors > 1) {
#pragma unroll 1
        for (int v0 = Vectors; v0 < job.x.vectors; v0 += Vectors) {
            sync_team<Team>();
            gather_vectors<Team, Vectors>(job.x, x, n, inverse_n, matrices, v0, team.scratch);
            sync_team<Team>();
            multiply_staged<Team, Vectors>(job, y, n, inverse_n, matrices, v0, team.staged,
                                           team.scratch);
        }
    }
}

template <int Vectors, class T>
void multiply_by(const Context& context, const MultiplyJob<T>& job, const Plan* plan) {
    const cudaStream_t stream = stream_of(context);
    const auto launch = [&](auto team, auto threads, const StagedLaunch& one) {
        const auto kernel = multiply_kernel<T, team(), threads(), Vectors>;
        launch_dependent(kernel, one.blocks, threads(), threads() / team() * one.team_bytes, stream,
                         one.classes, job, one.team_bytes);
    };
    for_staged_launches(job.a, plan, int(Vectors * sizeof(T)), launch);
}

}  // namespace

template <class T>
void multiply(const Context& context, T alpha, const BatchView<const T>& a, Transpose transpose,
              const VectorsView<const T>& x, T beta, const VectorsView<T>& y, const Plan* plan) {
    if (transpose == Transpose::no && multiply_pipelined(context, alpha, a, x, beta, y)) return;
    const MultiplyJob<T> job = {a, transpose == Transpose::no, alpha, x, beta, y};
    if (x.vectors == 1) {
        multiply_by<1>(context, job, plan);
    } else if (x.vectors > 1) {
        multiply_by<vectors_per_pass>(context, job, plan);
    }
}

template decltype(multiply<float>) multiply<float>;
template decltype(multiply<double>) multiply<double>;

}  // namespace tessera::batched::cuda
