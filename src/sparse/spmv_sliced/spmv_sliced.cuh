#pragma once

#include "gpu/launch.cuh"
#include "gpu/load.cuh"
#include "gpu/pack.cuh"
#include "gpu/sums.cuh"
#include "gpu/tuning/sparse_h200.hpp"
#include "sparse/spmv_sliced/kernels.hpp"
#include "sparse/stored_value.hpp"

/// Products of sliced matrices on a GPU. One kernel, compiled with constant steps for slices of the
/// usual height, and for slices of any height (ELLPACK, BELL, BCSR).
namespace tessera::cuda {

#define TESSERA_LOAD_IF(bits, constraint, instruction)                                  \
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p " instruction " %0, [%1]; }" \
                 : "+" constraint(bits)                                                 \
                 : "l"(from), "r"(int(wanted)))

/// *from where `wanted`, else zero: one predicated load, so that many are in flight. For data that
/// a product reads once: it bypasses L1, which x needs, unless the matrix is `Cached` in L2.
template <bool Cached, class Element>
__device__ __forceinline__ Element load_streaming(const Element* from, bool wanted) {
    static_assert(sizeof(Element) == 2 || sizeof(Element) == 4 || sizeof(Element) == 8);
    Element to;
    if constexpr (sizeof(Element) == 8) {
        unsigned long long bits = 0;
        if constexpr (Cached) {
            TESSERA_LOAD_IF(bits, "l", "ld.global.nc.b64");
        } else {
            TESSERA_LOAD_IF(bits, "l", "ld.global.nc.L1::no_allocate.b64");
        }
        memcpy(&to, &bits, 8);
    } else if constexpr (sizeof(Element) == 4) {
        unsigned bits = 0;
        if constexpr (Cached) {
            TESSERA_LOAD_IF(bits, "r", "ld.global.nc.b32");
        } else {
            TESSERA_LOAD_IF(bits, "r", "ld.global.nc.L1::no_allocate.b32");
        }
        memcpy(&to, &bits, 4);
    } else {
        unsigned short bits = 0;
        if constexpr (Cached) {
            TESSERA_LOAD_IF(bits, "h", "ld.global.nc.b16");
        } else {
            TESSERA_LOAD_IF(bits, "h", "ld.global.nc.L1::no_allocate.b16");
        }
        memcpy(&to, &bits, 2);
    }
    return to;
}

#undef TESSERA_LOAD_IF

/// x of a block column where `wanted`, else zeros. If B does not divide the columns of the matrix,
/// columns past its end, whose values are zero, read the last one. `Pairs`: B is even and divides
/// the columns, x is aligned to two elements.
template <int B, bool Pairs, class T>
__device__ __forceinline__ void load_x(const T* x, Index block_column, Index columns, bool wanted,
                                       T (&to)[B]) {
    if constexpr (Pairs) {
        using Pair = Pack<T, 2>;
        const Pair* const from = reinterpret_cast<const Pair*>(x) + Offset(block_column) * (B / 2);
#pragma unroll
        for (int c = 0; c < B / 2; ++c) {
            const Pair pair = load_if(wanted, from + c, Pair{});
            to[2 * c] = pair.value[0];
            to[2 * c + 1] = pair.value[1];
        }
    } else {
        const unsigned first = unsigned(block_column) * B;
        const unsigned last = unsigned(columns) - 1;
#pragma unroll
        for (int c = 0; c < B; ++c) {
            to[c] = load_if(wanted, x + (B == 1 ? first : min(first + c, last)), T(0));
        }
    }
}

/// SlicedPattern::block_row of blocks of B rows, with a compile-time slice height: no division by a
/// value of the view. Row numbers of larger blocks have 32 bits, since registers are scarce there;
/// with smaller ones 64 bits need fewer registers.
template <int B, int Height>
__device__ __forceinline__ auto block_row(const SlicedPattern& a, Offset p) {
    using Row = std::conditional_t < B<3, Offset, unsigned>;
    const unsigned position = unsigned(p);
    if (a.permutation != nullptr) {
        const unsigned rows = unsigned(a.rows) / B + (unsigned(a.rows) % B != 0);
        return position < rows ? Row(a.permutation[position]) : Row(position);
    }
    const unsigned lane = position % Height;
    return a.paired ? Row(position - lane + lane / 2 + (lane % 2) * (Height / 2)) : Row(position);
}

