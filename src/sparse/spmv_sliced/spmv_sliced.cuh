#pragma once

#include <algorithm>

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
template <int B, int Height, int Rows, class T>
__device__ __forceinline__ double store_rows(const SlicedPattern& a, const T* x,
                                             const ProductEpilogue<T>& epilogue, Offset p,
                                             const T (&sums)[Rows][B]) {
    const Index rows = a.rows;
    const RecurrenceStep<T>& step = epilogue.step;
    Offset first[Rows];
    T x_row[Rows][B], y_row[Rows][B], r_row[Rows][B];
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
        if constexpr (Rows > 1) {
            first[i] = Offset(block_row<B, Height>(a, p + i)) * B;
        } else {
            first[i] = a.block_row(p + i) * B;
        }
#pragma unroll
        for (int j = 0; j < B; ++j) {
            const Offset row = first[i] + j;
            const bool inside = row < rows;
            x_row[i][j] =
                load_if(inside && (step.beta != T(0) || epilogue.xy != nullptr), x + row, T(0));
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

/// A product kernel with `Lanes` threads for the same block rows, which take their blocks in turn,
/// slices of a constant height (0: any), and 1 or at most `Vectors` vectors. With slices of the
/// default height and 16-bit values a thread has two block rows, so that its loads of values are 4
/// bytes wide. `Pairs` as in load_x, `Cached` as in load_streaming.
template <int Block, int Lanes, int Height, int Vectors, bool Pairs, bool Cached, class Stored,
          class T>
struct ProductShape {
    static constexpr int block = Block, lanes = Lanes, height = Height, vectors = Vectors;
    static constexpr bool pairs = Pairs, cached = Cached;
    static constexpr int rows = Height > 0 && sizeof(Stored) == 2 ? 2 : 1;
    static constexpr int groups = spmv_threads / Lanes;
    /// Blocks of a block row whose loads are in flight at a time.
    static constexpr int in_flight =
        Vectors == 1 ? spmv_blocks_in_flight(Block, rows, sizeof(Stored), sizeof(T))
                     : spmv_blocks_in_flight_of_vectors(Block, Vectors, sizeof(Stored), sizeof(T));
    static constexpr int thread_blocks = Vectors == 1
                                             ? spmv_thread_blocks(Height > 0)
                                             : spmv_thread_blocks_of_vectors(Vectors, sizeof(T));
};

/// Adds the sums of the threads that share block rows to those of part 0, in their order.
template <int Lanes, int Rows, int B, class T>
__device__ __forceinline__ void add_lanes(int part, T (&sums)[Rows][B]) {
    constexpr int groups = spmv_threads / Lanes;
    __shared__ T others[Lanes - 1][Rows * B][groups];
    const int group = int(threadIdx.x) % groups;
    __syncthreads();  // The array may still be read for another vector.
#pragma unroll
    for (int j = 0; j < Rows * B; ++j) {
        if (part > 0) others[part - 1][j][group] = sums[j / B][j % B];
    }
    __syncthreads();
    if (part > 0) return;
#pragma unroll
    for (int j = 0; j < Rows * B; ++j) {
#pragma unroll
        for (int t = 0; t < Lanes - 1; ++t) sums[j / B][j % B] += others[t][j][group];
    }
}

/// Sliced blocked ELLPACK product: a warp is on adjacent lanes of a slice, and the threads that
/// share block rows are in different warps; their sums are added in the order of the threads. The
/// columns of a batch of blocks are loaded while the batch before is multiplied. Each vector is
/// multiplied to the last bit as alone. Block columns are stored as Column.
template <class Shape, class Column, class Stored, class T>
__global__ void __launch_bounds__(spmv_threads, Shape::thread_blocks)
    sliced_product_kernel(SlicedProduct<Stored, T> task) {
    constexpr int B = Shape::block, lanes = Shape::lanes, rows = Shape::rows;
    constexpr int max_vectors = Shape::vectors, batch = Shape::in_flight, groups = Shape::groups;
    constexpr bool has_offsets = sizeof(Column) == sizeof(std::uint16_t);
    using Columns = Pack<Column, rows>;
    using Values = Pack<Stored, rows>;
    const SlicedPattern& a = task.matrix;
    const Vectors<const T>& x = task.vectors.x;
    const int part = int(threadIdx.x) / groups;
    const Offset p = (Offset(blockIdx.x) * groups + threadIdx.x % groups) * rows;
    const unsigned height = Shape::height > 0 ? Shape::height : unsigned(a.slice_height);
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
            const unsigned offset = unsigned(u * lanes) * height;
            to[u] = load_streaming<Shape::cached>(
                reinterpret_cast<const Columns*>(columns + offset), k + u * lanes < longest);
        }
    };
    Columns column[batch];
    load_columns(part, column);
    T sums[max_vectors][rows][B] = {};
#pragma unroll 1
    for (Index k = part; k < longest; k += batch * lanes) {
        Values value[batch][B * B];
        T from[batch][rows][max_vectors][B];
#pragma unroll
        for (int u = 0; u < batch; ++u) {
#pragma unroll
            for (int e = 0; e < B * B; ++e) {
                const Stored* const stored = values + unsigned(u * lanes * B * B + e) * height;
                value[u][e] = load_streaming<Shape::cached>(reinterpret_cast<const Values*>(stored),
                                                            k + u * lanes < longest);
            }
        }
#pragma unroll
        for (int u = 0; u < batch; ++u) {
#pragma unroll
            for (int i = 0; i < rows; ++i) {
#pragma unroll
                for (int v = 0; v < max_vectors; ++v) {
                    load_x<B, Shape::pairs>(x.data + v * x.leading + first, column[u].value[i],
                                            Index(a.columns - first),
                                            k + u * lanes < lengths[i] && (v == 0 || v < x.count),
                                            from[u][i][v]);
                }
            }
        }
        columns += unsigned(batch * lanes) * height;
        values += unsigned(batch * lanes * B * B) * height;
        load_columns(k + batch * lanes, column);
#pragma unroll
        for (int u = 0; u < batch; ++u) {
#pragma unroll
            for (int e = 0; e < B * B; ++e) {
#pragma unroll
                for (int i = 0; i < rows; ++i) {
                    const T entry = widen_to<T>(value[u][e].value[i]);
#pragma unroll
                    for (int v = 0; v < max_vectors; ++v) {
                        sums[v][i][e / B] = fma(entry, from[u][i][v][e % B], sums[v][i][e / B]);
                    }
                }
            }
        }
    }
    double dot = 0;
#pragma unroll
    for (int v = 0; v < max_vectors; ++v) {
        if (v > 0 && v >= x.count) break;
        if constexpr (lanes > 1) add_lanes<lanes>(part, sums[v]);
        if (part != 0) continue;
        dot = store_rows<B, Shape::height>(a, x.data + v * x.leading, task.vectors.epilogue(v), p,
                                           sums[v]);
    }
    if (task.partial == nullptr) return;
    __shared__ double shared[spmv_threads / 32];
    const double sum = block_sum(dot, shared);
    if (threadIdx.x == 0) task.partial[blockIdx.x] = sum;
    finish_sums(task.counter, task.partial, 1, Offset(gridDim.x), task.vectors.xy, shared);
}

