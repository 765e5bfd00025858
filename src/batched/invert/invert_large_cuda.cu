#include <algorithm>
#include <limits>

#include "batched/invert/kernels.hpp"
#include "gpu/batch_view.cuh"
#include "gpu/launch.cuh"
#include "gpu/load.cuh"
#include "gpu/tiles/elimination/panel_warp.cuh"
#include "gpu/tuning/panels_h200.hpp"

namespace tessera::batched::cuda {

namespace {

using namespace tessera::cuda;

template <class T, int Groups>
using InverseRows = PanelRows<T, Groups, PanelMethod::gauss_jordan>;

/// max_i sum_j |a_ij| of the rows of a warp.
template <class T, int Groups>
__device__ __forceinline__ T row_sum_norm(const InverseRows<T, Groups>& part) {
    T largest = T(0);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        T sum = T(0);
#pragma unroll
        for (int t = 0; t < part.tiles; ++t) {
            sum += fabs(part.c[t][2 * half]) + fabs(part.c[t][2 * half + 1]);
        }
        largest = fmax(lanes_sum<4>(sum), largest);
    }
    return lanes_max_magnitude(largest);
}

/// The maximum over the warps; `which` is 0 for the matrix and 1 for the inverse.
template <class T, int Groups>
__device__ __forceinline__ T largest_norm(const PanelTeamMemory<T, Groups>& memory, int which) {
    T result = memory.norm[which][0];
#pragma unroll
    for (int w = 1; w < Groups; ++w) result = fmax(memory.norm[which][w], result);
    return result;
}

/// The inverse from D: c := X(step of the row, row of step k), k the column.
template <class T, int Groups>
__device__ __forceinline__ void scale_rows(InverseRows<T, Groups>& part,
                                           const PanelTeamMemory<T, Groups>& memory, int n,
                                           int rotations) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const bool inside = part.row(half) < n;
        const int step = memory.step[part.row(half)];
        const T scale = inside ? memory.reciprocal[step] : T(0);
#pragma unroll
        for (int t = 0; t < part.tiles; ++t) {
#pragma unroll
            for (int e = 2 * half; e < 2 * half + 2; ++e) {
                const T one = part.column_after(t, e, rotations) == step ? T(1) : T(0);
                part.c[t][e] = (part.c[t][e] + one) * scale;
            }
        }
    }
}

/// Stores the inverse to shared memory, by columns or by rows.
template <class T, int Groups>
__device__ __forceinline__ void stage_inverse(const InverseRows<T, Groups>& part,
                                              PanelTeamMemory<T, Groups>& memory, int n,
                                              int rotations, bool by_columns) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int i = memory.step[part.row(half)];
#pragma unroll
        for (int t = 0; t < part.tiles; ++t) {
#pragma unroll
            for (int e = 2 * half; e < 2 * half + 2; ++e) {
                const int k = part.column_after(t, e, rotations);
                if (part.row(half) >= n || k >= n) continue;
                const int j = memory.row_of_step[k];
                memory.inverse[by_columns ? j : i][by_columns ? i : j] = part.c[t][e];
            }
        }
    }
}

/// The part of the warps with rows: the inverse in shared memory unless a pivot is not usable, and
/// what its results need.
template <class T, int Groups>
__device__ __forceinline__ void invert_rows(const InvertJob<T>& job, Offset b, int n, int warp,
                                            PanelTeamMemory<T, Groups>& memory) {
    InverseRows<T, Groups> part(memory, warp);
    const StridedMatrix<const T> a(job.a, b, n);
    part.load([&](int i, int j) {
        return load_coherent_if(i < n && j < n, a.start + i * a.row_stride + j * a.column_stride,
                                T(0));
    });
    const bool wants_condition = job.results.reciprocal_condition != nullptr;
    const T norm = wants_condition ? row_sum_norm(part) : T(0);
    part.eliminate(memory, n);
    const int rotations = (n + 7) / 8;
    scale_rows(part, memory, n, rotations);
    T check = T(0);  // NaN if an element is not finite.
#pragma unroll
    for (int t = 0; t < part.tiles; ++t) {
#pragma unroll
        for (int e = 0; e < 4; ++e) check = fma(part.c[t][e], T(0), check);
    }
    const bool failed = __any_sync(full_warp, !(check == T(0)));
    const T of_inverse = wants_condition ? row_sum_norm(part) : T(0);
    if (part.lane == 0) {
        memory.largest[warp] = failed ? 1 : 0;
        memory.norm[0][warp] = norm;
        memory.norm[1][warp] = of_inverse;
    }
    if (job.store && memory.info == 0) {
        part.wait_for_rows(memory, rotations % 2);  // They eliminate with what it replaces.
        stage_inverse(part, memory, n, rotations, StridedMatrix<T>(job.x, b, n).row_stride == 1);
    }
}

