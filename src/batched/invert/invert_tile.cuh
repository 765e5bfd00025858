#pragma once

#include <limits>

#include "gpu/tiles/gauss_jordan.cuh"

/// Parts of the kernels that hold 32 / lanes matrices a warp in registers; see gauss_jordan.
namespace tessera::batched::cuda {

using namespace tessera::cuda;

namespace {

/// The largest sum of magnitudes among the rows of a matrix.
template <int Lanes, class T, int Rows, int Tile>
__device__ __forceinline__ T row_sum_norm(const T (&a)[Rows][Tile], int n, int lane) {
    T norm = T(0);
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
        T sum = T(0);
#pragma unroll
        for (int j = 0; j < Tile; ++j) {
            if (j < n) sum += fabs(a[i][j]);
        }
        norm = lane + Lanes * i < n && sum > norm ? sum : norm;
    }
    return lanes_max<Lanes>(norm);
}

template <int Lanes, class T, int Rows, int Tile>
__device__ __forceinline__ T largest_entry(const T (&a)[Rows][Tile], int n, int lane) {
    T largest = T(0);
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
#pragma unroll
        for (int j = 0; j < Tile; ++j) {
            if (j < n && lane + Lanes * i < n) largest = fmax(largest, fabs(a[i][j]));
        }
    }
    return lanes_max<Lanes>(largest);
}

/// Lane l of a group takes the rows l + Lanes i of an n x n matrix in shared memory. Columns from n
/// on repeat the last one; rows from n on hold whatever lies there: neither is ever a pivot, and so
/// neither touches the others.
template <int Lanes, class T, int Rows, int Tile>
__device__ __forceinline__ void take_rows(T (&a)[Rows][Tile], const T* matrix, int n, int lane) {
    const T* row = matrix + lane;
#pragma unroll
    for (int j = 0; j < Tile; ++j) {
        const T* column = row + min(j, n - 1) * n;
#pragma unroll
        for (int i = 0; i < Rows; ++i) a[i][j] = column[Lanes * i];
    }
}

/// Scales the rows that gauss_jordan left by the reciprocals of their pivots and returns their
/// largest sum of magnitudes; info becomes n where it is 0 and an element is not finite. `step`
/// receives the steps of the rows. A matrix with info becomes NaN.
template <int Lanes, class T, int Rows, int Tile>
__device__ __forceinline__ T scale_rows(T (&a)[Rows][Tile], PivotStep<T>* table, int n, int lane,
                                        int& info, int (&step)[Rows]) {
    T norm = T(0);
    bool finite = true;
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
        const bool inside = lane + Lanes * i < n;
        step[i] = inside && info == 0 ? int(table[lane + Lanes * i].step) : 0;
        const T scale = table[step[i]].reciprocal;
        T sum = T(0);
#pragma unroll
        for (int j = 0; j < Tile; ++j) {
            a[i][j] *= scale;
            if (j >= Tile - n) sum += fabs(a[i][j]);
        }
        finite = finite && (isfinite(sum) || !inside);
        norm = inside && sum > norm ? sum : norm;
    }
    norm = lanes_max<Lanes>(norm);
    if (__any_sync(full_warp, !finite || info != 0)) {
        finite = true;
#pragma unroll
        for (int i = 0; i < Rows; ++i) {  // A sum may overflow where no element does.
#pragma unroll
            for (int j = 0; j < Tile; ++j) {
                if (j >= Tile - n && lane + Lanes * i < n) finite = finite && isfinite(a[i][j]);
            }
        }
        if (any_of_lanes<Lanes>(!finite) && info == 0) info = n;
        if (info != 0) {
#pragma unroll
            for (int i = 0; i < Rows; ++i) {
                step[i] = lane + Lanes * i;
#pragma unroll
                for (int j = 0; j < Tile; ++j) a[i][j] = std::numeric_limits<T>::quiet_NaN();
            }
            for (int k = lane; k < n; k += Lanes) table[k].row = k;
        }
    }
    __syncwarp();
    return norm;
}

}  // namespace

}  // namespace tessera::batched::cuda
