#pragma once

#include "base/host_device.hpp"
#include "gpu/launch.cuh"
#include "precond/incomplete/numeric/block_tiles.cuh"
#include "precond/incomplete/numeric/kernels.hpp"

namespace tessera::incomplete::cuda {

using namespace tessera::cuda;

/// Copies a block of A of a team to shared memory. All lanes of the warp take part.
template <int k, int lanes, class T>
__device__ __forceinline__ void stage_block(const T* blocks, Offset block, bool active, int lane,
                                            T* staged) {
    if (active) {
        for (int e = lane; e < k * k; e += lanes) staged[e] = blocks[block * (k * k) + e];
    }
    __syncwarp();
}

/// The team of lanes that computes a block of k x k entries: this thread's lane in it, its index in
/// the thread block, and its item (a block row, or a block off the diagonal).
template <class T, int k>
struct SchurTeam {
    using Tile = BlockTile<T, k>;
    static constexpr int lanes = Tile::lanes;
    static constexpr int teams = schur_threads / lanes;

    int lane = int(threadIdx.x) % lanes;
    int index = int(threadIdx.x) / lanes;
    bool above = false;  ///< Whether the item is in the second triangle.
    Offset item = 0;

    /// With two triangles the second half of the thread blocks has items of the second one.
    __device__ explicit SchurTeam(bool two_triangles = false) {
        const unsigned each = two_triangles ? gridDim.x / 2 : gridDim.x;
        above = blockIdx.x >= each;
        item = Offset(blockIdx.x - (above ? each : 0)) * teams + index;
    }
};

/// The lists of Schur updates of block rows, or of blocks off the diagonal: item i is updated by
/// V W^T of the blocks (left_e, right_e), e from offsets[i] to offsets[i + 1].
template <class T>
struct ProductLists {
    const SplitSumsView<T>& sums;
    const Offset* offsets;
    const Index* left;
    const Index* right;

