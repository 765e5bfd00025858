#pragma once

#include "gpu/launch.cuh"
#include "precond/block_ldlt/numeric/block_tiles.cuh"
#include "precond/block_ldlt/numeric/kernels.hpp"

namespace tessera::block_ldlt::cuda {

using namespace tessera::cuda;

constexpr int schur_threads = 128;

/// The entries of A of an item, zero elsewhere, in the k x k values of `staged`; for the lanes that
/// share them, all of the warp.
template <int k, int lanes, class T>
__device__ __forceinline__ void stage_entries(const PatternView<T>& a, Offset item, bool active,
                                              int lane, T* staged) {
    for (int e = lane; e < k * k; e += lanes) staged[e] = T(0);
    __syncwarp();
    if (active) {
        const Offset end = a.entry_offsets[item + 1];
        for (Offset e = a.entry_offsets[item] + lane; e < end; e += lanes) {
            staged[a.places[e]] = a.values[e];
        }
    }
    __syncwarp();
}

/// The lanes of a block and their place in shared memory.
template <class T, int k>
struct SchurTeam {
    using Tile = BlockTile<T, k>;
    static constexpr int lanes = Tile::lanes;
    static constexpr int teams = schur_threads / lanes;

    int lane = int(threadIdx.x) % lanes;
    int team = int(threadIdx.x) / lanes;
    Offset item = Offset(blockIdx.x) * teams + team;
};

/// -V W^T summed over each piece of the items first .. last - 1.
template <int k, class T>
__global__ void __launch_bounds__(schur_threads)
    schur_pieces_kernel(LongSums<T> sums, const Index* left, const Index* right, Offset first,
                        Offset last, const T* v, const T* w) {
    using Team = SchurTeam<T, k>;
    begin_dependent();
    const Team at;
    if (at.item >= sums.piece_count) return;
    const SumPiece piece = sums.pieces[at.item];
    if (piece.item < first || piece.item >= last) return;
    typename Team::Tile c(at.lane);
    c.visit([&](int, int, T& value) { value = T(0); });
#pragma unroll 4
    for (Offset e = piece.begin; e < piece.end; ++e) {
        c.subtract_product(v + Offset(left[e]) * (k * k), w + Offset(right[e]) * (k * k));
    }
    T* const to = sums.partial + at.item * (k * k);
    c.visit([&](int row, int column, T& value) { to[row + column * k] = value; });
}

/// C -= V W^T over a list, or over its pieces where it is cut.
template <int k, class T, class Tile>
__device__ __forceinline__ void subtract_products(const LongSums<T>& sums, Offset item,
                                                  const Index* left, const Index* right,
                                                  Offset begin, Offset end, const T* v, const T* w,
                                                  Tile& c) {
    if (end - begin <= sums.limit) {
#pragma unroll 4
        for (Offset e = begin; e < end; ++e) {
            c.subtract_product(v + Offset(left[e]) * (k * k), w + Offset(right[e]) * (k * k));
        }
        return;
    }
    const PieceRange range = pieces_of(sums, item);
#pragma unroll 4
    for (Index p = range.begin; p < range.end; ++p) {
        const T* const from = sums.partial + Offset(p) * (k * k);
        c.visit([&](int row, int column, T& value) { value += from[row + column * k]; });
    }
}

/// A_ii - sum_k V_ik W_ik^T in `staged`, k x k values of a team in a warp whose lanes are all here,
/// which has the entries of A.
template <int k, class T>
__device__ __forceinline__ void schur_diagonal(const PatternView<T>& a, Offset i, bool active,
                                               int lane, T* staged, const T* v, const T* w) {
    using Tile = BlockTile<T, k>;
    Tile c(lane);
    c.visit([&](int row, int column, T& value) {
        value = staged[max(row, column) + min(row, column) * k];
    });
    if (active) {
        subtract_products<k>(a.long_rows, i, a.row_blocks, a.row_blocks, a.row_offsets[i],
                             a.row_offsets[i + 1], v, w, c);
    }
    __syncwarp();
    c.visit([&](int row, int column, T& value) { staged[row + column * k] = value; });
    __syncwarp();
}

/// Element e of the mean of a k x k block and its transpose.
template <int k, class T>
__device__ __forceinline__ T symmetric_mean(const T* block, int e) {
    const int small = min(e % k, e / k), large = max(e % k, e / k);
    return T(0.5) * block[small + large * k] + T(0.5) * block[large + small * k];
}

template <int k, class T>
__global__ void __launch_bounds__(schur_threads)
    schur_diagonals_kernel(PatternView<T> a, Index first, Index last, const T* v, const T* w,
                           T* b) {
    using Team = SchurTeam<T, k>;
    __shared__ __align__(16) T memory[Team::teams][k * k];
    begin_dependent();
    const Team at;
    const Offset i = first + at.item;
    T* const staged = memory[at.team];
    stage_entries<k, Team::lanes>(a, a.blocks + i, i < last, at.lane, staged);
    schur_diagonal<k>(a, i, i < last, at.lane, staged, v, w);
    if (i >= last) return;
    for (int e = at.lane; e < k * k; e += Team::lanes) {
        b[i * (k * k) + e] = symmetric_mean<k>(staged, e);
    }
}

/// W_ij of a block, likewise; `staged` has it too.
template <int k, class T>
__device__ __forceinline__ void schur_block(const PatternView<T>& a, Offset block, bool active,
                                            int lane, T* staged, const T* v, const T* w, T* w_out) {
    using Tile = BlockTile<T, k>;
    Tile c(lane);
    c.visit([&](int row, int column, T& value) { value = staged[row + column * k]; });
    if (active) {
        subtract_products<k>(a.long_blocks, block, a.left, a.right, a.triple_offsets[block],
                             a.triple_offsets[block + 1], v, w, c);
    }
    __syncwarp();
    c.visit([&](int row, int column, T& value) { staged[row + column * k] = value; });
    __syncwarp();
    if (!active) return;
    for (int e = lane; e < k * k; e += Tile::lanes) w_out[block * (k * k) + e] = staged[e];
}

/// V_ij = W_ij X_j of a block, likewise; w may be `staged`, and w and x in any memory.
template <int k, class T>
__device__ __forceinline__ void divide_block(Offset block, bool active, int lane, T* staged,
                                             const T* w, const T* x, T* v_out) {
    using Tile = BlockTile<T, k>;
    Tile c(lane);
    c.visit([&](int, int, T& value) { value = T(0); });
    if (active) c.subtract_product(w, x);  // X_j is symmetric, so that this is -W X.
    __syncwarp();
    c.visit([&](int row, int column, T& value) { staged[row + column * k] = -value; });
    __syncwarp();
    if (!active) return;
    for (int e = lane; e < k * k; e += Tile::lanes) v_out[block * (k * k) + e] = staged[e];
}

template <int k, class T>
__global__ void __launch_bounds__(schur_threads)
    schur_blocks_kernel(PatternView<T> a, Offset first, Offset last, const T* v, const T* w,
                        const T* inverses, T* v_out, T* w_out) {
    using Team = SchurTeam<T, k>;
    __shared__ __align__(16) T memory[Team::teams][k * k];
    begin_dependent();
    const Team at;
    const Offset block = first + at.item;
    T* const staged = memory[at.team];
    stage_entries<k, Team::lanes>(a, block, block < last, at.lane, staged);
    schur_block<k>(a, block, block < last, at.lane, staged, v, w, w_out);
    const Offset column = block < last ? a.columns[block] : 0;
    divide_block<k>(block, block < last, at.lane, staged, staged, inverses + column * (k * k),
                    v_out);
}

template <int k, class T>
void sum_pieces(const Context& context, const LongSums<T>& sums, const Index* left,
                const Index* right, Offset first, Offset last, const T* v, const T* w) {
    if (sums.piece_count == 0) return;
    launch_dependent(&schur_pieces_kernel<k, T>,
                     blocks_for(sums.piece_count, SchurTeam<T, k>::teams), schur_threads, 0,
                     stream_of(context), sums, left, right, first, last, v, w);
}

template <class T>
void schur_diagonals(const Context& context, const PatternView<T>& a, Index first, Index last,
                     const T* v, const T* w, T* b) {
    if (first == last) return;
    with_block_size(a.k, [&](auto size) {
        constexpr int k = decltype(size)::value;
        sum_pieces<k>(context, a.long_rows, a.row_blocks, a.row_blocks, Offset(first), Offset(last),
                      v, w);
        launch_dependent(&schur_diagonals_kernel<k, T>,
                         blocks_for(last - first, SchurTeam<T, k>::teams), schur_threads, 0,
                         stream_of(context), a, first, last, v, w, b);
    });
}

template <class T>
void schur_blocks(const Context& context, const PatternView<T>& a, Offset first, Offset last,
                  const T* v, const T* w, const T* inverses, T* v_out, T* w_out) {
    if (first == last) return;
    with_block_size(a.k, [&](auto size) {
        constexpr int k = decltype(size)::value;
        sum_pieces<k>(context, a.long_blocks, a.left, a.right, first, last, v, w);
        launch_dependent(&schur_blocks_kernel<k, T>,
                         blocks_for(last - first, SchurTeam<T, k>::teams), schur_threads, 0,
                         stream_of(context), a, first, last, v, w, inverses, v_out, w_out);
    });
}

}  // namespace tessera::block_ldlt::cuda
