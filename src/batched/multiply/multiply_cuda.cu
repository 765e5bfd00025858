#include "batched/multiply/kernels.hpp"
#include "gpu/staged_batch.cuh"
#include "gpu/staged_rows.cuh"

namespace tessera::batched::cuda {

namespace {

using namespace tessera::cuda;

/// Vectors whose sums a thread holds at once where there are several.
constexpr int vectors_together = 4;

template <class T>
struct MultiplyJob {
    BatchView<const T> a;
    bool rows;  ///< Sums run along the rows of a, not its columns.
    T alpha;
    VectorsView<const T> x;
    T beta;
    VectorsView<T> y;
};

/// Entries of the vectors v0 .. v0 + Together - 1 of x: that of line m n + k goes to
///   to[(v - v0) matrices n + m n + k].
/// `start` as in stage_columns.
template <int Team, int Together, class T>
__device__ __forceinline__ void gather_vectors(const VectorsView<const T>& x, const T* start, int n,
                                               float inverse_n, int matrices, int v0, T* to) {
    constexpr int depth = vectors_together / Together;
    const int lines = matrices * n;
    const int thread = int(threadIdx.x) % Team;
#pragma unroll 1
    for (int base = thread; base - thread < lines; base += depth * Team) {
        T value[depth][Together];
#pragma unroll
        for (int u = 0; u < depth; ++u) {
            const int r = base + u * Team;
            const int m = Team == 32 ? small_quotient(r, inverse_n) : 0;
            const T* from = from_team<Team>(start, m) + (r - m * n);
#pragma unroll
            for (int v = 0; v < Together; ++v) {
                if constexpr (Together > 1) {
                    value[u][v] = load_if(r < lines && v0 + v < x.vectors,
                                          from + (v0 + v) * x.leading_dimension, T(0));
                } else {
                    value[u][v] = load_if(r < lines, from, T(0));
                }
            }
        }
#pragma unroll
        for (int u = 0; u < depth; ++u) {
            const int r = base + u * Team;
#pragma unroll
            for (int v = 0; v < Together; ++v) {
                if (r < lines) to[v * lines + r] = value[u][v];
            }
        }
    }
}

/// The vectors v0 .. v0 + Together - 1 of y from the staged matrices and the gathered vectors.
template <int Team, int Together, class T>
__device__ __forceinline__ void multiply_staged(const MultiplyJob<T>& job, T* start, int n,
                                                float inverse_n, int matrices, int v0,
                                                const T* staged, const T* vectors) {
    const int lines = matrices * n;
    const int thread = int(threadIdx.x) % Team;
#pragma unroll 1
    for (int base = 0; base < lines; base += Team) {
        const int r = base + thread;
        const int m = Team == 32 ? small_quotient(r, inverse_n) : 0;
        T* const to = from_team<Team>(start, m) + (r - m * n);
        if (r >= lines) continue;
        const StagedLine line(job.rows, n, m, r);
        const T* entry = staged + line.first;
        const T* factor = vectors + m * n;
        T sum[Together] = {};
#pragma unroll 4
        for (int k = 0; k < n; ++k) {
            const T value = entry[k * line.stride];
#pragma unroll
            for (int v = 0; v < Together; ++v) {
                sum[v] = fma(value, factor[v * lines + k], sum[v]);
            }
        }
#pragma unroll
        for (int v = 0; v < Together; ++v) {
            if (Together > 1 && v0 + v >= job.y.vectors) continue;
            T* const entry_of_y = Together > 1 ? to + (v0 + v) * job.y.leading_dimension : to;
            *entry_of_y = job.beta == T(0) ? job.alpha * sum[v]
                                           : fma(job.alpha, sum[v], job.beta * *entry_of_y);
        }
    }
}

/// y_b = alpha op(A_b) x_b + beta y_b. Each sum runs in ascending order of its index.
/// Width: see run_width.
template <class T, int Team, int Threads, int Together, int Width>
__global__ void __launch_bounds__(Threads, Team == 32 ? staged_thread_blocks : 1)
    multiply_kernel(const __grid_constant__ SizeClasses classes,
                    const __grid_constant__ MultiplyJob<T> job, int team_bytes) {
    extern __shared__ __align__(16) unsigned char memory[];
    const int team = int(threadIdx.x) / Team;
    const int thread = int(threadIdx.x) % Team;
    const TeamBatch batch = classes.of_block(Threads / Team);
    const int n = batch.n;
    const Offset first = batch.first + team * batch.matrices;
    if (first >= batch.end) return;
    const int matrices = int(min(Offset(batch.matrices), batch.end - first));
    unsigned char* const mine = memory + team * team_bytes;
    const T** const columns = reinterpret_cast<const T**>(mine);
    T* const staged = reinterpret_cast<T*>(Width == 1 ? mine + matrices * n * sizeof(T*) : mine);
    T* const vectors = staged + matrices * n * column_pitch(n);

    const T* a = nullptr;
    const T* x = nullptr;
    T* y = nullptr;
    if (Team > 32 || thread < matrices) {
        const Offset b = classes.matrix(first + (Team > 32 ? 0 : thread));
        a = start_of(job.a, b);
        x = start_of(job.x, b);
        y = start_of(job.y, b);
    }
    const float inverse_n = reciprocal_of(n);
    gather_vectors<Team, Together>(job.x, x, n, inverse_n, matrices, 0, vectors);
    if constexpr (Width > 1) {
        stage_run<Team, Width>(job.a.values + first * job.a.stride, n, matrices, staged);
    } else {
        stage_columns<Team>(a, n, job.a.sizes != nullptr ? n : job.a.leading_dimension, matrices,
                            columns, staged);
    }
    sync_team<Team>();
    multiply_staged<Team, Together>(job, y, n, inverse_n, matrices, 0, staged, vectors);
    if constexpr (Together > 1) {
#pragma unroll 1
        for (int v0 = Together; v0 < job.x.vectors; v0 += Together) {
            sync_team<Team>();
            gather_vectors<Team, Together>(job.x, x, n, inverse_n, matrices, v0, vectors);
            sync_team<Team>();
            multiply_staged<Team, Together>(job, y, n, inverse_n, matrices, v0, staged, vectors);
        }
    }
}

template <class T, int Team, int Threads, int Together, int Width>
void launch_multiply(const Context& context, const MultiplyJob<T>& job,
                     const StagedLaunch& launch) {
    const int bytes = Threads / Team * launch.team_bytes;
    const auto kernel = multiply_kernel<T, Team, Threads, Together, Width>;
    const cudaStream_t stream = stream_of(context);
    TESSERA_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kernel<<<launch.blocks, Threads, bytes, stream>>>(launch.classes, job, launch.team_bytes);
    TESSERA_CUDA(cudaGetLastError());
}

/// The untransposed product with matrices of at most 32 rows, one vector after the other.
template <class T>
__global__ void __launch_bounds__(32 * row_warps)
    row_multiply_kernel(const __grid_constant__ RowLaunch<T> launch,
                        const __grid_constant__ MultiplyJob<T> job, int stage_bytes,
                        int warp_bytes) {
    extern __shared__ __align__(16) unsigned char memory[];
    unsigned char* const mine = memory + int(threadIdx.x) / 32 * warp_bytes;
    const StagedRows<T> staged = stage_rows(launch, mine, stage_bytes);
    const int lane = int(threadIdx.x) % 32;
    const int n = staged.matrices.n;
    const int lines = staged.matrices.here * n;
    if (lines == 0) return;
    // Behind the addresses of the matrices those of x and y, then a vector of x.
    auto* const starts_of_x = reinterpret_cast<const T**>(mine + stage_bytes) + launch.matrices;
    auto* const starts_of_y = reinterpret_cast<T**>(mine + stage_bytes) + 2 * launch.matrices;
    T* const factors = reinterpret_cast<T*>(mine + stage_bytes + 3 * launch.matrices * 8);
    for (int m = lane; m < staged.matrices.here; m += 32) {
        const Offset at = staged.matrices.first + m;
        const Offset b = launch.order == nullptr ? at : Offset(launch.order[at]);
        starts_of_x[m] = start_of(job.x, b);
        starts_of_y[m] = start_of(job.y, b);
    }
    __syncwarp();
    for (int v = 0; v < job.x.vectors; ++v) {
        for (int line = lane; line < lines; line += 32) {
            int i = 0;
            const T* x = starts_of_x[staged.matrix_of(line, i)];
            copy_to_shared<int(sizeof(T))>(factors + line, x + v * job.x.leading_dimension + i);
        }
        wait_for_copies();
        for (int line = lane; line < lines; line += 32) {
            int i = 0;
            const int m = staged.matrix_of(line, i);
            const T* entry = staged.row(m, i);
            const T* factor = factors + m * n;
            T sum = T(0);
#pragma unroll 8
            for (int j = 0; j < n; ++j) sum = fma(entry[j * n], factor[j], sum);
            T* const y = starts_of_y[m] + v * job.y.leading_dimension + i;
            *y = job.beta == T(0) ? job.alpha * sum : fma(job.alpha, sum, job.beta * *y);
        }
        __syncwarp();
    }
}

template <class T>
void row_multiply(const Context& context, const MultiplyJob<T>& job, const Plan* plan) {
    const RowLaunch<T> launch = row_launch(job.a, plan);
    if (launch.blocks == 0) return;
    const int stage_bytes = (launch.stage_values * int(sizeof(T)) + 15) / 16 * 16;
    const int warp_bytes =
        stage_bytes + (3 * launch.matrices * 8 + launch.lines * int(sizeof(T)) + 15) / 16 * 16;
    const int bytes = row_warps * warp_bytes;
    TESSERA_CUDA(cudaFuncSetAttribute(row_multiply_kernel<T>,
                                      cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    row_multiply_kernel<T><<<launch.blocks, 32 * row_warps, bytes, stream_of(context)>>>(
        launch, job, stage_bytes, warp_bytes);
    TESSERA_CUDA(cudaGetLastError());
}

template <int Together, class T>
void multiply_by(const Context& context, const MultiplyJob<T>& job, const Plan* plan) {
    // Entries of the vectors, and an address of a column where needed.
    const int width = run_width(job.a);
    const int line_bytes = int(Together * sizeof(T) + (width == 1 ? sizeof(T*) : 0));
    if (job.rows) {
        row_multiply(context, job, plan);
    } else {
        const StagedLaunch small = staged_launch(job.a, plan, 0, largest_warp_size, line_bytes);
        if (small.blocks > 0) {
            with_width<T>(width, [&](auto w) {
                launch_multiply<T, 32, staged_threads, Together, w()>(context, job, small);
            });
        }
    }
    const Index largest = plan != nullptr ? plan->largest() : job.a.size;
    // Apart, so that shared memory for the largest does not keep smaller ones waiting.
    for (Index from = largest_warp_size + 1; from <= largest; from += 32) {
        const StagedLaunch large = staged_launch(job.a, plan, from, from + 31, line_bytes);
        if (large.blocks == 0) continue;
        constexpr int threads = staged_block_threads;
        with_width<T>(width, [&](auto w) {
            launch_multiply<T, threads, threads, Together, w()>(context, job, large);
        });
    }
}

}  // namespace

template <class T>
void multiply(const Context& context, T alpha, const BatchView<const T>& a, Transpose transpose,
              const VectorsView<const T>& x, T beta, const VectorsView<T>& y, const Plan* plan) {
    if (transpose == Transpose::no && multiply_runs(context, alpha, a, x, beta, y)) return;
    const MultiplyJob<T> job = {a, transpose == Transpose::no, alpha, x, beta, y};
    if (x.vectors == 1) {
        multiply_by<1>(context, job, plan);
    } else if (x.vectors > 1) {
        multiply_by<vectors_together>(context, job, plan);
    }
}

template void multiply<float>(const Context&, float, const BatchView<const float>&, Transpose,
                              const VectorsView<const float>&, float, const VectorsView<float>&,
                              const Plan*);
template void multiply<double>(const Context&, double, const BatchView<const double>&, Transpose,
                               const VectorsView<const double>&, double, const VectorsView<double>&,
                               const Plan*);

}  // namespace tessera::batched::cuda