    TESSERA_HOST_DEVICE ProductLists(const PatternView<T>& a, bool diagonal)
        : sums(diagonal ? a.split_rows : a.split_updates),
          offsets(diagonal ? a.row_offsets : a.update_offsets),
          left(diagonal ? a.row_blocks : a.left),
          right(diagonal ? a.row_blocks : a.right) {}
};

/// C -= V W^T over a range of a list.
template <int k, class T, class Tile>
__device__ __forceinline__ void subtract_products(const ProductLists<T>& lists, ListRange range,
                                                  const T* v, const T* w, Tile& c) {
#pragma unroll 4
    for (Offset e = range.begin; e < range.end; ++e) {
        c.subtract_product(v + Offset(lists.left[e]) * (k * k),
                           w + Offset(lists.right[e]) * (k * k));
    }
}

/// The partial sums of pieces in a triangle.
template <int k, class T>
__device__ __forceinline__ T* partial_sums(const SplitSumsView<T>& sums, bool above) {
    return sums.partial + (above ? Offset(sums.piece_count) * (k * k) : 0);
}

/// Partial sums of -V W^T over pieces of long lists, of the items first .. last - 1; one team of
/// lanes per piece.
template <int k, class T>
__global__ void __launch_bounds__(schur_threads)
    schur_pieces_kernel(const __grid_constant__ PatternView<T> a, bool diagonal, Offset first,
                        Offset last, const __grid_constant__ TriangleArrays<T> lower,
                        const __grid_constant__ TriangleArrays<T> upper) {
    using Team = SchurTeam<T, k>;
    begin_dependent();
    const Team team(upper.from != nullptr);
    const ProductLists<T> lists(a, diagonal);
    if (team.item >= lists.sums.piece_count) return;
    const SumPiece piece = lists.sums.pieces[team.item];
    if (piece.item < first || piece.item >= last) return;
    typename Team::Tile c(team.lane);
    c.visit([&](int, int, T& value) { value = T(0); });
    const TriangleArrays<T>& arrays = team.above ? upper : lower;
    subtract_products<k>(lists, {piece.begin, piece.end}, arrays.v, arrays.w, c);
    T* const to = partial_sums<k>(lists.sums, team.above) + team.item * (k * k);
    c.visit([&](int row, int column, T& value) { to[row + column * k] = value; });
}

/// Schur complement A_ij - sum_k V_ik W_jk^T of a diagonal block (`diagonal`) or another one, in
/// place in `staged`, which has the entries of A; `above`: of the second triangle. All lanes of the
/// warp take part.
template <bool diagonal, int k, class T>
__device__ __forceinline__ void schur_complement(const PatternView<T>& a, Offset item, bool active,
                                                 int lane, T* staged, const T* v, const T* w,
                                                 bool above = false) {
    BlockTile<T, k> c(lane);
    c.visit([&](int row, int column, T& value) {
        value = diagonal && a.symmetric ? staged[max(row, column) + min(row, column) * k]
                                        : staged[row + column * k];
    });
    if (active) {
        const ProductLists<T> lists(a, diagonal);
        const ListRange list{lists.offsets[item], lists.offsets[item + 1]};
        if (list.end - list.begin <= lists.sums.limit) {
            subtract_products<k>(lists, list, v, w, c);
        } else {
            const ListRange pieces = pieces_of(lists.sums, item);
#pragma unroll 4
            for (Offset p = pieces.begin; p < pieces.end; ++p) {
                const T* const from = partial_sums<k>(lists.sums, above) + p * (k * k);
                c.visit([&](int row, int column, T& value) { value += from[row + column * k]; });
            }
        }
    }
    __syncwarp();
    c.visit([&](int row, int column, T& value) { staged[row + column * k] = value; });
    __syncwarp();
}

/// Copies a block of a team from shared to global memory.
template <int k, int lanes, class T>
__device__ __forceinline__ void store_block(Offset block, bool active, int lane, const T* staged,
                                            T* out) {
    if (!active) return;
    for (int e = lane; e < k * k; e += lanes) out[block * (k * k) + e] = staged[e];
}

/// Element e of the mean of a k x k block and its transpose.
template <int k, class T>
__device__ __forceinline__ T symmetric_mean(const T* block, int e) {
    const int small = min(e % k, e / k), large = max(e % k, e / k);
    return T(0.5) * block[small + large * k] + T(0.5) * block[large + small * k];
}

/// V_ij = W_ij X_j^T of a block, or W_ij X_j. w may be `staged`. All lanes of the warp take part.
template <int k, bool transposes_x = true, class T>
__device__ __forceinline__ void divide_block(Offset block, bool active, int lane, T* staged,
                                             const T* w, const T* x, T* v_out) {
    using Tile = BlockTile<T, k>;
    Tile c(lane);
    c.visit([&](int, int, T& value) { value = T(0); });
    if (active) c.template subtract_product<transposes_x>(w, x);
    __syncwarp();
    c.visit([&](int row, int column, T& value) { staged[row + column * k] = -value; });
    __syncwarp();
    store_block<k, Tile::lanes>(block, active, lane, staged, v_out);
}

/// Schur complements of diagonal blocks (to `v_out`), or W and V = W X of off-diagonal blocks; one
/// team of lanes per block, accumulated in register tiles or, FP64 with 8 rows and more, by tensor
/// cores, staged in shared memory.
template <bool diagonal, int k, class T>
__global__ void __launch_bounds__(schur_threads)
    schur_kernel(const __grid_constant__ PatternView<T> a, Offset first, Offset last,
                 const __grid_constant__ TriangleArrays<T> lower,
                 const __grid_constant__ TriangleArrays<T> upper) {
    using Team = SchurTeam<T, k>;
    __shared__ __align__(16) T memory[Team::teams][k * k];
    begin_dependent();
    const Team team(upper.from != nullptr);
    const Offset item = first + team.item;
    const bool active = item < last;
    const TriangleArrays<T>& arrays = team.above ? upper : lower;
    T* const staged = memory[team.index];
    T* const v_out = arrays.v_out;
    stage_block<k, Team::lanes>(arrays.from, item, active, team.lane, staged);
    schur_complement<diagonal, k>(a, item, active, team.lane, staged, arrays.v, arrays.w,
                                  team.above);
    if constexpr (diagonal) {
        if (!active) return;
        for (int e = team.lane; e < k * k; e += Team::lanes) {
            v_out[item * (k * k) + e] = a.symmetric ? symmetric_mean<k>(staged, e) : staged[e];
        }
    } else {
        store_block<k, Team::lanes>(item, active && arrays.w_out != nullptr, team.lane, staged,
                                    arrays.w_out);
        if (v_out == nullptr) return;
        const Offset column = active ? a.columns[item] : 0;
        divide_block<k, false>(item, active, team.lane, staged, staged,
                               arrays.multipliers + column * (k * k), v_out);
    }
}

template <bool diagonal, class T>
void schur(const Context& context, const PatternView<T>& a, Offset first, Offset last,
           const TriangleArrays<T>& lower, const TriangleArrays<T>& upper) {
    if (first == last) return;
    const unsigned triangles = upper.from != nullptr ? 2 : 1;
    with_block_size(a.k, [&](auto size) {
        constexpr int k = decltype(size)::value;
        constexpr int teams = SchurTeam<T, k>::teams;
        const Index pieces = ProductLists<T>(a, diagonal).sums.piece_count;
        if (pieces > 0) {
            launch_dependent(&schur_pieces_kernel<k, T>, triangles * blocks_for(pieces, teams),
                             schur_threads, 0, stream_of(context), a, diagonal, first, last, lower,
                             upper);
        }
        launch_dependent(&schur_kernel<diagonal, k, T>, triangles * blocks_for(last - first, teams),
                         schur_threads, 0, stream_of(context), a, first, last, lower, upper);
    });
}

template <class T>
void schur_diagonals(const Context& context, const PatternView<T>& a, Index first, Index last,
                     const T* from, const T* v, const T* w, T* b) {
    schur<true, T>(context, a, first, last, {from, v, w, nullptr, b, nullptr}, {});
}

template <class T>
void schur_blocks(const Context& context, const PatternView<T>& a, Offset first, Offset last,
                  const TriangleArrays<T>& lower, const TriangleArrays<T>& upper) {
    schur<false>(context, a, first, last, lower, upper);
}

/// Products of all blocks with those of their columns, in place; one team of lanes per block.
template <int k, class T>
__global__ void __launch_bounds__(schur_threads)
    scale_blocks_kernel(const __grid_constant__ PatternView<T> a, const T* multipliers, T* blocks) {
    using Team = SchurTeam<T, k>;
    __shared__ __align__(16) T memory[Team::teams][k * k];
    begin_dependent();
    const Team team;
    const bool active = team.item < a.blocks;
    T* const staged = memory[team.index];
    if (active) {
        const T* const from = blocks + team.item * (k * k);
        for (int e = team.lane; e < k * k; e += Team::lanes) staged[e] = from[e];
    }
    __syncwarp();
    const Offset column = active ? a.columns[team.item] : 0;
    divide_block<k>(team.item, active, team.lane, staged, staged, multipliers + column * (k * k),
                    blocks);
}

template <class T>
void scale_blocks(const Context& context, const PatternView<T>& a, const T* multipliers,
                  T* blocks) {
    if (a.blocks == 0) return;
    with_block_size(a.k, [&](auto size) {
        constexpr int k = decltype(size)::value;
        launch_dependent(&scale_blocks_kernel<k, T>, blocks_for(a.blocks, SchurTeam<T, k>::teams),
                         schur_threads, 0, stream_of(context), a, multipliers, blocks);
    });
}

}  // namespace tessera::incomplete::cuda