template <class Shape, class Column, class Stored, class T>
void launch_product(const Context& context, const SlicedProduct<Stored, T>& task) {
    const unsigned blocks = blocks_for(task.matrix.positions(), Shape::groups * Shape::rows);
    SlicedProduct<Stored, T> with_sums = task;
    if (task.vectors.xy != nullptr) {
        const Sums<double> sums(context, blocks);
        with_sums.partial = sums.partial;
        with_sums.counter = sums.counters;
    }
    sliced_product_kernel<Shape, Column>
        <<<blocks, spmv_threads, 0, stream_of(context)>>>(with_sums);
    TESSERA_CUDA(cudaGetLastError());
}

/// f(std::integral_constant<int, L>()) for L = 1, 2, 4 or 16 lanes.
template <class F>
void with_lanes(int lanes, F&& f) {
    if (lanes == 1) return f(std::integral_constant<int, 1>());
    if (lanes == 2) return f(std::integral_constant<int, 2>());
    if (lanes == 4) return f(std::integral_constant<int, 4>());
    f(std::integral_constant<int, 16>());
}

template <int B, int Lanes, bool Cached, class Column, class Stored, class T>
void multiply_default_height(const Context& context, const SlicedProduct<Stored, T>& task) {
    constexpr int height = default_height<Stored>;
    if constexpr (B % 2 == 0) {
        const auto address = reinterpret_cast<std::uintptr_t>(task.vectors.x.data);
        if (address % (2 * sizeof(T)) == 0 && task.matrix.columns % B == 0) {
            using Shape = ProductShape<B, Lanes, height, 1, true, Cached, Stored, T>;
            return launch_product<Shape, Column>(context, task);
        }
    }
    using Shape = ProductShape<B, Lanes, height, 1, false, Cached, Stored, T>;
    launch_product<Shape, Column>(context, task);
}

template <class Column, class Stored, class T>
void multiply_one(const Context& context, const SlicedProduct<Stored, T>& task, bool cached) {
    with_block(task.matrix.block, [&](auto b) {
        constexpr int B = decltype(b)::value;
        if (task.matrix.slice_height != default_height<Stored>) {
            using Shape = ProductShape<B, 1, 0, 1, false, false, Stored, T>;
            return launch_product<Shape, Column>(context, task);
        }
        with_lanes(task.matrix.lanes, [&](auto lanes) {
            constexpr int count = decltype(lanes)::value;
            if (cached) return multiply_default_height<B, count, true, Column>(context, task);
            multiply_default_height<B, count, false, Column>(context, task);
        });
    });
}

/// The product with 2 .. MaxVectors vectors: each block is read once.
template <int B, int MaxVectors, class Column, class Stored, class T>
void multiply_up_to(const Context& context, const SlicedProduct<Stored, T>& task) {
    // As for one vector.
    const bool one_lane = task.matrix.slice_height != default_height<Stored>;
    with_lanes(one_lane ? 1 : task.matrix.lanes, [&](auto lanes) {
        using Shape =
            ProductShape<B, decltype(lanes)::value, 0, MaxVectors, false, false, Stored, T>;
        launch_product<Shape, Column>(context, task);
    });
}

template <class Column, class Stored, class T>
void multiply_several(const Context& context, const SlicedProduct<Stored, T>& task) {
    with_block(task.matrix.block, [&](auto b) {
        constexpr int B = decltype(b)::value;
        constexpr int max_vectors = spmv_vectors(B, sizeof(Stored), sizeof(T));
        if (max_vectors == 8 && task.vectors.x.count <= 4) {
            return multiply_up_to<B, std::min(max_vectors, 4), Column>(context, task);
        }
        multiply_up_to<B, max_vectors, Column>(context, task);
    });
}

}  // namespace tessera::cuda
