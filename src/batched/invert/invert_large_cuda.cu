#include <algorithm>
#include <limits>

#include "batched/invert/kernels.hpp"
#include "gpu/batch_view.cuh"
#include "gpu/launch.cuh"
#include "gpu/tiles/elimination/gauss_jordan.cuh"
#include "gpu/tuning/batched_h200.hpp"

namespace tessera::batched::cuda {

namespace {

using namespace tessera::cuda;

/// A thread block of `Columns` warps holds one matrix of up to 16 Columns rows in registers. Thread
/// (x, y), x = 0..15, holds columns x + 16 j and rows 2 y + 4 Columns i, 2 y + 1 + 4 Columns i: a
/// tile of 8 x Columns values.
constexpr int tile_rows = large_tile_rows;
constexpr int grid_columns = 16;

/// Shared memory of a thread block: pivot row, pivot column and multipliers of a step, permutation.
template <class T, int Columns>
struct alignas(16) SharedState {
    static constexpr int capacity = grid_columns * Columns;
    T multiplier[2][capacity];  ///< Per row, 0 for the pivot row; double-buffered by k % 2.
    T pivot_row[2][capacity];   ///< Register j of thread column x at 16 j + x; by k % 2.
    T column[capacity];         ///< The pivot column before the step.
    T reciprocal[capacity];     ///< Reciprocal of the pivot of each row.
    int step_of_row[capacity];
    int row_of_step[capacity];
    T largest[Columns];  ///< Maximum of each warp.
};

template <class T, int Columns>
struct Tile {
    T a[tile_rows][Columns];
    int x;
    int y;

