#pragma once

#include "gpu/launch.cuh"
#include "gpu/sums.cuh"
#include "sparse/spmv_sliced/block_loads.cuh"
#include "sparse/spmv_sliced/task.hpp"

/// Products of sliced matrices on a GPU. Three kernels: lanes_kernel, the library's own path;
/// threads_kernel, the paper's algorithms 2 to 4, whatever the height of the slices; bcsr_kernel
/// for slices of one block row.
namespace tessera::cuda {

inline constexpr int spmv_threads = sum_threads;
/// Thread blocks that a multiprocessor must hold. With the 64 registers this leaves a thread, the
/// loads of a batch are all issued before the first is used; unasked the compiler takes 32. One
/// less where the steps from value to value are no constants and take registers, too.
inline constexpr int spmv_residency = 4;

/// Block rows that a thread of lanes_kernel walks: those that make its loads 4 bytes wide.
template <class Stored>
inline constexpr int rows_a_thread = sizeof(Stored) == 2 ? 2 : 1;

/// Blocks of a block row whose loads are under way at a time: those whose values, x and columns
/// take some forty registers.
template <int B, class Stored, class T>
constexpr int blocks_under_way() {
    constexpr int rows = rows_a_thread<Stored>;
    constexpr int registers = rows * (B * B * int(sizeof(Stored)) + B * int(sizeof(T)) + 4) / 4;
    constexpr int most = B == 1 ? 8 : 3;
    constexpr int under_way = (rows > 1 ? 42 : 40) / registers;
    return under_way < 1 ? 1 : under_way < most ? under_way : most;
}

/// `Lanes` threads share the rows_a_thread block rows at adjacent positions and take their blocks
/// in turn; their sums are added in the order of the threads. They lie in different warps, so that
/// the threads of a warp are on adjacent positions. `Height`: of the slices, 0: any. The columns of
/// a batch of blocks, kept as Column or, with any height, as either, are loaded while the batch
/// before it is multiplied.
template <int B, int Lanes, bool Pairs, bool Stays, int Height, class Column, class Stored, class T>
__global__ void __launch_bounds__(spmv_threads, Height > 0 ? spmv_residency : spmv_residency - 1)
    lanes_kernel(SlicedTask<Stored, T> task) {
    constexpr int rows = rows_a_thread<Stored>;
    constexpr int groups = spmv_threads / Lanes;
    constexpr int batch = blocks_under_way<B, Stored, T>();
    constexpr bool any = Height == 0, has_offsets = sizeof(Column) == sizeof(std::uint16_t);
    using Columns = Pack<Column, rows>;
    using Offsets = Pack<std::uint16_t, rows>;
    using Values = Pack<Stored, rows>;
    const SlicedPattern& a = task.matrix;
    const int part = int(threadIdx.x) / groups;
    const Offset p = (Offset(blockIdx.x) * groups + threadIdx.x % groups) * rows;
    const unsigned height = Height > 0 ? Height : unsigned(a.slice_height);
    const bool here = p < a.positions();
    const unsigned slice = here ? unsigned(p) / height : 0;
    const unsigned lane = here ? unsigned(p) % height : 0;
    Index lengths[rows];
    Index longest = 0;
#pragma unroll
    for (int i = 0; i < rows; ++i) {
        lengths[i] = here ? __ldg(a.row_lengths + p + i) : 0;
        longest = max(longest, lengths[i]);
    }
    const Offset start = (here ? __ldg(a.slice_offsets + slice) : 0) + Offset(part) * height;
    const bool offsets_given = any && a.column_offsets != nullptr;
    const Index* columns = a.block_columns + start + lane;
    const std::uint16_t* offsets = a.column_offsets + start + lane;
    Offset first = 0;
    if ((has_offsets || offsets_given) && here) first = Offset(__ldg(a.first_columns + slice)) * B;
    const Stored* values = task.values + start * (B * B) + lane;
    const auto load_columns = [&](Index k, Columns(&to)[batch]) {
#pragma unroll
        for (int u = 0; u < batch; ++u) {
            const unsigned at = unsigned(u * Lanes) * height;
            const bool inside = k + u * Lanes < longest;
            if constexpr (has_offsets) {
                to[u] = load_once<Stays>(reinterpret_cast<const Columns*>(offsets + at), inside);
            } else {
                to[u] = load_once<Stays>(reinterpret_cast<const Columns*>(columns + at),
                                         inside && !offsets_given);
            }
            if constexpr (any) {
                const Offsets more = load_once<Stays>(
                    reinterpret_cast<const Offsets*>(offsets + at), inside && offsets_given);
#pragma unroll
                for (int i = 0; i < rows; ++i) to[u].value[i] += more.value[i];
            }
        }
    };
    Columns column[batch];
    load_columns(part, column);
    T sums[rows][B] = {};
#pragma unroll 1
    for (Index k = part; k < longest; k += batch * Lanes) {
        Values value[batch][B * B];
        T x[batch][rows][B];
#pragma unroll
        for (int u = 0; u < batch; ++u) {
#pragma unroll
            for (int e = 0; e < B * B; ++e) {
                const Stored* const from = values + unsigned(u * Lanes * B * B + e) * height;
                value[u][e] = load_once<Stays>(reinterpret_cast<const Values*>(from),
                                               k + u * Lanes < longest);
            }
        }
#pragma unroll
        for (int u = 0; u < batch; ++u) {
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                load_x<B, Pairs>(task.x + first, column[u].value[i], Index(a.columns - first),
                                 k + u * Lanes < lengths[i], x[u][i]);
            }
        }
        columns += unsigned(batch * Lanes) * height;
        offsets += unsigned(batch * Lanes) * height;
        values += unsigned(batch * Lanes * B * B) * height;
        load_columns(k + batch * Lanes, column);
#pragma unroll
        for (int u = 0; u < batch; ++u) {
#pragma unroll
            for (int e = 0; e < B * B; ++e) {
#pragma unroll
                for (int i = 0; i < rows; ++i) {
                    sums[i][e / B] =
                        fma(widen_to<T>(value[u][e].value[i]), x[u][i][e % B], sums[i][e / B]);
                }
            }
        }
    }
    if constexpr (Lanes > 1) {
        __shared__ T others[Lanes - 1][rows * B][groups];
        const int group = int(threadIdx.x) % groups;
#pragma unroll
        for (int j = 0; j < rows * B; ++j) {
            if (part > 0) others[part - 1][j][group] = sums[j / B][j % B];
        }
        __syncthreads();
        if (part == 0) {
#pragma unroll
            for (int j = 0; j < rows * B; ++j) {
#pragma unroll
                for (int t = 0; t < Lanes - 1; ++t) sums[j / B][j % B] += others[t][j][group];
            }
        }
    }
    const double dot = part == 0 ? store_rows<B, Height>(task, p, sums) : 0;
    const SlicedEnd<T>& end = task.end;
    if (end.partial == nullptr) return;
    __shared__ double shared[spmv_threads / 32];
    const double sum = block_sum(dot, shared);
    if (threadIdx.x == 0) end.partial[blockIdx.x] = sum;
    if (end.dot != nullptr) {
        finish_sums(end.counter, end.partial, 1, Offset(gridDim.x), end.dot, shared);
    } else {
        finish_sums(end.counter, end.partial, 1, Offset(gridDim.x), end.wide.rz, shared);
    }
}