/// Gauss-Jordan elimination by panels (gpu/tiles/elimination/thread_block_panels.cuh), a matrix per
/// thread block, from position `first` of the order on.
template <class T, int Groups>
__global__ void __launch_bounds__(32 * (Groups + 1),
                                  panel_team_blocks<T>(Groups, PanelMethod::gauss_jordan))
    invert_kernel(const __grid_constant__ InvertJob<T> job, Index first, bool first_in_chain) {
    extern __shared__ __align__(16) unsigned char panel_memory[];
    auto& memory = by_register(*reinterpret_cast<PanelTeamMemory<T, Groups>*>(panel_memory));
    if (begin_in_chain(first_in_chain)) return;
    const Offset position = Offset(first) + blockIdx.x;
    const Offset b = job.order != nullptr ? Offset(job.order[position]) : position;
    const int n = job.a.sizes != nullptr ? job.a.sizes[b] : job.a.size;
    const int warp = uniform_warp();
    memory.begin();
    if (warp < Groups) {
        invert_rows(job, b, n, warp, memory);
    } else {
        PanelWarp<T, Groups, PanelMethod::gauss_jordan>(0).eliminate(memory, n);
    }
    __syncthreads();
    unsigned failed = 0;
    for (int w = 0; w < Groups; ++w) failed |= memory.largest[w];
    const int info = memory.info != 0 ? memory.info : failed != 0 ? n : 0;
    if (threadIdx.x == 0) {
        const bool wants_condition = job.results.reciprocal_condition != nullptr;
        write_results(job.results, b, info, wants_condition ? largest_norm(memory, 0) : T(0),
                      wants_condition ? largest_norm(memory, 1) : T(0));
    }
    if (!job.store) return;
    const StridedMatrix<T> x(job.x, b, n);
    const Offset stride = x.row_stride == 1 ? x.column_stride : x.row_stride;
    for (int line = warp; line < n; line += Groups + 1) {
        for (int i = int(threadIdx.x) % 32; i < n; i += 32) {
            x.start[line * stride + i] =
                info == 0 ? memory.inverse[line][i] : std::numeric_limits<T>::quiet_NaN();
        }
    }
}

/// Launches the matrices of 16 (Groups - 1) + 1 .. 16 Groups rows, after the larger ones.
template <int Groups, class T>
void launch_from(tessera::cuda::LaunchChain& chain, const InvertJob<T>& job) {
    constexpr Index largest = 16 * Groups;
    constexpr Index smallest = std::max(largest - 16, Index(32)) + 1;
    if constexpr (largest < largest_size) launch_from<Groups + 1>(chain, job);
    Index first = 0;
    Index count = job.a.size >= smallest && job.a.size <= largest ? job.a.count : 0;
    if (job.plan != nullptr) {
        first = job.plan->begin(smallest);
        count = job.plan->begin(largest + 1) - first;
    }
    if (count > 0) {
        chain.launch(invert_kernel<T, Groups>, unsigned(count), 32 * (Groups + 1),
                     int(sizeof(PanelTeamMemory<T, Groups>)), job, first);
    }
}

}  // namespace

template <class T>
void invert_large(tessera::cuda::LaunchChain& chain, const InvertJob<T>& job) {
    launch_from<3>(chain, job);
}

template decltype(invert_large<float>) invert_large<float>;
template decltype(invert_large<double>) invert_large<double>;

}  // namespace tessera::batched::cuda