    __device__ __forceinline__ int row(int i) const {
        return 2 * y + i % 2 + 4 * Columns * (i / 2);
    }
    /// The column in register j after `rotations` rotations.
    __device__ __forceinline__ int column(int j, int rotations) const {
        return x + grid_columns * ((j + rotations) % Columns);
    }
};

/// Maximum over the thread block of one non-negative value per thread; valid in all threads.
template <class T, int Columns>
__device__ __forceinline__ T block_max(T value, SharedState<T, Columns>& shared) {
    value = lanes_max(value);
    __syncthreads();
    if (threadIdx.x % 32 == 0) shared.largest[threadIdx.x / 32] = value;
    __syncthreads();
    value = shared.largest[0];
#pragma unroll
    for (int w = 1; w < Columns; ++w) value = fmax(value, shared.largest[w]);
    return value;
}

/// max_i sum_j |a_ij|, valid in all threads.
template <class T, int Columns>
__device__ __forceinline__ T row_sum_norm(const Tile<T, Columns>& tile,
                                          SharedState<T, Columns>& shared) {
    T largest = T(0);
#pragma unroll
    for (int i = 0; i < tile_rows; ++i) {
        T sum = T(0);
#pragma unroll
        for (int j = 0; j < Columns; ++j) sum += fabs(tile.a[i][j]);
#pragma unroll
        for (int distance = grid_columns / 2; distance > 0; distance /= 2) {
            sum += __shfl_xor_sync(full_warp, sum, distance);
        }
        largest = fmax(largest, sum);
    }
    return block_max(largest, shared);
}

/// The row of largest magnitude in the pivot column among the rows not yet chosen, the first of
/// equals; each warp finds it redundantly. Lane l searches the rows l + 32 q; bit q of `chosen`
/// marks former pivot rows. The row index occupies seven bits of the magnitude's high word (see
/// magnitude_bits), so magnitudes that differ by less than 2^-13 of the larger may count as equal.
template <class T, int Columns>
__device__ __forceinline__ int find_pivot_row(const SharedState<T, Columns>& shared,
                                              unsigned& chosen) {
    constexpr int rows_per_lane = (SharedState<T, Columns>::capacity + 31) / 32;
    constexpr unsigned bits = magnitude_bits & ~127u;
    const int lane = int(threadIdx.x) % 32;
    unsigned key = 0;
#pragma unroll
    for (int q = 0; q < rows_per_lane; ++q) {
        if ((chosen >> q & 1) == 0) {
            const int row = lane + 32 * q;
            key = max(key, (high_word(shared.column[row]) & bits) | unsigned(127 - row));
        }
    }
    const int pivot_row = 127 - int(__reduce_max_sync(full_warp, key) & 127u);
    if (pivot_row % 32 == lane) chosen |= 1u << (pivot_row / 32);
    return pivot_row;
}

/// Writes the pivot column of step k, held in register j, to shared memory.
template <class T, int Columns>
__device__ __forceinline__ void pivot_column_to_smem(const Tile<T, Columns>& tile, int k, int j,
                                                     SharedState<T, Columns>& shared) {
    if (tile.x != k % grid_columns) return;
#pragma unroll
    for (int i = 0; i < tile_rows; ++i) shared.column[tile.row(i)] = tile.a[i][j];
}

/// Writes the multipliers of step k, one row per thread in the first threads. Returns, in these,
/// whether pivot and reciprocal are finite.
template <class T, int Columns>
__device__ __forceinline__ bool multipliers_to_smem(int n, int k, int pivot_row,
                                                    SharedState<T, Columns>& shared) {
    const int thread = int(threadIdx.x);
    if (thread >= SharedState<T, Columns>::capacity) return true;
    const T pivot = shared.column[pivot_row];
    const T reciprocal = T(1) / pivot;
    T multiplier = T(0);
    if (thread == pivot_row) {
        shared.reciprocal[thread] = reciprocal;
        shared.step_of_row[thread] = k;
        shared.row_of_step[k] = thread;
    } else if (thread < n) {
        multiplier = minus_quotient(shared.column[thread], pivot, -reciprocal);
    }
    shared.multiplier[k % 2][thread] = multiplier;
    return isfinite(pivot) && isfinite(reciprocal);
}

/// Writes the pivot row of step k to shared memory, and replaces the pivot column, register 0, by
/// 1 in the pivot row and 0 elsewhere, so that one update serves the whole matrix.
template <class T, int Columns>
__device__ __forceinline__ void pivot_row_to_smem(Tile<T, Columns>& tile, int k, int pivot_row,
                                                  SharedState<T, Columns>& shared) {
    if (tile.x == k % grid_columns) {
#pragma unroll
        for (int i = 0; i < tile_rows; ++i) tile.a[i][0] = T(tile.row(i) == pivot_row ? 1 : 0);
    }
    const int warp_of_row =
        pivot_row % (4 * Columns) / 4;  // A warp holds groups of four adjacent rows.
    if (warp_of_row != int(threadIdx.x) / 32) return;
#pragma unroll
    for (int i = 0; i < tile_rows; ++i) {
        if (tile.row(i) == pivot_row) {
#pragma unroll
            for (int j = 0; j < Columns; ++j) {
                shared.pivot_row[k % 2][grid_columns * j + tile.x] = tile.a[i][j];
            }
        }
    }
}

/// Rank-1 update of step k in registers First .. Last - 1 of each row.
template <int First, int Last, class T, int Columns>
__device__ __forceinline__ void update(Tile<T, Columns>& tile, int k,
                                       const SharedState<T, Columns>& shared) {
    T multiplier[tile_rows];
#pragma unroll
    for (int i = 0; i < tile_rows; ++i) multiplier[i] = shared.multiplier[k % 2][tile.row(i)];
#pragma unroll
    for (int j = First; j < Last; ++j) {
        const T entry = shared.pivot_row[k % 2][grid_columns * j + tile.x];
#pragma unroll
        for (int i = 0; i < tile_rows; ++i) tile.a[i][j] = fma(multiplier[i], entry, tile.a[i][j]);
    }
}

/// Moves register j to register j - 1, so that the pivot column is always register 0.
template <class T, int Columns>
__device__ __forceinline__ void rotate(Tile<T, Columns>& tile) {
#pragma unroll
    for (int i = 0; i < tile_rows; ++i) {
        const T first = tile.a[i][0];
#pragma unroll
        for (int j = 1; j < Columns; ++j) tile.a[i][j - 1] = tile.a[i][j];
        tile.a[i][Columns - 1] = first;
    }
}

/// State of a thread during the elimination.
struct EliminationState {
    unsigned chosen = 0;  ///< See find_pivot_row.
    int pivot_row = 0;
    int info = 0;  ///< Valid in the first threads, one per row.
};

/// Updates the matrix by step k and prepares step k + 1. Rotate: the next pivot column is in
/// register 1, and the registers are rotated. Look-ahead: the next pivot column is updated and
/// shared first, so that the pivot search and division overlap the update of the other columns.
template <bool Rotate, class T, int Columns>
__device__ __forceinline__ void eliminate_step(Tile<T, Columns>& tile, int n, int k,
                                               SharedState<T, Columns>& shared,
                                               EliminationState& state) {
    constexpr int lookahead = Rotate ? 2 : 1;
    const int next = k + 1;
    update<0, lookahead>(tile, k, shared);
    if (next < n) {
        pivot_column_to_smem(tile, next, lookahead - 1, shared);
        __syncthreads();
        state.pivot_row = find_pivot_row(shared, state.chosen);
        const bool usable = multipliers_to_smem(n, next, state.pivot_row, shared);
        if (state.info == 0 && !usable) state.info = next + 1;
    }
    update<lookahead, Columns>(tile, k, shared);
    if (Rotate) rotate(tile);
    if (next < n) pivot_row_to_smem(tile, next, state.pivot_row, shared);
    __syncthreads();
}

/// Gauss-Jordan elimination (gpu/tiles/elimination/gauss_jordan.cuh). The registers end up rotated
/// (n + 15) / 16 times.
template <class T, int Columns>
__device__ __forceinline__ EliminationState eliminate(Tile<T, Columns>& tile, int n,
                                                      SharedState<T, Columns>& shared) {
    EliminationState state;
    for (int q = 0; q < 4; ++q) {
        state.chosen |= int(threadIdx.x) % 32 + 32 * q < n ? 0u : 1u << q;
    }
    pivot_column_to_smem(tile, 0, 0, shared);
    __syncthreads();
    state.pivot_row = find_pivot_row(shared, state.chosen);
    if (!multipliers_to_smem(n, 0, state.pivot_row, shared)) state.info = 1;
    pivot_row_to_smem(tile, 0, state.pivot_row, shared);
    __syncthreads();
#pragma unroll 1
    for (int start = 0; start < n; start += grid_columns) {
        const int last = min(start + grid_columns, n) - 1;
#pragma unroll 1
        for (int k = start; k < last; ++k) {
            eliminate_step<false>(tile, n, k, shared, state);
        }
        eliminate_step<true>(tile, n, last, shared, state);
    }
    return state;
}

template <class T, int Columns>
__device__ __forceinline__ void store_inverse(const Tile<T, Columns>& tile, int n, int info,
                                              const SharedState<T, Columns>& shared,
                                              const StridedMatrix<T>& x) {
    const T nan = std::numeric_limits<T>::quiet_NaN();
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
        const int k = tile.column(j, (n + grid_columns - 1) / grid_columns);
        const int to_column = k < n ? shared.row_of_step[k] : 0;
#pragma unroll
        for (int i = 0; i < tile_rows; ++i) {
            const int row = tile.row(i);
            if (row < n && k < n) {
                x(shared.step_of_row[row], to_column) = info == 0 ? tile.a[i][j] : nan;
            }
        }
    }
}

/// Gauss-Jordan elimination with implicit partial pivoting; one matrix per thread block, tiles of
/// 8 x Columns values per thread in registers, pivot row and multipliers through shared memory. The
/// next pivot column is updated first (look-ahead). Matrices from position `first` of the order on.
template <class T, int Columns>
__global__ void __launch_bounds__(32 * Columns, large_blocks<T>(Columns))
    invert_kernel(const __grid_constant__ InvertJob<T> job, Index first, bool first_in_chain) {
    __shared__ SharedState<T, Columns> shared;
    if (begin_in_chain(first_in_chain)) return;
    const Offset position = Offset(first) + blockIdx.x;
    const Offset b = job.order != nullptr ? Offset(job.order[position]) : position;
    const int n = job.a.sizes != nullptr ? job.a.sizes[b] : job.a.size;
    Tile<T, Columns> tile;
    tile.x = int(threadIdx.x) % grid_columns;
    tile.y = int(threadIdx.x) / grid_columns;

    const StridedMatrix<const T> a(job.a, b, n);
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
        const int column = tile.column(j, 0);
#pragma unroll
        for (int i = 0; i < tile_rows; ++i) {
            const int row = tile.row(i);
            tile.a[i][j] = row < n && column < n ? a(row, column) : T(0);
        }
    }
    const bool wants_condition = job.results.reciprocal_condition != nullptr;
    const T norm = wants_condition ? row_sum_norm(tile, shared) : T(0);

