#pragma once

#include "gpu/launch.cuh"
#include "sparse/spmv_sliced/task.hpp"

/// Products of sliced matrices on a GPU. Three kernels: lanes_kernel, the library's own path;
/// threads_kernel, the paper's algorithms 2 to 4, whatever the height of the slices; bcsr_kernel
/// for slices of one block row.
namespace tessera::cuda {

inline constexpr int spmv_threads = 256;

/// Block rows that a thread of lanes_kernel walks: those that make its loads 4 bytes wide.
template <class Stored>
inline constexpr int rows_a_thread = sizeof(Stored) == 2 ? 2 : 1;

/// `Count` adjacent elements.
template <class Element, int Count>
struct alignas(sizeof(Element) * Count) Adjacent {
    Element element[Count];
};

/// Loads what is read once in a product: without a place in L1, which x needs.
template <class Element>
__device__ __forceinline__ Element load_once(const Element* from) {
    Element to;
    if constexpr (sizeof(Element) == 8) {
        unsigned long long bits;
        asm("ld.global.nc.L1::no_allocate.b64 %0, [%1];" : "=l"(bits) : "l"(from));
        memcpy(&to, &bits, 8);
    } else if constexpr (sizeof(Element) == 4) {
        unsigned bits;
        asm("ld.global.nc.L1::no_allocate.b32 %0, [%1];" : "=r"(bits) : "l"(from));
        memcpy(&to, &bits, 4);
    } else {
        static_assert(sizeof(Element) == 2);
        unsigned short bits;
        asm("ld.global.nc.L1::no_allocate.b16 %0, [%1];" : "=h"(bits) : "l"(from));
        memcpy(&to, &bits, 2);
    }
    return to;
}

/// x of a block column. Where B does not divide the columns of the matrix, those past its end,
/// whose values are zero, stand for the last one.
template <int B, class T>
__device__ __forceinline__ void load_x(const T* x, Index block_column, Index columns, T (&to)[B]) {
    const unsigned first = unsigned(block_column) * B;
    const unsigned last = unsigned(columns) - 1;
#pragma unroll
    for (int c = 0; c < B; ++c) to[c] = __ldg(x + (B == 1 ? first : min(first + c, last)));
}

/// The same in wide loads: B is even and divides the columns, x is aligned to two elements.
template <int B, class T>
__device__ __forceinline__ void load_x_pairs(const T* x, Index block_column, T (&to)[B]) {
    using Pair = std::conditional_t<sizeof(T) == 8, double2, float2>;
    const Pair* const from = reinterpret_cast<const Pair*>(x) + Offset(block_column) * (B / 2);
#pragma unroll
    for (int c = 0; c < B / 2; ++c) {
        const Pair pair = __ldg(from + c);
        to[2 * c] = pair.x;
        to[2 * c + 1] = pair.y;
    }
}

/// y of the block row at position p.
template <int B, class Stored, class T>
__device__ __forceinline__ void store_y(const SlicedTask<Stored, T>& task, Offset p,
                                        const T (&sums)[B]) {
    const SlicedPattern& a = task.matrix;
    if (p >= a.block_rows()) return;
    const Offset first = Offset(a.permutation != nullptr ? __ldg(a.permutation + p) : p) * B;
#pragma unroll
    for (int r = 0; r < B; ++r) {
        if (first + r >= a.rows) return;
        T* const to = task.y + first + r;
        *to = task.beta == T(0) ? task.alpha * sums[r] : fma(task.alpha, sums[r], task.beta * *to);
    }
}

/// `Lanes` threads share the rows_a_thread block rows at adjacent positions and take their blocks
/// in turn; their sums are added in the order of the threads. Thread t of a group lies in warp t of
/// the thread block or behind, so that the threads of a warp are on adjacent positions.
template <int B, int Lanes, bool Pairs, class Stored, class T>
__global__ void __launch_bounds__(spmv_threads) lanes_kernel(SlicedTask<Stored, T> task) {
    constexpr int rows = rows_a_thread<Stored>;
    constexpr int groups = spmv_threads / Lanes;
    const SlicedPattern& a = task.matrix;
    const int part = int(threadIdx.x) / groups;
    const Offset p = (Offset(blockIdx.x) * groups + threadIdx.x % groups) * rows;
    const Index height = a.slice_height;
    const bool here = p < a.block_rows();
    const Offset slice = here ? Index(p) / height : 0;
    const Index lane = here ? Index(p) % height : 0;
    Index lengths[rows];
    Index longest = 0;
#pragma unroll
    for (int i = 0; i < rows; ++i) {
        lengths[i] = here ? __ldg(a.row_lengths + p + i) : 0;
        longest = max(longest, lengths[i]);
    }
    const Offset start = here ? __ldg(a.slice_offsets + slice) + lane : 0;
    const Index* columns = a.block_columns + start + Offset(part) * height;
    const Stored* values =
        task.values + (start - lane) * (B * B) + lane + Offset(part) * height * (B * B);
    T sums[rows][B] = {};
#pragma unroll 3
    for (Index k = part; k < longest; k += Lanes) {
        const auto column = load_once(reinterpret_cast<const Adjacent<Index, rows>*>(columns));
        T x[rows][B];
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            if constexpr (Pairs) {
                load_x_pairs<B>(task.x, column.element[i], x[i]);
            } else {
                load_x<B>(task.x, column.element[i], a.columns, x[i]);
            }
            // A pad's value is zero, but x may be NaN there.
            if (rows > 1 && k >= lengths[i]) {
#pragma unroll
                for (int c = 0; c < B; ++c) x[i][c] = T(0);
            }
        }
#pragma unroll
        for (int e = 0; e < B * B; ++e) {
            const auto value = load_once(
                reinterpret_cast<const Adjacent<Stored, rows>*>(values + Offset(e) * height));
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                sums[i][e / B] = fma(widen_to<T>(value.element[i]), x[i][e % B], sums[i][e / B]);
            }
        }
        columns += Offset(Lanes) * height;
        values += Offset(Lanes) * height * (B * B);
    }
    if constexpr (Lanes > 1) {
        __shared__ T others[Lanes - 1][rows * B][groups];
        const int group = int(threadIdx.x) % groups;
#pragma unroll
        for (int j = 0; j < rows * B; ++j) {
            if (part > 0) others[part - 1][j][group] = sums[j / B][j % B];
        }
        __syncthreads();
        if (part > 0) return;
#pragma unroll
        for (int j = 0; j < rows * B; ++j) {
#pragma unroll
            for (int t = 0; t < Lanes - 1; ++t) sums[j / B][j % B] += others[t][j][group];
        }
    }
