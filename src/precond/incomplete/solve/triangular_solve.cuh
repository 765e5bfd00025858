#pragma once

#include <bit>
#include <cuda/atomic>

#include "precond/incomplete/solve/products.cuh"

namespace tessera::incomplete::cuda {

/// Marks an element that is not computed yet: a NaN with a payload that no kernel computes.
template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;
template <class T>
__device__ __forceinline__ T not_ready() {
    return std::bit_cast<T>(~BitsOf<T>(0));
}
template <class T>
__device__ __forceinline__ bool is_ready(T x) {
    return std::bit_cast<BitsOf<T>>(x) != ~BitsOf<T>(0);
}

/// Relaxed accesses at device scope, for elements that are passed between running thread blocks.
template <class T>
using AtomicRef = ::cuda::atomic_ref<T, ::cuda::thread_scope_device>;
template <class T>
__device__ __forceinline__ T load_relaxed(const T* x) {
    return AtomicRef<T>(*const_cast<T*>(x)).load(::cuda::memory_order_relaxed);
}

/// Reads vector elements that another warp of the kernel writes: `wait` polls those of some blocks,
/// `stride` apart, all at once until they are ready. Values are their own flags, so no memory fence
/// is needed.
struct PollingLoad {
    template <class T>
    static __device__ __forceinline__ T load(const T* x) {
        return load_relaxed(x);
    }
    template <class T, int blocks, int elements>
    static __device__ __forceinline__ void wait(const T* const (&from)[blocks], int stride,
                                                T (&values)[blocks][elements]) {
        bool waits = true;
        while (waits) {
            waits = false;
#pragma unroll
            for (int u = 0; u < blocks; ++u) {
#pragma unroll
                for (int i = 0; i < elements; ++i) {
                    if (is_ready(values[u][i])) continue;
                    values[u][i] = load_relaxed(from[u] + i * stride);
                    waits = true;
                }
            }
        }
    }
};

/// Reset before a solve: marks all elements as not ready, and zeroes the counters of started thread
/// blocks; four elements per thread.
template <class T>
__global__ void __launch_bounds__(product_threads)
    reset_kernel(Offset count, T* middle, T* y, Offset partials, T* partial,
                 unsigned* started_blocks) {
    begin_dependent();
    for_elements<4>(count, [&](Offset e) { middle[e] = y[e] = not_ready<T>(); });
    for_elements<4>(partials, [&](Offset e) { partial[e] = not_ready<T>(); });
    if (blockIdx.x == 0 && threadIdx.x < 2) started_blocks[threadIdx.x] = 0;
}

/// Writes an element for other warps; the NaN that means "not ready" becomes another NaN.
template <class T>
__device__ __forceinline__ void publish(T* to, T value) {
    AtomicRef<T>(*to).store(is_ready(value) ? value : T(__int_as_float(0x7fc00000)),
                            ::cuda::memory_order_relaxed);
}

/// Synchronisation-free sparse triangular solve: y = (I + V)^-1 b, or, `upper`, y = (I + V)^-T X b
/// with the blocks X^T of `transposes`; one warp per block row, which polls the elements that it
/// depends on. Thread blocks draw tickets, so that each row starts later than its dependencies
/// start. Pieces of long rows have warps of their own.
template <bool upper, int k, class T>
__global__ void __launch_bounds__(product_threads)
    solve_kernel(PatternView<T> a, const SolveTask* tasks, Offset task_count, const T* v,
                 const T* transposes, const T* b, T* y, T* partial, unsigned* started_blocks) {
    using Team = ProductTeam<T, k>;
    constexpr int elements = Team::template elements<upper>;
    static_assert(Team::lanes == 32);
    __shared__ unsigned ticket;
    begin_dependent();
    if (threadIdx.x == 0) ticket = atomicAdd(started_blocks, 1u);
    __syncthreads();
    const Team team;
    const Offset position = Offset(ticket) * Team::teams + int(threadIdx.x) / 32;
    if (position >= task_count) return;
    SolveTask task;
    if (tasks != nullptr) {
        task = tasks[position];
    } else {
        const Offset row = upper ? a.block_rows - 1 - position : position;
        const Offset* const offsets = upper ? a.column_offsets : a.row_offsets;
        task = {Index(row), 0, 0, offsets[row], offsets[row + 1]};
    }
    const bool whole = task.pieces >= 0;
    T* const pieces = partial + Offset(task.first_piece) * k;
    const Offset row_offset = Offset(task.row) * k;
    T own[elements] = {}, sums[elements] = {};
    if constexpr (upper) {
        if (whole) {
            transposed_block_product<k>(team, transposes + row_offset * k, b + row_offset, true,
                                        own);
        }
    } else if (whole) {  // Before it waits: rows that depend on it wait for its last load, too.
#pragma unroll
        for (int i = 0; i < elements; ++i) {
            own[i] = b[row_offset + team.template element<upper>(i)];
        }
    }
    list_sums<upper, PollingLoad, k>(a, team, {task.begin, task.end}, v, y, sums);
    if (task.pieces > 0) {
        for (int p = team.template rank<upper>(); p < task.pieces;
             p += Team::template lanes_per_sum<upper>) {
#pragma unroll
            for (int i = 0; i < elements; ++i) {
                const T* const from[1] = {pieces + p * k + team.template element<upper>(i)};
                T piece[1][1] = {{PollingLoad::load(from[0])}};
                PollingLoad::wait(from, 1, piece);
                sums[i] += piece[0][0];
            }
        }
        __syncwarp();
        add_lanes<upper, Team>(sums);
    }
    if (team.template rank<upper>() > 0) return;
    T* const to = whole ? y + row_offset : pieces;
#pragma unroll
    for (int i = 0; i < elements; ++i) {
        const int element = team.template element<upper>(i);
        publish(to + element, whole ? own[i] - sums[i] : sums[i]);
    }
}

/// Sums of a row of V (of V^T, if `upper`) by one thread, in the order of list_sums: one chain for
/// each of `chains` groups of elements of a block, added up in pairs.
template <bool upper, int k, class T>
struct RowSums {
    static constexpr int width = upper ? product_width<T>(k) : 1;  ///< Elements of a chain.
    static constexpr int chains = k / width;
    static constexpr int in_flight =
        k == 1 ? 4 : 2;  ///< Blocks whose elements are awaited at once.
    T sums[chains] = {};
    const T* from[in_flight];  ///< Elements of y of the blocks that are read next,
    T values[in_flight][k];    ///< and the values of the row in these blocks.
    int count = 0;