/// The epilogue of the block rows at `Rows` adjacent positions from p on. All operands are loaded
/// first, so that the loads are in flight together. Returns their part of x^T next.
template <int B, int Height, int Rows, class Stored, class T>
__device__ __forceinline__ double store_rows(const SlicedProduct<Stored, T>& task, Offset p,
                                             const T (&sums)[Rows][B]) {
    const Index rows = task.matrix.rows;
    const ProductEpilogue<T>& epilogue = task.epilogue;
    const RecurrenceStep<T>& step = epilogue.step;
    Offset first[Rows];
    T x_row[Rows][B], y_row[Rows][B], r_row[Rows][B];
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
        if constexpr (Rows > 1) {
            first[i] = Offset(block_row<B, Height>(task.matrix, p + i)) * B;
        } else {
            first[i] = task.matrix.block_row(p + i) * B;
        }
#pragma unroll
        for (int j = 0; j < B; ++j) {
            const Offset row = first[i] + j;
            const bool inside = row < rows;
            x_row[i][j] = load_if(inside && (step.beta != T(0) || epilogue.xy != nullptr),
                                  task.x + row, T(0));
            y_row[i][j] = inside && step.gamma != T(0) ? epilogue.y[row] : T(0);
            r_row[i][j] = load_if(inside && step.delta != T(0), epilogue.r + row, T(0));
        }
    }
    double dot = 0;
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
#pragma unroll
        for (int j = 0; j < B; ++j) {
            T value = step.alpha * sums[i][j];
            if (step.beta != T(0)) value = fma(step.beta, x_row[i][j], value);
            if (step.gamma != T(0)) value = fma(step.gamma, y_row[i][j], value);
            if (step.delta != T(0)) value = fma(step.delta, r_row[i][j], value);
            if (first[i] + j >= rows) continue;
            epilogue.next[first[i] + j] = value;
            dot = fma(double(x_row[i][j]), double(value), dot);
        }
    }
    return dot;
}

static_assert(spmv_threads == sum_threads);

/// The height of slices if none is requested: a warp reads whole lines of 128 bytes of columns.
template <class Stored>
inline constexpr int default_height = sizeof(Stored) == 2 ? 64 : 32;

/// Block rows per thread: those that make its loads of values 4 bytes wide. In slices of any height
/// (0), which may be odd, one.
template <int Height, class Stored>
inline constexpr int rows_per_thread = Height > 0 && sizeof(Stored) == 2 ? 2 : 1;

/// Sliced blocked ELLPACK product: one thread per block row (two with 16-bit values), a warp on
/// adjacent lanes of a slice. `Lanes` threads in different warps share the rows_per_thread block
/// rows at adjacent positions and take their blocks in turn, so that a warp is on adjacent
/// positions; their sums are added in the order of the threads. The columns of a batch of blocks
/// are loaded while the batch before is multiplied. `Pairs` as in load_x, `Cached` as in
/// load_streaming, `Height` of the slices (0: any), block columns stored as Column.
template <int B, int Lanes, bool Pairs, bool Cached, int Height, class Column, class Stored,
          class T>