    const EliminationState state = eliminate(tile, n, shared);
    T check = T(0);  // NaN if an element is not finite.
#pragma unroll
    for (int i = 0; i < tile_rows; ++i) {
        const T scale = tile.row(i) < n ? shared.reciprocal[tile.row(i)] : T(0);
#pragma unroll
        for (int j = 0; j < Columns; ++j) {
            tile.a[i][j] *= scale;
            check = fma(tile.a[i][j], T(0), check);
        }
    }
    const bool failed = __syncthreads_or(state.info != 0 || !(check == T(0)));
    const int info = state.info == 0 && failed ? n : state.info;
    const T inverse_norm = wants_condition ? row_sum_norm(tile, shared) : T(0);
    if (threadIdx.x == 0) write_results(job.results, b, info, norm, inverse_norm);
    if (job.store) store_inverse(tile, n, info, shared, StridedMatrix<T>(job.x, b, n));
}

/// Launches the matrices of 16 (Columns - 1) + 1 .. 16 Columns rows, after the larger ones.
template <int Columns, class T>
void launch_from(tessera::cuda::LaunchChain& chain, const InvertJob<T>& job) {
    constexpr Index largest = grid_columns * Columns;
    constexpr Index smallest = std::max(largest - grid_columns, Index(32)) + 1;
    if constexpr (largest < largest_size) launch_from<Columns + 1>(chain, job);
    Index first = 0;
    Index count = job.a.size >= smallest && job.a.size <= largest ? job.a.count : 0;
    if (job.plan != nullptr) {
        first = job.plan->begin(smallest);
        count = job.plan->begin(largest + 1) - first;
    }
    if (count > 0) {
        chain.launch(invert_kernel<T, Columns>, unsigned(count), 32 * Columns, 0, job, first);
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