/// Algorithm 4 of the paper, with blocks of one row algorithm 3, with one slice and a thread for
/// each row algorithm 2: `a_slice` threads walk the block rows of a slice, each all of its columns.
/// With `skip_pads` a row ends with its own length.
template <int B, class Stored, class T>
__global__ void __launch_bounds__(spmv_threads)
    threads_kernel(SlicedTask<Stored, T> task, Offset a_slice, bool skip_pads) {
    const SlicedPattern& a = task.matrix;
    const Offset thread = Offset(blockIdx.x) * spmv_threads + threadIdx.x;
    const Offset height = a.slice_height;
    const Offset sets = Offset(gridDim.x) * spmv_threads / a_slice;
    if (thread >= sets * a_slice) return;
    for (Offset slice = thread / a_slice; slice < a.slices; slice += sets) {
        const Offset start = __ldg(a.slice_offsets + slice);
        const Index width = Index((__ldg(a.slice_offsets + slice + 1) - start) / height);
        for (Offset lane = thread % a_slice; lane < height; lane += a_slice) {
            const Offset p = slice * height + lane;
            const Index length = skip_pads ? __ldg(a.row_lengths + p) : width;
            T sums[1][B] = {};
#pragma unroll 2
            for (Index k = 0; k < length; ++k) {
                T x[B];
                load_x<B, false>(task.x, load_column(a, slice, start + k * height + lane),
                                 a.columns, true, x);
                const Stored* const values = task.values + (start + k * height) * (B * B) + lane;
#pragma unroll
                for (int e = 0; e < B * B; ++e) {
                    sums[0][e / B] = fma(widen_to<T>(values[e * height]), x[e % B], sums[0][e / B]);
                }
            }
            store_rows<B, 0>(task, p, sums);
        }
    }
}

