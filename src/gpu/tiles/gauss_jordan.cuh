#pragma once

#include "gpu/warp.cuh"

/// Gauss-Jordan inversion of small matrices in registers. A warp holds 32 / Lanes matrices; lane l
/// of a group of `Lanes` lanes holds the rows l + Lanes i, i < Rows, each in `Tile` registers.
namespace tessera::cuda {

/// The permutation that pivoting found. Entry i belongs to row, or step, lane + Lanes i.
template <int Rows>
struct PivotOrder {
    int step_of_row[Rows];
    int row_of_step[Rows];
};

/// The bits of |x| that order magnitudes, the last five zero to take a row number. Two normal
/// magnitudes with equal keys differ by less than 2^-15 of the larger. A key is zero only for
/// magnitudes whose reciprocal overflows, which are no pivots anyway; infinity and NaN have the
/// largest keys.
__device__ __forceinline__ unsigned magnitude_key(double x) {
    return unsigned(__double2hiint(x)) & 0x7fffffe0u;
}
__device__ __forceinline__ unsigned magnitude_key(float x) {
    return __float_as_uint(x) & 0x7fffffe0u;
}

/// a / d, correctly rounded (Markstein) where nothing over- or underflows, from the rounded 1 / d:
/// so that equal rows cancel to exact zeros and a singular matrix shows.
template <class T>
__device__ __forceinline__ T quotient(T a, T d, T reciprocal) {
    const T rough = a * reciprocal;
    return fma(fma(-rough, d, a), reciprocal, rough);
}

/// The row among those not yet chosen whose first register is largest; the first of equals.
template <int Lanes, int Rows, class T, int Tile>
__device__ __forceinline__ int find_pivot_row(const T (&a)[Rows][Tile], int lane,
                                              const PivotOrder<Rows>& order) {
    unsigned key = 0;
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
        const unsigned mine = magnitude_key(a[i][0]) | unsigned(31 - (lane + Lanes * i));
        if (order.step_of_row[i] < 0) key = max(key, mine);
    }
    return 31 - int(lanes_max<Lanes>(key) & 31u);
}

/// Register `j` of row lane_of_row + Lanes * slot, in all lanes of the group.
template <int Lanes, int Rows, class T, int Tile>
__device__ __forceinline__ T broadcast(const T (&a)[Rows][Tile], int j, int lane_of_row, int slot) {
    T value = a[0][j];
#pragma unroll
    for (int i = 1; i < Rows; ++i) value = slot == i ? a[i][j] : value;
    return __shfl_sync(full_warp, value, lane_of_row, Lanes);
}

/// Inverts an n x n matrix by Gauss-Jordan elimination with implicit partial pivoting among its
/// rows (Anzt et al., Fig. 2); n may differ between the groups of a warp, `steps` is the largest n
/// of the warp, at most Tile. Columns 0..n-1 come in registers 0..n-1; all other registers and all
/// rows from n on must be +0. Returns 0, or k where the k-th pivot (1-based), or its reciprocal, is
/// zero or not finite, or n where only the result is not finite; the registers are then without
/// meaning, `order` holds permutations all the same.
///
/// The registers rotate: each step writes column j to register j - 1, so that the pivot column is
/// always register 0 and one rolled loop serves every n. On return register Tile - steps + k holds
/// column k of the array D of Fig. 2, and the inverse is
///     X(step_of_row[r], row_of_step[k]) = D(r, k).
/// Pivot rows stay unscaled until the end (multiplier 0, own entry 1): scaling them on the way by
/// r += (1/d - 1) r would lose digits. A group that has done its n steps takes null steps, which
/// multiply a zero row by -0 and so change no bit: results do not depend on neighbours.
/// The left residual ||X A - I|| is below n eps ||A|| ||X|| max(1, growth).
template <int Lanes, class T, int Rows, int Tile>
__device__ __forceinline__ int gauss_jordan(T (&a)[Rows][Tile], int n, int steps, int lane,
                                            PivotOrder<Rows>& order) {
    static_assert(Lanes * Rows >= Tile && Lanes * Rows <= 32, "rows are numbered by five bits");
    T scale[Rows];
    int info = 0;
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
        order.step_of_row[i] = lane + Lanes * i < n ? -1 : Tile;
        order.row_of_step[i] = 0;
        scale[i] = T(1);
    }
#pragma unroll 1
    for (int k = 0; k < steps; ++k) {
        const int found = find_pivot_row<Lanes>(a, lane, order);
        const int pivot_row = k < n ? found : n;
        const int owner = pivot_row % Lanes;
        const int slot = pivot_row / Lanes;
        T pivot = broadcast<Lanes>(a, 0, owner, slot);
        if (k >= n) pivot = T(1);
        const T reciprocal = T(1) / pivot;
        if (info == 0 && !(isfinite(pivot) && isfinite(reciprocal))) info = k + 1;

        T multiplier[Rows];
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            const int row = lane + Lanes * i;
            const bool chosen = row == pivot_row;
            multiplier[i] = chosen || row >= n ? T(0) : -quotient(a[i][0], pivot, reciprocal);
            if (chosen) {
                order.step_of_row[i] = k;
                scale[i] = reciprocal;
            }
            if (row == k) order.row_of_step[i] = pivot_row;
        }
#pragma unroll
        for (int j = 1; j < Tile; ++j) {
            const T pivot_entry = broadcast<Lanes>(a, j, owner, slot);
#pragma unroll
            for (int i = 0; i < Rows; ++i) a[i][j - 1] = fma(multiplier[i], pivot_entry, a[i][j]);
        }
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            a[i][Tile - 1] = lane + Lanes * i == pivot_row ? T(1) : multiplier[i];
        }
    }
    T check = T(0);  // Becomes NaN when an entry is not finite.
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
#pragma unroll
        for (int j = 0; j < Tile; ++j) {
            a[i][j] *= scale[i];
            check = fma(a[i][j], T(0), check);
        }
    }
    const bool overflow = any_of_lanes<Lanes>(!(check == T(0)));
    return info == 0 && overflow ? n : info;
}

}  // namespace tessera::cuda