__global__ void __launch_bounds__(spmv_threads, spmv_thread_blocks(Height > 0))
    sliced_product_kernel(SlicedProduct<Stored, T> task) {
    constexpr int rows = rows_per_thread<Height, Stored>;
    constexpr int groups = spmv_threads / Lanes;
    constexpr int batch = spmv_blocks_in_flight(B, rows, sizeof(Stored), sizeof(T));
    constexpr bool has_offsets = sizeof(Column) == sizeof(std::uint16_t);
    using Columns = Pack<Column, rows>;
    using Values = Pack<Stored, rows>;
    const SlicedPattern& a = task.matrix;
    const int part = int(threadIdx.x) / groups;
    const Offset p = (Offset(blockIdx.x) * groups + threadIdx.x % groups) * rows;
    const unsigned height = Height > 0 ? Height : unsigned(a.slice_height);
    const bool inside = p < a.positions();
    const unsigned slice = inside ? unsigned(p) / height : 0;
    const unsigned lane = inside ? unsigned(p) % height : 0;
    Index lengths[rows];
    Index longest = 0;
#pragma unroll
    for (int i = 0; i < rows; ++i) {
        lengths[i] = inside ? __ldg(a.row_lengths + p + i) : 0;
        longest = max(longest, lengths[i]);
    }
    const Offset start = (inside ? __ldg(a.slice_offsets + slice) : 0) + Offset(part) * height;
    const Column* columns = stored_columns<Column>(a) + start + lane;
    Offset first = 0;
    if (has_offsets && inside) first = Offset(__ldg(a.first_columns + slice)) * B;
    const Stored* values = task.values + start * (B * B) + lane;
    const auto load_columns = [&](Index k, Columns(&to)[batch]) {
#pragma unroll
        for (int u = 0; u < batch; ++u) {
            const unsigned offset = unsigned(u * Lanes) * height;
            const bool inside = k + u * Lanes < longest;
            to[u] =
                load_streaming<Cached>(reinterpret_cast<const Columns*>(columns + offset), inside);
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
                value[u][e] = load_streaming<Cached>(reinterpret_cast<const Values*>(from),
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
    const ProductEpilogue<T>& epilogue = task.epilogue;
    if (epilogue.partial == nullptr) return;
    __shared__ double shared[spmv_threads / 32];
    const double sum = block_sum(dot, shared);
    if (threadIdx.x == 0) epilogue.partial[blockIdx.x] = sum;
    finish_sums(epilogue.counter, epilogue.partial, 1, Offset(gridDim.x), epilogue.xy, shared);
}

template <int B, int Lanes, bool Cached, int Height, class Column, class Stored, class T>
void launch_lanes(const Context& context, const SlicedProduct<Stored, T>& task) {
    const SlicedPattern& a = task.matrix;
    const int positions = spmv_threads / Lanes * rows_per_thread<Height, Stored>;
    const unsigned blocks = blocks_for(a.positions(), positions);
    SlicedProduct<Stored, T> with_sums = task;
    if (task.epilogue.xy != nullptr) {
        const Sums<double> sums(context, blocks);
        with_sums.epilogue.partial = sums.partial;
        with_sums.epilogue.counter = sums.counters;
    }
    const auto run = [&](auto kernel) {
        kernel<<<blocks, spmv_threads, 0, stream_of(context)>>>(with_sums);
        TESSERA_CUDA(cudaGetLastError());
    };
    if constexpr (B % 2 == 0 && Height > 0) {
        const bool aligned = reinterpret_cast<std::uintptr_t>(task.x) % (2 * sizeof(T)) == 0;
        if (aligned && a.columns % B == 0) {
            return run(sliced_product_kernel<B, Lanes, true, Cached, Height, Column, Stored, T>);
        }
    }
    run(sliced_product_kernel<B, Lanes, false, Cached, Height, Column, Stored, T>);
}

template <int B, int Lanes, class Column, class Stored, class T>
void launch_default_height(const Context& context, const SlicedProduct<Stored, T>& task,
                           bool cached) {
    constexpr int height = default_height<Stored>;
    if (cached) return launch_lanes<B, Lanes, true, height, Column>(context, task);
    launch_lanes<B, Lanes, false, height, Column>(context, task);
}

template <class Column, class Stored, class T>
void multiply_columns(const Context& context, const SlicedProduct<Stored, T>& task, bool cached) {
    const SlicedPattern& a = task.matrix;
    with_block(a.block, [&](auto b) {
        constexpr int block = decltype(b)::value;
        if (a.slice_height != default_height<Stored>) {
            return launch_lanes<block, 1, false, 0, Column>(context, task);
        }
        if (a.lanes == 1) return launch_default_height<block, 1, Column>(context, task, cached);
        if (a.lanes == 2) return launch_default_height<block, 2, Column>(context, task, cached);
        launch_default_height<block, 4, Column>(context, task, cached);
    });
}

}  // namespace tessera::cuda
