#pragma once

#include "gpu/launch.cuh"
#include "precond/block_ldlt/numeric/block_tiles.cuh"
#include "precond/block_ldlt/solve/kernels.hpp"

namespace tessera::block_ldlt::cuda {

using namespace tessera::cuda;

constexpr int product_threads = 128;

/// The lanes of a block row, a warp for 8 rows and more. A step takes `width` adjacent values of a
/// block a lane; a lane has the same rows in all steps, and columns `step_columns` apart.
template <class T, int k>
struct ProductTeam {
    static constexpr int widest = k == 8 ? 2 : 16 / int(sizeof(T));
    static constexpr int width = widest < k ? widest : k;
    static constexpr int lanes = k * k / width < 32 ? k * k / width : 32;
    static constexpr int steps = k * k / (width * lanes);
    static constexpr int row_lanes = k / width;
    static constexpr int step_columns = lanes / row_lanes;
    static constexpr int teams = product_threads / lanes;
    /// Blocks whose values are on their way at once.
    static constexpr int ahead = steps < 4 ? 4 / steps : 1;
    /// Places of a list that are read at once.
    static constexpr int listed = lanes == 32 ? 32 : ahead;

    int lane = int(threadIdx.x) % lanes;
    int row = lane % row_lanes * width;
    int column = lane / row_lanes;
};

/// How an element of a vector is read: here, one that was there before the kernel.
struct Before {
    template <class T>
    static __device__ __forceinline__ T load(const T* x) {
        return *x;
    }
    template <class T>
    static __device__ __forceinline__ T settled(const T*, T value) {
        return value;
    }
};

/// The values of a block in this lane.
template <int k, class T>
__device__ __forceinline__ void load_block(
    const ProductTeam<T, k>& at, const T* block,
    T (&values)[ProductTeam<T, k>::steps][ProductTeam<T, k>::width]) {
    using Team = ProductTeam<T, k>;
#pragma unroll
    for (int s = 0; s < Team::steps; ++s) {
        load_run(block + (at.column + s * Team::step_columns) * k + at.row, values[s]);
    }
}

/// Starts the way of a block to the L2 cache.
template <int k, class T>
__device__ __forceinline__ void prefetch_block(const T* block) {
    constexpr int line = 128 / int(sizeof(T));
#pragma unroll
    for (int e = 0; e < k * k; e += line) {
        asm volatile("prefetch.global.L2 [%0];" ::"l"(block + e));
    }
}

/// Places of a list: of the block rows of a column, or of the blocks of a row.
struct ListRange {
    Offset begin = 0, end = 0;
};

/// Adds up the sums of the lanes with the same rows, in a fixed tree.
template <int k, class T>
__device__ __forceinline__ void add_columns(T (&sums)[ProductTeam<T, k>::width]) {
    using Team = ProductTeam<T, k>;
#pragma unroll
    for (int distance = Team::row_lanes; distance < Team::lanes; distance *= 2) {
#pragma unroll
        for (int r = 0; r < Team::width; ++r) {
            sums[r] += __shfl_xor_sync(full_warp, sums[r], distance);
        }
    }
}

/// sum_j V_ij x_j over a part of a block row i: the rows of this lane, in all lanes with the same
/// rows. For all lanes of a warp.
template <class Element, int k, class T>
__device__ __forceinline__ void lower_sums(const PatternView<T>& a, const ProductTeam<T, k>& at,
                                           ListRange range, const T* v, const T* x,
                                           T (&sums)[ProductTeam<T, k>::width]) {
    using Team = ProductTeam<T, k>;
    for (Offset part = range.begin; part < range.end; part += Team::listed) {
        const int count = int(min(range.end - part, Offset(Team::listed)));
        Index own_block = 0, own_column = 0;
        if constexpr (Team::lanes == 32) {
            own_block = a.row_blocks[part + min(at.lane, count - 1)];
            own_column = a.columns[own_block];
            const bool later = at.lane >= Team::ahead && at.lane < count;
            if (later) prefetch_block<k>(v + Offset(own_block) * (k * k));
        }
        for (int e = 0; e < count; e += Team::ahead) {
            Index block[Team::ahead];
            const T* from[Team::ahead];
            T values[Team::ahead][Team::steps][Team::width], factors[Team::ahead][Team::steps];
#pragma unroll
            for (int u = 0; u < Team::ahead; ++u) {
                const int which = min(e + u, count - 1);
                Index column;
                if constexpr (Team::lanes == 32) {
                    block[u] = __shfl_sync(full_warp, own_block, which);
                    column = __shfl_sync(full_warp, own_column, which);
                } else {
                    block[u] = a.row_blocks[part + which];
                    column = a.columns[block[u]];
                }
                from[u] = x + Offset(column) * k + at.column;
            }
#pragma unroll
            for (int u = 0; u < Team::ahead; ++u) {
                load_block<k>(at, v + Offset(block[u]) * (k * k), values[u]);
            }
#pragma unroll
            for (int u = 0; u < Team::ahead; ++u) {
#pragma unroll
                for (int s = 0; s < Team::steps; ++s) {
                    factors[u][s] = Element::load(from[u] + s * Team::step_columns);
                }
            }
#pragma unroll
            for (int u = 0; u < Team::ahead; ++u) {
                if (e + u >= count) break;
#pragma unroll
                for (int s = 0; s < Team::steps; ++s) {
                    const T factor =
                        Element::settled(from[u] + s * Team::step_columns, factors[u][s]);
#pragma unroll
                    for (int r = 0; r < Team::width; ++r) {
                        sums[r] = fma(values[u][s][r], factor, sums[r]);
                    }
                }
            }
        }
    }
    add_columns<k, T>(sums);
}

/// Adds up the sums of the lanes with the same columns, in a fixed tree.
template <int k, class T>
__device__ __forceinline__ void add_rows(T (&sums)[ProductTeam<T, k>::steps]) {
    using Team = ProductTeam<T, k>;
#pragma unroll
    for (int s = 0; s < Team::steps; ++s) {
#pragma unroll
        for (int distance = 1; distance < Team::row_lanes; distance *= 2) {
            sums[s] += __shfl_xor_sync(full_warp, sums[s], distance);
        }
    }
}

/// X x for a symmetric block X, where `active`: the columns of this lane.
template <int k, class T>
__device__ __forceinline__ void symmetric_product(const ProductTeam<T, k>& at, const T* block,
                                                  const T* x, bool active,
                                                  T (&sums)[ProductTeam<T, k>::steps]) {
    using Team = ProductTeam<T, k>;
    if (active) {
        T values[Team::steps][Team::width], factors[Team::width];
        load_block<k>(at, block, values);
#pragma unroll
        for (int r = 0; r < Team::width; ++r) factors[r] = x[at.row + r];
#pragma unroll
        for (int s = 0; s < Team::steps; ++s) {
#pragma unroll
            for (int r = 0; r < Team::width; ++r) {
                sums[s] = fma(values[s][r], factors[r], sums[s]);
            }
        }
    }
    add_rows<k, T>(sums);
}

/// sum_i V_ij^T x_i over a part of a block column j: the columns of this lane. From the last block
/// to the first, as the rows of the first are known last.
template <class Element, int k, class T>
__device__ __forceinline__ void upper_sums(const PatternView<T>& a, const ProductTeam<T, k>& at,
                                           ListRange range, const T* v, const T* x,
                                           T (&sums)[ProductTeam<T, k>::steps]) {
    using Team = ProductTeam<T, k>;
    for (Offset part = range.end; part > range.begin; part -= Team::listed) {
        const int count = int(min(part - range.begin, Offset(Team::listed)));
        Index own_row = 0;
        if constexpr (Team::lanes == 32) {
            own_row = a.rows[part - 1 - min(at.lane, count - 1)];
            const bool later = at.lane >= Team::ahead && at.lane < count;
            if (later) prefetch_block<k>(v + (part - 1 - at.lane) * (k * k));
        }
        for (int e = 0; e < count; e += Team::ahead) {
            const T* from[Team::ahead];
            T values[Team::ahead][Team::steps][Team::width], factors[Team::ahead][Team::width];
#pragma unroll
            for (int u = 0; u < Team::ahead; ++u) {
                const int which = min(e + u, count - 1);
                Index row;
                if constexpr (Team::lanes == 32) {
                    row = __shfl_sync(full_warp, own_row, which);
                } else {
                    row = a.rows[part - 1 - which];
                }
                from[u] = x + Offset(row) * k + at.row;
                load_block<k>(at, v + (part - 1 - which) * (k * k), values[u]);
            }
#pragma unroll
            for (int u = 0; u < Team::ahead; ++u) {
#pragma unroll
                for (int r = 0; r < Team::width; ++r) factors[u][r] = Element::load(from[u] + r);
            }
#pragma unroll
            for (int u = 0; u < Team::ahead; ++u) {
                if (e + u >= count) break;
#pragma unroll
                for (int r = 0; r < Team::width; ++r) {
                    factors[u][r] = Element::settled(from[u] + r, factors[u][r]);
                }
#pragma unroll
                for (int s = 0; s < Team::steps; ++s) {
#pragma unroll
                    for (int r = 0; r < Team::width; ++r) {
                        sums[s] = fma(values[u][s][r], factors[u][r], sums[s]);
                    }
                }
            }
        }
    }
    add_rows<k, T>(sums);
}

/// The list of a block row, or block column, as a whole or in pieces; the other is empty.
struct WholeOrCut {
    ListRange whole;
    PieceRange pieces{0, 0};
};

template <bool upper, class T>
__device__ __forceinline__ WholeOrCut list_of(const PatternView<T>& a, Offset i) {
    const LongSums<T>& cut = upper ? a.long_columns : a.long_rows;
    const Offset* const offsets = upper ? a.column_offsets : a.row_offsets;
    const ListRange range{offsets[i], offsets[i + 1]};
    if (range.end - range.begin <= cut.limit) return {range};
    return {{}, pieces_of(cut, i)};
}

/// The sums of a product over each piece of a list of the block rows first .. last - 1.
template <bool upper, int k, class T>
__global__ void __launch_bounds__(product_threads)
    product_pieces_kernel(PatternView<T> a, Index first, Index last, const T* v, const T* x) {
    using Team = ProductTeam<T, k>;
    begin_dependent();
    const LongSums<T>& cut = upper ? a.long_columns : a.long_rows;
    const Team at;
    const Offset p = Offset(blockIdx.x) * Team::teams + int(threadIdx.x) / Team::lanes;
    ListRange range;
    if (p < cut.piece_count) {
        const SumPiece piece = cut.pieces[p];
        if (piece.item >= first && piece.item < last) range = {piece.begin, piece.end};
    }
    const bool active = range.begin < range.end;
    T* const to = cut.partial + p * k;
    if constexpr (upper) {
        T sums[Team::steps] = {};
        upper_sums<Before, k>(a, at, range, v, x, sums);
        if (!active || at.row > 0) return;
#pragma unroll
        for (int s = 0; s < Team::steps; ++s) to[at.column + s * Team::step_columns] = sums[s];
    } else {
        T sums[Team::width] = {};
        lower_sums<Before, k>(a, at, range, v, x, sums);
        if (!active || at.column > 0) return;
#pragma unroll
        for (int r = 0; r < Team::width; ++r) to[at.row + r] = sums[r];
    }
}

template <bool upper, int k, class T>
__global__ void __launch_bounds__(product_threads)
    product_kernel(PatternView<T> a, Index first, Index last, const T* v, T alpha, const T* x,
                   const T* b, T* y) {
    using Team = ProductTeam<T, k>;
    begin_dependent();
    const Team at;
    const Offset i = first + Offset(blockIdx.x) * Team::teams + int(threadIdx.x) / Team::lanes;
    const bool active = i < last;
    const WholeOrCut list = active ? list_of<upper>(a, i) : WholeOrCut{};
    if constexpr (upper) {
        T sums[Team::steps] = {};
        const int own = at.row / Team::width;
        for (Index p = list.pieces.begin + own; p < list.pieces.end; p += Team::row_lanes) {
            const T* const from = a.long_columns.partial + Offset(p) * k + at.column;
#pragma unroll
            for (int s = 0; s < Team::steps; ++s) sums[s] += from[s * Team::step_columns];
        }
        __syncwarp();
        upper_sums<Before, k>(a, at, list.whole, v, x, sums);
        if (!active || at.row > 0) return;
#pragma unroll
        for (int s = 0; s < Team::steps; ++s) {
            const Offset place = i * k + at.column + s * Team::step_columns;
            y[place] = b[place] + alpha * sums[s];
        }
    } else {
        T sums[Team::width] = {};
        for (Index p = list.pieces.begin + at.column; p < list.pieces.end;
             p += Team::step_columns) {
            const T* const from = a.long_rows.partial + Offset(p) * k + at.row;
#pragma unroll
            for (int r = 0; r < Team::width; ++r) sums[r] += from[r];
        }
        __syncwarp();
        lower_sums<Before, k>(a, at, list.whole, v, x, sums);
        if (!active || at.column > 0) return;
#pragma unroll
        for (int r = 0; r < Team::width; ++r) {
            y[i * k + at.row + r] = b[i * k + at.row + r] + alpha * sums[r];
        }
    }
}

template <int k, class T>
__global__ void __launch_bounds__(product_threads)
    diagonal_product_kernel(Index block_rows, const T* inverses, const T* x, T* y) {
    using Team = ProductTeam<T, k>;
    begin_dependent();
    const Team at;
    const Offset i = Offset(blockIdx.x) * Team::teams + int(threadIdx.x) / Team::lanes;
    const bool active = i < block_rows;
    T sums[Team::steps] = {};
    symmetric_product<k>(at, inverses + i * (k * k), x + i * k, active, sums);
    if (!active || at.row > 0) return;
#pragma unroll
    for (int s = 0; s < Team::steps; ++s) y[i * k + at.column + s * Team::step_columns] = sums[s];
}

template <bool upper, class T>
void product(const Context& context, const PatternView<T>& a, Index first, Index last, const T* v,
             T alpha, const T* x, const T* b, T* y) {
    if (first == last) return;
    with_block_size(a.k, [&](auto size) {
        constexpr int k = decltype(size)::value;
        const Index pieces = upper ? a.long_columns.piece_count : a.long_rows.piece_count;
        if (pieces > 0) {
            launch_dependent(&product_pieces_kernel<upper, k, T>,
                             blocks_for(pieces, ProductTeam<T, k>::teams), product_threads, 0,
                             stream_of(context), a, first, last, v, x);
        }
        launch_dependent(&product_kernel<upper, k, T>,
                         blocks_for(last - first, ProductTeam<T, k>::teams), product_threads, 0,
                         stream_of(context), a, first, last, v, alpha, x, b, y);
    });
}

template <class T>
void triangular_product(const Context& context, const PatternView<T>& a, bool upper, Index first,
                        Index last, const T* v, T alpha, const T* x, const T* b, T* y) {
    if (upper) {
        product<true>(context, a, first, last, v, alpha, x, b, y);
    } else {
        product<false>(context, a, first, last, v, alpha, x, b, y);
    }
}

template <class T>
void diagonal_product(const Context& context, const PatternView<T>& a, const T* inverses,
                      const T* x, T* y) {
    if (a.block_rows == 0) return;
    with_block_size(a.k, [&](auto size) {
        constexpr int k = decltype(size)::value;
        launch_dependent(&diagonal_product_kernel<k, T>,
                         blocks_for(a.block_rows, ProductTeam<T, k>::teams), product_threads, 0,
                         stream_of(context), a.block_rows, inverses, x, y);
    });
}

}  // namespace tessera::block_ldlt::cuda
