#include "batched/norm/kernels.hpp"
#include "gpu/staged_batch.cuh"

namespace tessera::batched::cuda {

namespace {

using namespace tessera::cuda;

/// NaN stays.
template <class T>
__device__ __forceinline__ T larger(T sum, T largest) {
    return sum > largest || isnan(sum) ? sum : largest;
}

/// norms of the matrices from position `first` on: the largest of the n values from
/// sums[m column_pitch(n)] on of each matrix m.
template <class T>
__device__ __forceinline__ void largest_sums(const SizeClasses& classes, Offset first, int n,
                                             int matrices, const T* sums, T* norms) {
    const int lane = int(threadIdx.x) % 32;
    T largest = T(0);
    if (matrices == 1) {
        for (int k = lane; k < n; k += 32) largest = larger(sums[k], largest);
#pragma unroll
        for (int distance = 16; distance > 0; distance /= 2) {
            largest = larger(__shfl_xor_sync(full_warp, largest, distance), largest);
        }
    } else if (lane < matrices) {
        const T* mine = sums + lane * column_pitch(n);
#pragma unroll 4
        for (int k = 0; k < n; ++k) largest = larger(mine[k], largest);
    }
    if (lane < matrices) norms[classes.matrix(first + lane)] = largest;
}

/// Width: see run_width.
template <class T, int Team, int Threads, int Width>
__global__ void __launch_bounds__(Threads, Team == 32 ? staged_thread_blocks : 1)
    norm_kernel(const __grid_constant__ SizeClasses classes,
                const __grid_constant__ BatchView<const T> a, bool rows, int team_bytes, T* norms) {
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
    T* const sums = staged + matrices * n * column_pitch(n);

    if constexpr (Width > 1) {
        stage_run<Team, Width>(a.values + first * a.stride, n, matrices, staged);
    } else {
        const T* start = nullptr;
        if (Team > 32 || thread < matrices) {
            start = start_of(a, classes.matrix(first + (Team > 32 ? 0 : thread)));
        }
        stage_columns<Team>(start, n, a.sizes != nullptr ? n : a.leading_dimension, matrices,
                            columns, staged);
    }
    sync_team<Team>();
    const float inverse_n = reciprocal_of(n);
    const int line_pad = column_pitch(n) - n;
    for (int r = thread; r < matrices * n; r += Team) {
        const int m = matrices == 1 ? 0 : small_quotient(r, inverse_n);
        const StagedLine line(rows, n, m, r);
        const T* entry = staged + line.first;
        T sum = T(0);
#pragma unroll 4
        for (int x = 0; x < n; ++x) sum += fabs(entry[x * line.stride]);
        sums[r + line_pad * m] = sum;
    }
    sync_team<Team>();
    if (thread < 32) largest_sums(classes, first, n, matrices, sums, norms);
}

template <class T, int Team, int Threads, int Width>
void launch_norm(const Context& context, Sums sums, const BatchView<const T>& a, T* norms,
                 const StagedLaunch& launch) {
    const int bytes = Threads / Team * launch.team_bytes;
    const auto kernel = norm_kernel<T, Team, Threads, Width>;
    const cudaStream_t stream = stream_of(context);
    TESSERA_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kernel<<<launch.blocks, Threads, bytes, stream>>>(launch.classes, a, sums == Sums::rows,
                                                      launch.team_bytes, norms);
    TESSERA_CUDA(cudaGetLastError());
}

}  // namespace

template <class T>
void norm(const Context& context, Sums sums, const BatchView<const T>& a, T* norms,
          const Plan* plan) {
    // An address of a column (where needed), and the sums padded as the lines of a matrix are.
    const int width = run_width(a);
    const int line_bytes = int(2 * sizeof(T) + (width == 1 ? sizeof(T*) : 0));
    const StagedLaunch small = staged_launch(a, plan, 0, largest_warp_size, line_bytes);
    if (small.blocks > 0) {
        with_width<T>(width, [&](auto w) {
            launch_norm<T, 32, staged_threads, w()>(context, sums, a, norms, small);
        });
    }
    // Apart, so that shared memory for the largest does not keep smaller ones waiting.
    for (Index from = largest_warp_size + 1; from <= largest_size; from += 32) {
        const StagedLaunch large = staged_launch(a, plan, from, from + 31, line_bytes);
        if (large.blocks == 0) continue;
        constexpr int threads = staged_block_threads;
        with_width<T>(width, [&](auto w) {
            launch_norm<T, threads, threads, w()>(context, sums, a, norms, large);
        });
    }
}

template void norm<float>(const Context&, Sums, const BatchView<const float>&, float*, const Plan*);
template void norm<double>(const Context&, Sums, const BatchView<const double>&, double*,
                           const Plan*);

}  // namespace tessera::batched::cuda
