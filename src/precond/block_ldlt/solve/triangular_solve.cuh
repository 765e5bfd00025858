#pragma once

#include "precond/block_ldlt/solve/products.cuh"

namespace tessera::block_ldlt::cuda {

/// What an element of a vector is until it is known: a NaN that no kernel computes.
__device__ __forceinline__ double unknown(double) { return __longlong_as_double(~0LL); }
__device__ __forceinline__ float unknown(float) { return __int_as_float(~0); }
__device__ __forceinline__ bool is_known(double x) { return __double_as_longlong(x) != ~0LL; }
__device__ __forceinline__ bool is_known(float x) { return __float_as_int(x) != ~0; }

/// Accesses of elements that thread blocks exchange while they run.
__device__ __forceinline__ double load_relaxed(const double* x) {
    double value;
    asm volatile("ld.relaxed.gpu.global.f64 %0, [%1];" : "=d"(value) : "l"(x) : "memory");
    return value;
}
__device__ __forceinline__ float load_relaxed(const float* x) {
    float value;
    asm volatile("ld.relaxed.gpu.global.f32 %0, [%1];" : "=f"(value) : "l"(x) : "memory");
    return value;
}
__device__ __forceinline__ void store_relaxed(double* to, double value) {
    asm volatile("st.relaxed.gpu.global.f64 [%0], %1;" ::"l"(to), "d"(value) : "memory");
}
__device__ __forceinline__ void store_relaxed(float* to, float value) {
    asm volatile("st.relaxed.gpu.global.f32 [%0], %1;" ::"l"(to), "f"(value) : "memory");
}

/// An element that another warp of the kernel is to write; `settled` waits until what was loaded is
/// known. The values are their own flags, so that no order between different elements matters.
struct OnceKnown {
    template <class T>
    static __device__ __forceinline__ T load(const T* x) {
        return load_relaxed(x);
    }
    template <class T>
    static __device__ __forceinline__ T settled(const T* x, T value) {
        while (!is_known(value)) value = load_relaxed(x);
        return value;
    }
};

/// Makes all elements unknown, and both counts of started thread blocks 0.
template <class T>
__global__ void __launch_bounds__(product_threads)
    forget_kernel(Offset count, T* middle, T* y, Offset partials, T* partial, unsigned* started) {
    begin_dependent();
    for_elements<4>(count, [&](Offset e) { middle[e] = y[e] = unknown(T()); });
    for_elements<4>(partials, [&](Offset e) { partial[e] = unknown(T()); });
    if (blockIdx.x == 0 && threadIdx.x < 2) started[threadIdx.x] = 0;
}

/// Stores what is known now; where it is the NaN that stands for what is not, another one.
template <class T>
__device__ __forceinline__ void store_known(T* to, T value) {
    store_relaxed(to, is_known(value) ? value : T(__int_as_float(0x7fc00000)));
}

/// What the warp at a place of the order does.
template <bool upper, class T>
__device__ __forceinline__ SolveTask task_at(const PatternView<T>& a, const SolveTask* tasks,
                                             Offset place) {
    if (tasks != nullptr) return tasks[place];
    const Offset row = upper ? a.block_rows - 1 - place : place;
    const Offset* const offsets = upper ? a.column_offsets : a.row_offsets;
    return {Index(row), 0, 0, offsets[row], offsets[row + 1]};
}

/// Both triangular solves, a warp a block row: y = (I + V)^-1 b, or y = (I + V)^-T X b. Each waits
/// for what it needs. Thread blocks take their rows in the order in which they start, so that what
/// a row needs is never behind it. Long rows are in pieces, which their own warps add up.
template <bool upper, int k, class T>
__global__ void __launch_bounds__(product_threads)
    solve_kernel(PatternView<T> a, const SolveTask* tasks, Offset task_count, const T* v,
                 const T* inverses, const T* b, T* y, T* partial, unsigned* started) {
    using Team = ProductTeam<T, k>;
    static_assert(Team::lanes == 32);
    __shared__ unsigned turn;
    begin_dependent();
    if (threadIdx.x == 0) turn = atomicAdd(started, 1u);
    __syncthreads();
    const Team at;
    const Offset place = Offset(turn) * Team::teams + int(threadIdx.x) / 32;
    if (place >= task_count) return;
    const SolveTask task = task_at<upper>(a, tasks, place);
    const bool whole = task.pieces >= 0;
    const ListRange range{task.begin, task.end};
    const T* const piece = partial + Offset(task.first_piece) * k;
    const Offset own_place = Offset(task.row) * k;
    T* const to = whole ? y + own_place : partial + Offset(task.first_piece) * k;
    if constexpr (upper) {
        T own[Team::steps] = {}, sums[Team::steps] = {};
        if (whole) {
            symmetric_product<k>(at, inverses + own_place * k, b + own_place, true, own);
        }
        upper_sums<OnceKnown, k>(a, at, range, v, y, sums);
        if (task.pieces > 0) {
            for (int p = at.row / Team::width; p < task.pieces; p += Team::row_lanes) {
#pragma unroll
                for (int s = 0; s < Team::steps; ++s) {
                    const T* from = piece + p * k + at.column + s * Team::step_columns;
                    sums[s] += OnceKnown::settled(from, OnceKnown::load(from));
                }
            }
            __syncwarp();
            add_rows<k, T>(sums);
        }
        if (at.row > 0) return;
#pragma unroll
        for (int s = 0; s < Team::steps; ++s) {
            const T sum = whole ? own[s] - sums[s] : sums[s];
            store_known(to + at.column + s * Team::step_columns, sum);
        }
    } else {
        T sums[Team::width] = {};
        lower_sums<OnceKnown, k>(a, at, range, v, y, sums);
        if (task.pieces > 0) {
            for (int p = at.column; p < task.pieces; p += Team::step_columns) {
#pragma unroll
                for (int r = 0; r < Team::width; ++r) {
                    const T* from = piece + p * k + at.row + r;
                    sums[r] += OnceKnown::settled(from, OnceKnown::load(from));
                }
            }
            __syncwarp();
            add_columns<k, T>(sums);
        }
        if (at.column > 0) return;
#pragma unroll
        for (int r = 0; r < Team::width; ++r) {
            const T sum = whole ? b[own_place + at.row + r] - sums[r] : sums[r];
            store_known(to + at.row + r, sum);
        }
    }
}

template <class T>
void solve_rows(const Context& context, const PatternView<T>& a, const SolveTasks<T>& tasks,
                const T* v, const T* inverses, const T* x, T* middle, T* y, unsigned* started) {
    if (a.block_rows == 0) return;
    with_block_size(a.k, [&](auto size) {
        constexpr int k = decltype(size)::value;
        if constexpr (k >= 8) {
            using Team = ProductTeam<T, k>;
            const cudaStream_t stream = stream_of(context);
            const Offset count = Offset(a.block_rows) * k;
            const Offset partials = Offset(tasks.lower_pieces + tasks.upper_pieces) * k;
            launch_dependent(
                &forget_kernel<T>, blocks_for(std::max(count, partials), 4 * product_threads),
                product_threads, 0, stream, count, middle, y, partials, tasks.partial, started);
            const Offset lower = a.block_rows + tasks.lower_pieces;
            launch_dependent(&solve_kernel<false, k, T>, blocks_for(lower, Team::teams),
                             product_threads, 0, stream, a, tasks.lower, lower, v, inverses, x,
                             middle, tasks.partial, started);
            const Offset upper = a.block_rows + tasks.upper_pieces;
            T* const partial = tasks.partial + Offset(tasks.lower_pieces) * k;
            launch_dependent(&solve_kernel<true, k, T>, blocks_for(upper, Team::teams),
                             product_threads, 0, stream, a, tasks.upper, upper, v, inverses,
                             static_cast<const T*>(middle), y, partial, started + 1);
        }
    });
}

}  // namespace tessera::block_ldlt::cuda