    /// Reads the values of the blocks of a list, the last ones first if `upper`.
    __device__ __forceinline__ void load(const PatternView<T>& a, Offset begin, Offset end, int row,
                                         const T* v, const T* y) {
        const Index* const others = upper ? a.rows : a.columns;
        count = int(min(end - begin, Offset(in_flight)));
#pragma unroll
        for (int u = 0; u < in_flight; ++u) {
            const Offset e = begin + min(u, count - 1);
            const Offset block = upper ? begin + end - 1 - e : Offset(a.row_blocks[e]);
            from[u] = y + Offset(others[block]) * k;
            const T* const in_block = v + block * (k * k) + (upper ? row * k : row);
#pragma unroll
            for (int c = 0; c < k; ++c) values[u][c] = in_block[upper ? c : c * k];
        }
    }
    /// Adds the products with these blocks; false if an element is not computed yet.
    __device__ __forceinline__ bool add() {
        T elements[in_flight][k];
        bool ready = true;
#pragma unroll
        for (int u = 0; u < in_flight; ++u) {
#pragma unroll
            for (int c = 0; c < k; ++c) {
                elements[u][c] = load_relaxed(from[u] + c);
                ready = ready && is_ready(elements[u][c]);
            }
        }
        if (!ready) return false;
#pragma unroll
        for (int u = 0; u < in_flight; ++u) {
            if (u >= count) break;
#pragma unroll
            for (int c = 0; c < k; ++c) {
                T& sum = sums[c / width];
                sum = fma(values[u][c], elements[u][c], sum);
            }
        }
        return true;
    }
    __device__ __forceinline__ T total() const {
        T all[chains];
#pragma unroll
        for (int c = 0; c < chains; ++c) all[c] = sums[c];
#pragma unroll
        for (int distance = 1; distance < chains; distance *= 2) {
#pragma unroll
            for (int c = 0; c + distance < chains; c += 2 * distance) all[c] += all[c + distance];
        }
        return all[0];
    }
};

/// Synchronisation-free sparse triangular solve for blocks of fewer than 8 rows: y = (I + V)^-1 b,
/// or, `upper`, y = (I + V)^-T b; k threads per block row, one for each row. A thread never waits
/// within an iteration of its loop, as rows of its own warp may depend on each other. Few warps,
/// which draw tickets for consecutive rows, so that polling does not slow down the others.
template <bool upper, int k, class T>
__global__ void __launch_bounds__(product_threads)
    solve_rows_kernel(PatternView<T> a, const SolveTask* tasks, Offset task_count, const T* v,
                      const T* b, T* y, T* partial, unsigned* started_warps) {
    constexpr int rows_per_warp = 32 / k;
    begin_dependent();
    const int lane = int(threadIdx.x) % 32, row = lane % k;
    for (;;) {
        unsigned ticket = 0;
        if (lane == 0) ticket = atomicAdd(started_warps, 1u);
        ticket = __shfl_sync(full_warp, ticket, 0);
        const Offset first = Offset(ticket) * rows_per_warp;
        if (first >= task_count) return;
        const Offset position = first + lane / k;
        SolveTask task{0, 0, 0, 0, 0};
        bool done = position >= task_count;
        if (!done && tasks != nullptr) task = tasks[position];
        if (!done && tasks == nullptr) {
            const Offset i = upper ? a.block_rows - 1 - position : position;
            const Offset* const offsets = upper ? a.column_offsets : a.row_offsets;
            task = {Index(i), 0, 0, offsets[i], offsets[i + 1]};
        }
        const Offset element = Offset(task.row) * k + row;
        const bool whole = task.pieces >= 0;
        const T own = !done && whole ? b[element] : T(0);
        T* const pieces = partial + Offset(task.first_piece) * k + row;
        Offset begin = task.begin, end = task.end;
        int piece = 0;
        T sum_of_pieces = T(0);
        RowSums<upper, k, T> sums;
        while (!done) {
            if (sums.count == 0 && begin < end) sums.load(a, begin, end, row, v, y);
            if (sums.count > 0 && sums.add()) {
                (upper ? end : begin) += upper ? -sums.count : sums.count;
                sums.count = 0;
            }
            if (piece < task.pieces) {
                const T value = load_relaxed(pieces + Offset(piece) * k);
                if (is_ready(value)) sum_of_pieces += value;
                if (is_ready(value)) ++piece;
            }
            if (begin == end && piece >= task.pieces) {
                const T sum = sums.total() + sum_of_pieces;
                publish(whole ? y + element : pieces, whole ? own - sum : sum);
                done = true;
            }
        }
        __syncwarp();
    }
}

template <class T>
void reset_solve(const Context& context, Offset count, T* first, T* second, Offset partials,
                 T* partial, unsigned* started_blocks) {
    launch_dependent(&reset_kernel<T>, blocks_for(std::max(count, partials), 4 * product_threads),
                     product_threads, 0, stream_of(context), count, first, second, partials,
                     partial, started_blocks);
}

template <class T>
void solve_rows(const Context& context, const PatternView<T>& a, bool upper,
                const SolveTasks<T>& tasks, const T* v, const T* transposes, const T* b, T* y) {
    with_block_size(a.k, [&](auto size) {
        constexpr int k = decltype(size)::value;
        const Offset count = a.block_rows + tasks.pieces;
        if constexpr (k >= 8) {
            launch_dependent(upper ? &solve_kernel<true, k, T> : &solve_kernel<false, k, T>,
                             blocks_for(count, ProductTeam<T, k>::teams), product_threads, 0,
                             stream_of(context), a, tasks.list, count, v, transposes, b, y,
                             tasks.partial, tasks.started_blocks);
        } else {
            const unsigned blocks =
                std::min(blocks_for(count * k, product_threads), solve_rows_blocks);
            launch_dependent(
                upper ? &solve_rows_kernel<true, k, T> : &solve_rows_kernel<false, k, T>, blocks,
                product_threads, 0, stream_of(context), a, tasks.list, count, v, b, y,
                tasks.partial, tasks.started_blocks);
        }
    });
}

}  // namespace tessera::incomplete::cuda