/// Slices of one block row: `lanes` threads take its scalar columns in turn, and add up in a tree.
template <int B, class Stored, class T>
__global__ void __launch_bounds__(spmv_threads) bcsr_kernel(SlicedTask<Stored, T> task, int lanes) {
    const SlicedPattern& a = task.matrix;
    const Offset p = (Offset(blockIdx.x) * spmv_threads + threadIdx.x) / lanes;
    const int lane = int(threadIdx.x) % lanes;
    const bool here = p < a.block_rows();
    const Offset start = here ? __ldg(a.slice_offsets + p) : 0;
    const Offset end = here ? __ldg(a.slice_offsets + p + 1) : 0;
    T sums[1][B] = {};
#pragma unroll 2
    for (Offset j = start * B + lane; j < end * B; j += lanes) {
        const Offset slot = j / B;
        const int c = int(j - slot * B);
        const unsigned column = unsigned(load_column(a, p, slot)) * B + c;
        const T x = __ldg(task.x + (B == 1 ? column : min(column, unsigned(a.columns) - 1)));
#pragma unroll
        for (int r = 0; r < B; ++r) {
            const Stored value = load_once(task.values + slot * (B * B) + r * B + c);
            sums[0][r] = fma(widen_to<T>(value), x, sums[0][r]);
        }
    }
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
#pragma unroll
        for (int r = 0; r < B; ++r) sums[0][r] += __shfl_xor_sync(~0u, sums[0][r], distance);
    }
    if (here && lane == 0) store_rows<B, 0>(task, p, sums);
}

template <int B, int Lanes, bool Stays, int Height, class Column, class Stored, class T>
void launch_lanes(const Context& context, const SlicedTask<Stored, T>& task) {
    const SlicedPattern& a = task.matrix;
    const int positions = spmv_threads / Lanes * rows_a_thread<Stored>;
    const unsigned blocks = blocks_for(a.positions(), positions);
    SlicedTask<Stored, T> given = task;
    if (task.end.dot != nullptr || task.end.wide.rz != nullptr) {
        const Sums<double> sums(context, blocks);
        given.end.partial = sums.partial;
        given.end.counter = sums.counters;
    }
    const auto run = [&](auto kernel) {
        kernel<<<blocks, spmv_threads, 0, stream_of(context)>>>(given);
    };
    if constexpr (B % 2 == 0) {
        const bool aligned = reinterpret_cast<std::uintptr_t>(task.x) % (2 * sizeof(T)) == 0;
        if (aligned && a.columns % B == 0) {
            return run(lanes_kernel<B, Lanes, true, Stays, Height, Column, Stored, T>);
        }
    }
    run(lanes_kernel<B, Lanes, false, Stays, Height, Column, Stored, T>);
}

/// The height of the slices that is chosen where none is asked for. These have kernels of their
/// own, with constant steps.
template <class Stored>
inline constexpr int usual_height = 32 * rows_a_thread<Stored>;

template <int B, int Lanes, class Column, class Stored, class T>
void launch_usual(const Context& context, const SlicedTask<Stored, T>& task) {
    constexpr int height = usual_height<Stored>;
    if (task.stays) {
        launch_lanes<B, Lanes, true, height, Column>(context, task);
    } else {
        launch_lanes<B, Lanes, false, height, Column>(context, task);
    }
}

template <int B, int Lanes, class Stored, class T>
void launch_wide(const Context& context, const SlicedTask<Stored, T>& task) {
    if (task.matrix.slice_height == usual_height<Stored>) {
        launch_usual<B, Lanes, Index>(context, task);
    } else {
        launch_lanes<B, Lanes, false, 0, Index>(context, task);
    }
}

/// f(std::integral_constant<int, Lanes>()).
template <class F>
void with_lanes(int lanes, F&& f) {
    if (lanes == 1) return f(std::integral_constant<int, 1>());
    if (lanes == 2) return f(std::integral_constant<int, 2>());
    f(std::integral_constant<int, 4>());
}

template <int B, class Stored, class T>
void launch_spmv(const Context& context, const SlicedTask<Stored, T>& task,
                 const FormatOptions& options) {
    const SlicedPattern& a = task.matrix;
    const cudaStream_t stream = stream_of(context);
    if (a.slice_height == 1 && !reads_pads(options)) {
        bcsr_kernel<B><<<blocks_for(Offset(a.block_rows()) * options.lanes, spmv_threads),
                         spmv_threads, 0, stream>>>(task, options.lanes);
    } else if (reads_pads(options) || a.slice_height % rows_a_thread<Stored> != 0) {
        const Offset whole_slice = (Offset(a.slice_height) + 31) / 32 * 32;
        const Offset a_slice = options.threads > 0 ? options.threads : whole_slice;
        threads_kernel<B>
            <<<blocks_for(a.slices * a_slice, spmv_threads), spmv_threads, 0, stream>>>(
                task, a_slice, !reads_pads(options));
    } else {
        with_lanes(options.lanes,
                   [&](auto lanes) { launch_wide<B, decltype(lanes)::value>(context, task); });
    }
}

template <class Stored, class T>
void multiply_stored(const Context& context, const SlicedTask<Stored, T>& task,
                     const FormatOptions& options) {
    const SlicedPattern& a = task.matrix;
    if (a.rows == 0) return;
    if (a.column_offsets != nullptr && a.slice_height == usual_height<Stored>) {
        return multiply_offsets(context, task, options.lanes);
    }
    with_block(a.block, [&](auto b) { launch_spmv<decltype(b)::value>(context, task, options); });
    TESSERA_CUDA(cudaGetLastError());
}

}  // namespace tessera::cuda