#pragma unroll
    for (int i = 0; i < rows; ++i) store_y<B>(task, p + i, sums[i]);
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
            if (p >= a.block_rows()) break;
            const Index length = skip_pads ? __ldg(a.row_lengths + p) : width;
            T sums[B] = {};
#pragma unroll 2
            for (Index k = 0; k < length; ++k) {
                T x[B];
                load_x<B>(task.x, __ldg(a.block_columns + start + k * height + lane), a.columns, x);
                const Stored* const values = task.values + (start + k * height) * (B * B) + lane;
#pragma unroll
                for (int e = 0; e < B * B; ++e) {
                    sums[e / B] = fma(widen_to<T>(values[e * height]), x[e % B], sums[e / B]);
                }
            }
            store_y<B>(task, p, sums);
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
    T sums[B] = {};
#pragma unroll 2
    for (Offset j = start * B + lane; j < end * B; j += lanes) {
        const Offset slot = j / B;
        const int c = int(j - slot * B);
        const unsigned column = unsigned(__ldg(a.block_columns + slot)) * B + c;
        const T x = __ldg(task.x + (B == 1 ? column : min(column, unsigned(a.columns) - 1)));
#pragma unroll
        for (int r = 0; r < B; ++r) {
            const Stored value = load_once(task.values + slot * (B * B) + r * B + c);
            sums[r] = fma(widen_to<T>(value), x, sums[r]);
        }
    }
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
#pragma unroll
        for (int r = 0; r < B; ++r) sums[r] += __shfl_xor_sync(~0u, sums[r], distance);
    }
    if (here && lane == 0) store_y<B>(task, p, sums);
}

template <int B, int Lanes, class Stored, class T>
void launch_lanes(const Context& context, const SlicedTask<Stored, T>& task) {
    const SlicedPattern& a = task.matrix;
    const int positions = spmv_threads / Lanes * rows_a_thread<Stored>;
    const unsigned blocks = blocks_for(a.block_rows(), positions);
    const auto run = [&](auto kernel) {
        kernel<<<blocks, spmv_threads, 0, stream_of(context)>>>(task);
    };
    if constexpr (B % 2 == 0) {
        const bool aligned = reinterpret_cast<std::uintptr_t>(task.x) % (2 * sizeof(T)) == 0;
        if (aligned && a.columns % B == 0) return run(lanes_kernel<B, Lanes, true, Stored, T>);
    }
    run(lanes_kernel<B, Lanes, false, Stored, T>);
}

template <int B, class Stored, class T>
void launch_spmv(const Context& context, const SlicedTask<Stored, T>& task,
                 const FormatOptions& options) {
    const SlicedPattern& a = task.matrix;
    const bool reads_pads = options.format == MatrixFormat::ell || options.threads > 0;
    const cudaStream_t stream = stream_of(context);
    if (a.slice_height == 1 && !reads_pads) {
        bcsr_kernel<B><<<blocks_for(Offset(a.block_rows()) * options.lanes, spmv_threads),
                         spmv_threads, 0, stream>>>(task, options.lanes);
    } else if (reads_pads || a.slice_height % rows_a_thread<Stored> != 0) {
        const Offset whole_slice = (Offset(a.slice_height) + 31) / 32 * 32;
        const Offset a_slice = options.threads > 0 ? options.threads : whole_slice;
        threads_kernel<B>
            <<<blocks_for(a.slices * a_slice, spmv_threads), spmv_threads, 0, stream>>>(
                task, a_slice, !reads_pads);
    } else if (options.lanes == 1) {
        launch_lanes<B, 1>(context, task);
    } else if (options.lanes == 2) {
        launch_lanes<B, 2>(context, task);
    } else {
        launch_lanes<B, 4>(context, task);
    }
    TESSERA_CUDA(cudaGetLastError());
}

template <class Stored, class T>
void multiply_stored(const Context& context, const SlicedTask<Stored, T>& task,
                     const FormatOptions& options) {
    if (task.matrix.rows == 0) return;
    with_block(task.matrix.block,
               [&](auto b) { launch_spmv<decltype(b)::value>(context, task, options); });
}

}  // namespace tessera::cuda
