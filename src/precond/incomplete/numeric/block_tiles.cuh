#pragma once

#include "gpu/pack.cuh"
#include "gpu/tuning/incomplete_h200.hpp"
#include "gpu/warp.cuh"
#include "precond/incomplete/block_sizes.hpp"
#include "precond/incomplete/symbolic/pattern_view.hpp"

/// Register tiles: a k x k block, column-major, spread over the lanes of a team.
namespace tessera::incomplete::cuda {

using tessera::cuda::full_warp;

/// `count` adjacent values from an address that is a multiple of their bytes, or of 16.
template <int count, class T>
__device__ __forceinline__ void load_adjacent(const T* from, T (&to)[count]) {
    constexpr int bytes = count * int(sizeof(T));
    constexpr int width = bytes % 16 == 0 ? tessera::cuda::pack_width<T> : bytes == 8 ? count : 1;
#pragma unroll
    for (int i = 0; i < count / width; ++i) {
        const auto pack = reinterpret_cast<const tessera::cuda::Pack<T, width>*>(from)[i];
#pragma unroll
        for (int j = 0; j < width; ++j) to[i * width + j] = pack.value[j];
    }
}

/// Positions in a list: block rows of a column, blocks of a row, or pieces.
struct ListRange {
    Offset begin = 0, end = 0;
};

/// The range of pieces of an item whose list is split.
template <class T>
__device__ __forceinline__ ListRange pieces_of(const SplitSumsView<T>& sums, Offset item) {
    Index before = 0, after = sums.count;
    while (after - before > 1) {
        const Index middle = before + (after - before) / 2;
        (sums.items[middle] <= item ? before : after) = middle;
    }
    return {sums.first_piece[before], sums.first_piece[before + 1]};
}

/// A block as rectangles of rows x columns values, one per lane.
template <class T, int k>
class LaneRectangles {
  public:
    static constexpr int row_lanes = schur_row_lanes(k);
    static constexpr int column_lanes = schur_column_lanes(k);
    static constexpr int lanes = row_lanes * column_lanes;

    __device__ explicit LaneRectangles(int lane)
        : row_(lane % row_lanes * rows), column_(lane / row_lanes * columns) {}

    /// f(row, column, value) for the values of this lane.
    template <class F>
    __device__ __forceinline__ void visit(F&& f) {
#pragma unroll
        for (int j = 0; j < columns; ++j) {
#pragma unroll
            for (int i = 0; i < rows; ++i) f(row_ + i, column_ + j, values_[j][i]);
        }
    }
    /// C -= V W^T, or V W.
    template <bool transposes_w = true>
    __device__ __forceinline__ void subtract_product(const T* v, const T* w) {
#pragma unroll 8
        for (int p = 0; p < k; ++p) {
            T a[rows], b[columns];
            load_adjacent(v + p * k + row_, a);
            if constexpr (transposes_w) {
                load_adjacent(w + p * k + column_, b);
            } else {
#pragma unroll
                for (int j = 0; j < columns; ++j) b[j] = w[p + (column_ + j) * k];
            }
#pragma unroll
            for (int j = 0; j < columns; ++j) {
#pragma unroll
                for (int i = 0; i < rows; ++i) values_[j][i] = fma(-a[i], b[j], values_[j][i]);
            }
        }
    }

  private:
    static constexpr int rows = k / row_lanes;
    static constexpr int columns = k / column_lanes;
    int row_, column_;
    T values_[columns][rows];
};

/// A block as 8 x 8 tiles of FP64 tensor instructions, which round as fma does.
template <int k>
class TensorTiles {
  public:
    static constexpr int lanes = 32;

    __device__ explicit TensorTiles(int lane) : lane_(lane) {}

    template <class F>
    __device__ __forceinline__ void visit(F&& f) {
#pragma unroll
        for (int i = 0; i < tiles; ++i) {
#pragma unroll
            for (int j = 0; j < tiles; ++j) {
                f(8 * i + lane_ / 4, 8 * j + lane_ % 4 * 2, values_[i][j][0]);
                f(8 * i + lane_ / 4, 8 * j + lane_ % 4 * 2 + 1, values_[i][j][1]);
            }
        }
    }
    template <bool transposes_w = true>
    __device__ __forceinline__ void subtract_product(const double* v, const double* w) {
#pragma unroll
        for (int p = 0; p < k; p += 4) {
            const int row = lane_ / 4, term = p + lane_ % 4, offset = row + term * k;
            double a[tiles], b[tiles];
#pragma unroll
            for (int i = 0; i < tiles; ++i) a[i] = -v[offset + 8 * i];
#pragma unroll
            for (int j = 0; j < tiles; ++j) {
                b[j] = w[transposes_w ? offset + 8 * j : term + (row + 8 * j) * k];
            }
#pragma unroll
            for (int i = 0; i < tiles; ++i) {
#pragma unroll
                for (int j = 0; j < tiles; ++j) {
                    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, "
                        "{%0, %1};"
                        : "+d"(values_[i][j][0]), "+d"(values_[i][j][1])
                        : "d"(a[i]), "d"(b[j]));
                }
            }
        }
    }

  private:
    static constexpr int tiles = k / 8;
    int lane_;
    double values_[tiles][tiles][2];
};

template <class T, int k>
using BlockTile =
    std::conditional_t<std::is_same_v<T, double> && (k >= 8), TensorTiles<k>, LaneRectangles<T, k>>;

}  // namespace tessera::incomplete::cuda
