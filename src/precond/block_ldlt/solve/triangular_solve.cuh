#pragma once

#include <bit>
#include <cuda/atomic>

#include "precond/block_ldlt/solve/products.cuh"

namespace tessera::block_ldlt::cuda {

/// What an element of a vector is until it is known: a NaN that no kernel computes.
template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;
template <class T>
__device__ __forceinline__ T unknown() {
    return std::bit_cast<T>(~BitsOf<T>(0));
}
template <class T>
__device__ __forceinline__ bool is_known(T x) {
    return std::bit_cast<BitsOf<T>>(x) != ~BitsOf<T>(0);
}

/// For elements that thread blocks exchange while they run.
template <class T>
using Exchanged = ::cuda::atomic_ref<T, ::cuda::thread_scope_device>;
template <class T>
__device__ __forceinline__ T load_relaxed(const T* x) {
    return Exchanged<T>(*const_cast<T*>(x)).load(::cuda::memory_order_relaxed);
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
    for_elements<4>(count, [&](Offset e) { middle[e] = y[e] = unknown<T>(); });
    for_elements<4>(partials, [&](Offset e) { partial[e] = unknown<T>(); });
    if (blockIdx.x == 0 && threadIdx.x < 2) started[threadIdx.x] = 0;
}

/// Stores what is known now; where it is the NaN that stands for what is not, another one.
template <class T>
__device__ __forceinline__ void store_known(T* to, T value) {
    Exchanged<T>(*to).store(is_known(value) ? value : T(__int_as_float(0x7fc00000)),
                            ::cuda::memory_order_relaxed);
}

/// Sparse triangular solve without synchronisation between levels: y = (I + V)^-1 b, or, `upper`,
/// y = (I + V)^-T X b; one warp a block row, which polls the elements it waits for. Thread blocks
/// take their rows in the order in which they start, so that what a row needs is never after it.
/// Long rows are in pieces, which their own warps add up.
template <bool upper, int k, class T>
__global__ void __launch_bounds__(product_threads)
    solve_kernel(PatternView<T> a, const SolveTask* tasks, Offset task_count, const T* v,
                 const T* inverses, const T* b, T* y, T* partial, unsigned* started) {
    using Team = ProductTeam<T, k>;
    constexpr int elements = Team::template elements<upper>;
    static_assert(Team::lanes == 32);
    __shared__ unsigned turn;
    begin_dependent();
    if (threadIdx.x == 0) turn = atomicAdd(started, 1u);
    __syncthreads();
    const Team at;
    const Offset place = Offset(turn) * Team::teams + int(threadIdx.x) / 32;
    if (place >= task_count) return;
    SolveTask task;
    if (tasks != nullptr) {
        task = tasks[place];
    } else {
        const Offset row = upper ? a.block_rows - 1 - place : place;
        const Offset* const offsets = upper ? a.column_offsets : a.row_offsets;
        task = {Index(row), 0, 0, offsets[row], offsets[row + 1]};
    }
    const bool whole = task.pieces >= 0;
    T* const pieces = partial + Offset(task.first_piece) * k;
    const Offset own_place = Offset(task.row) * k;
    T own[elements] = {}, sums[elements] = {};
    if constexpr (upper) {
        if (whole) symmetric_product<k>(at, inverses + own_place * k, b + own_place, true, own);
    }
    list_sums<upper, OnceKnown, k>(a, at, {task.begin, task.end}, v, y, sums);
    if (task.pieces > 0) {
        for (int p = at.template rank<upper>(); p < task.pieces;
             p += Team::template sharers<upper>) {
#pragma unroll
            for (int i = 0; i < elements; ++i) {
                const T* from = pieces + p * k + at.template element<upper>(i);
                sums[i] += OnceKnown::settled(from, OnceKnown::load(from));
            }
        }
        __syncwarp();
        add_lanes<upper, Team>(sums);
    }
    if (at.template rank<upper>() > 0) return;
    T* const to = whole ? y + own_place : pieces;
#pragma unroll
    for (int i = 0; i < elements; ++i) {
        const int element = at.template element<upper>(i);
        if (!upper && whole) own[i] = b[own_place + element];
        store_known(to + element, whole ? own[i] - sums[i] : sums[i]);
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
