#pragma once

#include "gpu/launch.cuh"
#include "precond/incomplete/numeric/block_tiles.cuh"
#include "precond/incomplete/solve/kernels.hpp"

namespace tessera::incomplete::cuda {

using namespace tessera::cuda;

/// The lanes of a block row, a warp for 8 rows and more. Each step reads `width` adjacent values of
/// a block per lane; a lane has equal rows in all steps, and columns `step_columns` apart.
template <class T, int k>
struct ProductTeam {
    static constexpr int width = product_width<T>(k);
    static constexpr int lanes = k * k / width < 32 ? k * k / width : 32;
    static constexpr int steps = k * k / (width * lanes);
    static constexpr int row_lanes = k / width;
    static constexpr int step_columns = lanes / row_lanes;
    static constexpr int teams = product_threads / lanes;
    static constexpr int in_flight = blocks_in_flight(steps);
    /// List entries that are read at once.
    static constexpr int list_chunk = lanes == 32 ? 32 : in_flight;

    int lane = int(threadIdx.x) % lanes;
    int row = lane % row_lanes * width;
    int column = lane / row_lanes;

    /// Number of vector elements of this lane, one for each of its block columns (or rows), and the
    /// offset of the i-th.
    template <bool by_columns>
    static constexpr int elements = by_columns ? steps : width;
    template <bool by_columns>
    __device__ __forceinline__ int element(int i) const {
        return by_columns ? column + i * step_columns : row + i;
    }
    /// The rank of this lane among the lanes with equal elements, and their number.
    template <bool by_columns>
    __device__ __forceinline__ int rank() const {
        return by_columns ? row / width : column;
    }
    template <bool by_columns>
    static constexpr int lanes_per_sum = by_columns ? row_lanes : step_columns;
};

/// How vector elements are read: a plain load, for elements that no thread block writes meanwhile.
struct PlainLoad {
    template <class T>
    static __device__ __forceinline__ T load(const T* x) {
        return *x;
    }
    template <class T, int blocks, int elements>
    static __device__ __forceinline__ void wait(const T* const (&)[blocks], int,
                                                T (&)[blocks][elements]) {}
};

/// Loads the values of a block that belong to this lane.
template <int k, class T>
__device__ __forceinline__ void load_block(
    const ProductTeam<T, k>& team, const T* block,
    T (&values)[ProductTeam<T, k>::steps][ProductTeam<T, k>::width]) {
    using Team = ProductTeam<T, k>;
#pragma unroll
    for (int s = 0; s < Team::steps; ++s) {
        load_adjacent(block + (team.column + s * Team::step_columns) * k + team.row, values[s]);
    }
}

/// Prefetches a block to the L2 cache.
template <int k, class T>
__device__ __forceinline__ void prefetch_block(const T* block) {
    constexpr int line = 128 / int(sizeof(T));
#pragma unroll
    for (int e = 0; e < k * k; e += line) {
        asm volatile("prefetch.global.L2 [%0];" ::"l"(block + e));
    }
}

/// Sum over the lanes with the same elements, by shuffles in a fixed tree.
template <bool by_columns, class Team, class T, int count>
__device__ __forceinline__ void add_lanes(T (&sums)[count]) {
    constexpr int first = by_columns ? 1 : Team::row_lanes;
#pragma unroll
    for (int distance = first; distance < first * Team::template lanes_per_sum<by_columns>;
         distance *= 2) {
#pragma unroll
        for (T& sum : sums) sum += __shfl_xor_sync(full_warp, sum, distance);
    }
}

/// X^T x of a block X, in the lanes of each column; 0 unless `active`.
template <int k, class T>
__device__ __forceinline__ void transposed_block_product(const ProductTeam<T, k>& team,
                                                         const T* block, const T* x, bool active,
                                                         T (&sums)[ProductTeam<T, k>::steps]) {
    using Team = ProductTeam<T, k>;
    if (active) {
        T values[Team::steps][Team::width], factors[Team::width];
        load_block<k>(team, block, values);
#pragma unroll
        for (int r = 0; r < Team::width; ++r) factors[r] = x[team.row + r];
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

/// sum_j V_ij x_j over a range of block row i, in the lanes of each row; or, `upper`, sum_i V_ij^T
/// x_i over a range of block column j, in the lanes of each column, from the last block to the
/// first, as a transposed solve computes the first rows last. One team of lanes per range; the team
/// reads 32 list entries at once, prefetches their blocks to L2, and holds `in_flight` blocks in
/// registers. All lanes of the warp take part.
template <bool upper, class Element, int k, class T, int count_of_sums>
__device__ __forceinline__ void list_sums(const PatternView<T>& a, const ProductTeam<T, k>& team,
                                          ListRange range, const T* v, const T* x,
                                          T (&sums)[count_of_sums]) {
    using Team = ProductTeam<T, k>;
    constexpr int factors_per_block = Team::template elements<!upper>;
    constexpr int stride = upper ? 1 : Team::step_columns;
    const Index* const block_rows = upper ? a.rows : a.columns;  // Block rows in x.
    for (Offset chunk = range.begin; chunk < range.end; chunk += Team::list_chunk) {
        const int count = int(min(range.end - chunk, Offset(Team::list_chunk)));
        const auto block_at = [&](int e) {
            return upper ? Index(range.end - 1 - (chunk - range.begin) - e)
                         : a.row_blocks[chunk + e];
        };
        Index own_block = 0, own_row = 0;
        if constexpr (Team::lanes == 32) {
            own_block = block_at(min(team.lane, count - 1));
            own_row = block_rows[own_block];
            const bool needs_prefetch = team.lane >= Team::in_flight && team.lane < count;
            if (needs_prefetch) prefetch_block<k>(v + Offset(own_block) * (k * k));
        }
        for (int e = 0; e < count; e += Team::in_flight) {
            const T* from[Team::in_flight];
            T values[Team::in_flight][Team::steps][Team::width];
            T factors[Team::in_flight][factors_per_block];
#pragma unroll
            for (int u = 0; u < Team::in_flight; ++u) {
                const int entry = min(e + u, count - 1);
                Index block, row;
                if constexpr (Team::lanes == 32) {
                    block = upper ? block_at(entry) : __shfl_sync(full_warp, own_block, entry);
                    row = __shfl_sync(full_warp, own_row, entry);
                } else {
                    block = block_at(entry);
                    row = block_rows[block];
                }
                from[u] = x + Offset(row) * k + team.template element<!upper>(0);
                load_block<k>(team, v + Offset(block) * (k * k), values[u]);
            }
#pragma unroll
            for (int u = 0; u < Team::in_flight; ++u) {
#pragma unroll
                for (int i = 0; i < factors_per_block; ++i) {
                    factors[u][i] = Element::load(from[u] + i * stride);
                }
            }
            Element::wait(from, stride, factors);
#pragma unroll
            for (int u = 0; u < Team::in_flight; ++u) {
                if (e + u >= count) break;
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

/// Partial sums of a product over pieces of long rows (columns), of the block rows first .. last -
/// 1; one team of lanes per piece.
template <bool upper, int k, class T>
__global__ void __launch_bounds__(product_threads)
    product_pieces_kernel(PatternView<T> a, Index first, Index last, const T* v, const T* x) {
    using Team = ProductTeam<T, k>;
    begin_dependent();
    const SplitSumsView<T>& split = upper ? a.split_columns : a.split_rows;
    const Team team;
    const Offset p = Offset(blockIdx.x) * Team::teams + int(threadIdx.x) / Team::lanes;
    ListRange range;
    if (p < split.piece_count) {
        const SumPiece piece = split.pieces[p];
        if (piece.item >= first && piece.item < last) range = {piece.begin, piece.end};
    }
    T sums[Team::template elements<upper>] = {};
    list_sums<upper, PlainLoad, k>(a, team, range, v, x, sums);
    if (range.begin == range.end || team.template rank<upper>() > 0) return;
#pragma unroll
    for (int i = 0; i < Team::template elements<upper>; ++i) {
        split.partial[p * k + team.template element<upper>(i)] = sums[i];
    }
}

/// Sparse block product y = b + alpha V x or, `upper`, b + alpha V^T x, in the block rows first ..
/// last - 1; one team of lanes per block row, which also adds up the partial sums of a long row.
template <bool upper, int k, class T>
__global__ void __launch_bounds__(product_threads)
    product_kernel(PatternView<T> a, Index first, Index last, const T* v, T alpha, const T* x,
                   const T* b, T* y) {
    using Team = ProductTeam<T, k>;
    begin_dependent();
    const SplitSumsView<T>& split = upper ? a.split_columns : a.split_rows;
    const Offset* const offsets = upper ? a.column_offsets : a.row_offsets;
    const Team team;
    const Offset row = first + Offset(blockIdx.x) * Team::teams + int(threadIdx.x) / Team::lanes;
    ListRange row_list, pieces;
    if (row < last) row_list = {offsets[row], offsets[row + 1]};
    if (row_list.end - row_list.begin > split.limit) {
        pieces = pieces_of(split, row);
        row_list = {};
    }
    T sums[Team::template elements<upper>] = {};
    for (Offset p = pieces.begin + team.template rank<upper>(); p < pieces.end;
         p += Team::template lanes_per_sum<upper>) {
#pragma unroll
        for (int i = 0; i < Team::template elements<upper>; ++i) {
            sums[i] += split.partial[p * k + team.template element<upper>(i)];
        }
    }
    __syncwarp();
    list_sums<upper, PlainLoad, k>(a, team, row_list, v, x, sums);
    if (row >= last || team.template rank<upper>() > 0) return;
#pragma unroll
    for (int i = 0; i < Team::template elements<upper>; ++i) {
        const Offset offset = row * k + team.template element<upper>(i);
        y[offset] = b[offset] + alpha * sums[i];
    }
}

/// Block-diagonal product y = X x; one team of lanes per block row.
template <int k, class T>
__global__ void __launch_bounds__(product_threads)
    diagonal_product_kernel(Index block_rows, const T* transposes, const T* x, T* y) {
    using Team = ProductTeam<T, k>;
    begin_dependent();
    const Team team;
    const Offset i = Offset(blockIdx.x) * Team::teams + int(threadIdx.x) / Team::lanes;
    const bool active = i < block_rows;
    T sums[Team::steps] = {};
    transposed_block_product<k>(team, transposes + i * (k * k), x + i * k, active, sums);
    if (!active || team.row > 0) return;
#pragma unroll
    for (int s = 0; s < Team::steps; ++s) y[i * k + team.template element<true>(s)] = sums[s];
}

template <class T>
void triangular_product(const Context& context, const PatternView<T>& a, bool upper, Index first,
                        Index last, const T* v, T alpha, const T* x, const T* b, T* y) {
    if (first == last) return;
    with_block_size(a.k, [&](auto size) {
        constexpr int k = decltype(size)::value;
        constexpr int teams = ProductTeam<T, k>::teams;
        const Index pieces = upper ? a.split_columns.piece_count : a.split_rows.piece_count;
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
void diagonal_product(const Context& context, const PatternView<T>& a, const Inverses<T>& inverses,
                      const T* x, T* y) {
    if (a.block_rows == 0) return;
    with_block_size(a.k, [&](auto size) {
        constexpr int k = decltype(size)::value;
        launch_dependent(&diagonal_product_kernel<k, T>,
                         blocks_for(a.block_rows, ProductTeam<T, k>::teams), product_threads, 0,
                         stream_of(context), a.block_rows, inverses.transposed, x, y);
    });
}

/// Block-diagonal product y = F x, F = P^T L D L^T P with D tridiagonal or, unless `symmetric`, F =
/// P^T L D U Q; one lane per row, which reads the elements of the other rows by shuffle.
template <int k, class T>
__global__ void __launch_bounds__(product_threads)
    factor_product_kernel(Index block_rows, bool symmetric, const T* factors, const Index* rows,
                          const Index* columns, const T* x, T* y) {
    begin_dependent();
    const Offset row = (Offset(blockIdx.x) * product_threads + threadIdx.x) / k;
    const bool active = row < block_rows;
    const Offset i = active ? row : 0;
    const int s = int(threadIdx.x) % k;
    const T* const f = factors + i * (k * k);
    const T own = x[i * k + columns[i * k + s]];
    T upper = own;
    for (int r = 1; r < k; ++r) {
        const T other = __shfl_sync(full_warp, own, r, k);
        if (r > s) upper += f[symmetric ? r + s * k : s + r * k] * other;
    }
    const T next = __shfl_down_sync(full_warp, upper, 1, k);
    const T previous = __shfl_up_sync(full_warp, upper, 1, k);
    T middle = f[s + s * k] * upper;
    if (symmetric && s + 1 < k) middle += f[s + (s + 1) * k] * next;
    if (symmetric && s > 0) middle += f[s - 1 + s * k] * previous;
    T lower = middle;
    for (int r = 0; r + 1 < k; ++r) {
        const T other = __shfl_sync(full_warp, middle, r, k);
        if (r < s) lower += f[s + r * k] * other;
    }
    if (active) y[i * k + rows[i * k + s]] = lower;
}

template <class T>
void factor_product(const Context& context, const PatternView<T>& a, const T* factors,
                    const Index* rows, const Index* columns, const T* x, T* y) {
    if (a.block_rows == 0) return;
    with_block_size(a.k, [&](auto size) {
        constexpr int k = decltype(size)::value;
        launch_dependent(&factor_product_kernel<k, T>,
                         blocks_for(a.block_rows, product_threads / k), product_threads, 0,
                         stream_of(context), a.block_rows, a.symmetric, factors, rows, columns, x,
                         y);
    });
}

}  // namespace tessera::incomplete::cuda
