#include "batched/norm/kernels.hpp"
#include "batched/norm/larger.cuh"
#include "gpu/staged_batch.cuh"
#include "gpu/staged_rows.cuh"

namespace tessera::batched::cuda {

namespace {

using namespace tessera::cuda;

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

/// Row sums of matrices of at most 32 rows.
template <class T>
__global__ void __launch_bounds__(32 * row_warps)
    row_norm_kernel(const __grid_constant__ RowLaunch<T> launch, int stage_bytes, int warp_bytes,
                    T* norms) {
    extern __shared__ __align__(16) unsigned char memory[];
    unsigned char* const mine = memory + int(threadIdx.x) / 32 * warp_bytes;
    const StagedRows<T> staged = stage_rows(launch, mine, stage_bytes);
    const int lane = int(threadIdx.x) % 32;
    const int n = staged.matrices.n;
    const int here = staged.matrices.here;
    if (here == 0) return;
    T* const sums = reinterpret_cast<T*>(mine + stage_bytes + launch.matrices * 8);
    wait_for_copies();
    for (int line = lane; line < here * n; line += 32) {
        int i = 0;
        const int m = staged.matrix_of(line, i);
        const T* entry = staged.row(m, i);
        T sum = T(0);
#pragma unroll 8
        for (int j = 0; j < n; ++j) sum += fabs(entry[j * n]);
        sums[line + m] = sum;
    }
    __syncwarp();
    const auto tell = [&](int m, T norm) {
        const Offset at = staged.matrices.first + m;
        norms[launch.order == nullptr ? at : Offset(launch.order[at])] = norm;
    };
    if (here == 1) {
        T largest = lane < n ? sums[lane] : T(0);
#pragma unroll
        for (int distance = 16; distance > 0; distance /= 2) {
            largest = larger(__shfl_xor_sync(full_warp, largest, distance), largest);
        }
        if (lane == 0) tell(0, largest);
        return;
    }
    for (int m = lane; m < here; m += 32) {
        const T* const matrix_sums = sums + m * (n + 1);
        T largest = T(0);
#pragma unroll 4
        for (int i = 0; i < n; ++i) largest = larger(matrix_sums[i], largest);
        tell(m, largest);
    }
}

/// norms of the matrices without rows.
template <class T>
__global__ void empty_norm_kernel(Index count, const Index* order, T* norms) {
    for_elements<1>(count, [&](Offset at) { norms[order == nullptr ? at : order[at]] = T(0); });
}

/// Matrices of 0..32 rows.
template <class T>
void row_norm(const Context& context, const BatchView<const T>& a, T* norms, const Plan* plan) {
    const cudaStream_t stream = stream_of(context);
    const Index empty = plan != nullptr ? plan->begin(1) : (a.size == 0 ? a.count : 0);
    if (empty > 0) {
        empty_norm_kernel<<<blocks_for(empty, 256), 256, 0, stream>>>(
            empty, plan == nullptr ? nullptr : plan->order(), norms);
        TESSERA_CUDA(cudaGetLastError());
    }
    const RowLaunch<T> launch = row_launch(a, plan);
    if (launch.blocks == 0) return;
    const int stage_bytes = (launch.stage_values * int(sizeof(T)) + 15) / 16 * 16;
    const int warp_bytes =
        stage_bytes +
        ((launch.matrices * 8 + (launch.lines + launch.matrices) * int(sizeof(T))) + 15) / 16 * 16;
    const int bytes = row_warps * warp_bytes;
    TESSERA_CUDA(cudaFuncSetAttribute(row_norm_kernel<T>,
                                      cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    row_norm_kernel<T>
        <<<launch.blocks, 32 * row_warps, bytes, stream>>>(launch, stage_bytes, warp_bytes, norms);
    TESSERA_CUDA(cudaGetLastError());
}

}  // namespace

template <class T>
void norm(const Context& context, Sums sums, const BatchView<const T>& a, T* norms,
          const Plan* plan) {
    if (sums == Sums::rows && norm_of_run(context, a, norms)) return;
    // An address of a column (where needed), and the sums padded as the lines of a matrix are.
    const int width = run_width(a);
    const int line_bytes = int(2 * sizeof(T) + (width == 1 ? sizeof(T*) : 0));
    if (sums == Sums::rows) {
        row_norm(context, a, norms, plan);
    } else {
        const StagedLaunch small = staged_launch(a, plan, 0, largest_warp_size, line_bytes);
        if (small.blocks > 0) {
            with_width<T>(width, [&](auto w) {
                launch_norm<T, 32, staged_threads, w()>(context, sums, a, norms, small);
            });
        }
    }
    const Index largest = plan != nullptr ? plan->largest() : a.size;
    // Apart, so that shared memory for the largest does not keep smaller ones waiting.
    for (Index from = largest_warp_size + 1; from <= largest; from += 32) {
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
