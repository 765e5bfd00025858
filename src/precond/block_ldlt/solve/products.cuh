#pragma once

#include "gpu/launch.cuh"
#include "precond/block_ldlt/numeric/block_tiles.cuh"
#include "precond/block_ldlt/solve/kernels.hpp"

namespace tessera::block_ldlt::cuda {

using namespace tessera::cuda;

/// The lanes of a block row, a warp for 8 rows and more. A step takes `width` adjacent values of a
/// block a lane; a lane has the same rows in all steps, and columns `step_columns` apart.
template <class T, int k>
struct ProductTeam {
    static constexpr int width = product_width<T>(k);
    static constexpr int lanes = k * k / width < 32 ? k * k / width : 32;
    static constexpr int steps = k * k / (width * lanes);
    static constexpr int row_lanes = k / width;
    static constexpr int step_columns = lanes / row_lanes;
    static constexpr int teams = product_threads / lanes;
    static constexpr int in_flight = blocks_in_flight(steps);
    /// Places of a list that are read at once.
    static constexpr int listed = lanes == 32 ? 32 : in_flight;

    int lane = int(threadIdx.x) % lanes;
    int row = lane % row_lanes * width;
    int column = lane / row_lanes;

    /// Elements of a vector by the columns (else the rows) of a block that belong to this lane, and
    /// which they are.
    template <bool by_columns>
    static constexpr int elements = by_columns ? steps : width;
    template <bool by_columns>
    __device__ __forceinline__ int element(int i) const {
        return by_columns ? column + i * step_columns : row + i;
    }
    /// This lane's number among the lanes with the same elements, and how many these are.
    template <bool by_columns>
    __device__ __forceinline__ int rank() const {
        return by_columns ? row / width : column;
    }
    template <bool by_columns>
    static constexpr int sharers = by_columns ? row_lanes : step_columns;
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

/// Adds up the sums of the lanes with the same elements, in a fixed tree.
template <bool by_columns, class Team, class T, int count>
__device__ __forceinline__ void add_lanes(T (&sums)[count]) {
    constexpr int first = by_columns ? 1 : Team::row_lanes;
#pragma unroll
    for (int distance = first; distance < first * Team::template sharers<by_columns>;
         distance *= 2) {
#pragma unroll
        for (T& sum : sums) sum += __shfl_xor_sync(full_warp, sum, distance);
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
    add_lanes<true, Team>(sums);
}

/// sum_j V_ij x_j over a part of a block row i: the rows of this lane; or, `upper`,
/// sum_i V_ij^T x_i over a part of a block column j: the columns of this lane, from the last block
/// to the first, as the rows of the first are known last. For all lanes of a warp.
template <bool upper, class Element, int k, class T, int count_of_sums>
__device__ __forceinline__ void list_sums(const PatternView<T>& a, const ProductTeam<T, k>& at,
                                          ListRange range, const T* v, const T* x,
                                          T (&sums)[count_of_sums]) {
    using Team = ProductTeam<T, k>;
    constexpr int factors_a_block = Team::template elements<!upper>;
    constexpr int stride = upper ? 1 : Team::step_columns;
    const Index* const block_rows = upper ? a.rows : a.columns;  // Of x.
    for (Offset part = range.begin; part < range.end; part += Team::listed) {
        const int count = int(min(range.end - part, Offset(Team::listed)));
        const auto block_at = [&](int e) {
            return upper ? Index(range.end - 1 - (part - range.begin) - e) : a.row_blocks[part + e];
        };
        Index own_block = 0, own_row = 0;
        if constexpr (Team::lanes == 32) {
            own_block = block_at(min(at.lane, count - 1));
            own_row = block_rows[own_block];
            const bool later = at.lane >= Team::in_flight && at.lane < count;
            if (later) prefetch_block<k>(v + Offset(own_block) * (k * k));
        }
        for (int e = 0; e < count; e += Team::in_flight) {
            const T* from[Team::in_flight];
            T values[Team::in_flight][Team::steps][Team::width];
            T factors[Team::in_flight][factors_a_block];
#pragma unroll
            for (int u = 0; u < Team::in_flight; ++u) {
                const int which = min(e + u, count - 1);
                Index block, row;
                if constexpr (Team::lanes == 32) {
                    block = upper ? block_at(which) : __shfl_sync(full_warp, own_block, which);
                    row = __shfl_sync(full_warp, own_row, which);
                } else {
                    block = block_at(which);
                    row = block_rows[block];
                }
                from[u] = x + Offset(row) * k + at.template element<!upper>(0);
                load_block<k>(at, v + Offset(block) * (k * k), values[u]);
            }
#pragma unroll
            for (int u = 0; u < Team::in_flight; ++u) {
#pragma unroll
                for (int i = 0; i < factors_a_block; ++i) {
                    factors[u][i] = Element::load(from[u] + i * stride);
                }
            }
#pragma unroll
            for (int u = 0; u < Team::in_flight; ++u) {
                if (e + u >= count) break;
#pragma unroll
                for (int i = 0; i < factors_a_block; ++i) {
                    factors[u][i] = Element::settled(from[u] + i * stride, factors[u][i]);
                }
#pragma unroll
                for (int s = 0; s < Team::steps; ++s) {
#pragma unroll
                    for (int r = 0; r < Team::width; ++r) {
                        T& sum = sums[upper ? s : r];
                        sum = fma(values[u][s][r], factors[u][upper ? r : s], sum);
                    }
                }
            }
        }
    }
    add_lanes<upper, Team>(sums);
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
    T sums[Team::template elements<upper>] = {};
    list_sums<upper, Before, k>(a, at, range, v, x, sums);
    if (range.begin == range.end || at.template rank<upper>() > 0) return;
#pragma unroll
    for (int i = 0; i < Team::template elements<upper>; ++i) {
        cut.partial[p * k + at.template element<upper>(i)] = sums[i];
    }
}

/// y = b + alpha V x or, `upper`, b + alpha V^T x in the block rows first .. last - 1: a team a
/// block row, which adds up the pieces of a list that is split.
template <bool upper, int k, class T>
__global__ void __launch_bounds__(product_threads)
    product_kernel(PatternView<T> a, Index first, Index last, const T* v, T alpha, const T* x,
                   const T* b, T* y) {
    using Team = ProductTeam<T, k>;
    begin_dependent();
    const LongSums<T>& cut = upper ? a.long_columns : a.long_rows;
    const Offset* const offsets = upper ? a.column_offsets : a.row_offsets;
    const Team at;
    const Offset row = first + Offset(blockIdx.x) * Team::teams + int(threadIdx.x) / Team::lanes;
    ListRange whole, pieces;
    if (row < last) whole = {offsets[row], offsets[row + 1]};
    if (whole.end - whole.begin > cut.limit) {
        pieces = pieces_of(cut, row);
        whole = {};
    }
    T sums[Team::template elements<upper>] = {};
    for (Offset p = pieces.begin + at.template rank<upper>(); p < pieces.end;
         p += Team::template sharers<upper>) {
#pragma unroll
        for (int i = 0; i < Team::template elements<upper>; ++i) {
            sums[i] += cut.partial[p * k + at.template element<upper>(i)];
        }
    }
    __syncwarp();
    list_sums<upper, Before, k>(a, at, whole, v, x, sums);
    if (row >= last || at.template rank<upper>() > 0) return;
#pragma unroll
    for (int i = 0; i < Team::template elements<upper>; ++i) {
        const Offset place = row * k + at.template element<upper>(i);
        y[place] = b[place] + alpha * sums[i];
    }
}

/// y = X x: a team a block row.
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
    for (int s = 0; s < Team::steps; ++s) y[i * k + at.template element<true>(s)] = sums[s];
}

template <class T>
void triangular_product(const Context& context, const PatternView<T>& a, bool upper, Index first,
                        Index last, const T* v, T alpha, const T* x, const T* b, T* y) {
    if (first == last) return;
    with_block_size(a.k, [&](auto size) {
        constexpr int k = decltype(size)::value;
        constexpr int teams = ProductTeam<T, k>::teams;
        const Index pieces = upper ? a.long_columns.piece_count : a.long_rows.piece_count;
        if (pieces > 0) {
            launch_dependent(
                upper ? &product_pieces_kernel<true, k, T> : &product_pieces_kernel<false, k, T>,
                blocks_for(pieces, teams), product_threads, 0, stream_of(context), a, first, last,
                v, x);
        }
        launch_dependent(upper ? &product_kernel<true, k, T> : &product_kernel<false, k, T>,
                         blocks_for(last - first, teams), product_threads, 0, stream_of(context), a,
                         first, last, v, alpha, x, b, y);
    });
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

/// y = F x with F = P^T L D L^T P, D tridiagonal: a lane a row, the other rows' values by shuffle.
template <int k, class T>
__global__ void __launch_bounds__(product_threads)
    factor_product_kernel(Index block_rows, const T* factors, const Index* permutations, const T* x,
                          T* y) {
    begin_dependent();
    const Offset row = (Offset(blockIdx.x) * product_threads + threadIdx.x) / k;
    const bool active = row < block_rows;
    const Offset i = active ? row : 0;
    const int s = int(threadIdx.x) % k;
    const T* const f = factors + i * (k * k);
    const Offset place = i * k + permutations[i * k + s];
    const T own = x[place];
    T upper = own;
    for (int r = 1; r < k; ++r) {
        const T other = __shfl_sync(full_warp, own, r, k);
        if (r > s) upper += f[r + s * k] * other;
    }
    const T next = __shfl_down_sync(full_warp, upper, 1, k);
    const T previous = __shfl_up_sync(full_warp, upper, 1, k);
    T middle = f[s + s * k] * upper;
    if (s + 1 < k) middle += f[s + (s + 1) * k] * next;
    if (s > 0) middle += f[s - 1 + s * k] * previous;
    T lower = middle;
    for (int r = 0; r + 1 < k; ++r) {
        const T other = __shfl_sync(full_warp, middle, r, k);
        if (r < s) lower += f[s + r * k] * other;
    }
    if (active) y[place] = lower;
}

template <class T>
void factor_product(const Context& context, const PatternView<T>& a, const T* factors,
                    const Index* permutations, const T* x, T* y) {
    if (a.block_rows == 0) return;
    with_block_size(a.k, [&](auto size) {
        constexpr int k = decltype(size)::value;
        launch_dependent(&factor_product_kernel<k, T>,
                         blocks_for(a.block_rows, product_threads / k), product_threads, 0,
                         stream_of(context), a.block_rows, factors, permutations, x, y);
    });
}

}  // namespace tessera::block_ldlt::cuda
