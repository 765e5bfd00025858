#pragma once

#include <limits>

#include "gpu/tiles/extraction/warp_blocks.cuh"

/// Gauss-Jordan elimination of the blocks of a warp (warp_blocks.cuh) in registers; the inverses
/// are transposed, symmetrised and summed in shared memory and written from there.
namespace tessera::cuda {

/// Properties of a block before it is inverted.
template <class T>
struct BlockProperties {
    T norm;          ///< ||B||_inf, sums in ascending order of the columns.
    bool symmetric;  ///< B is exactly symmetric.
};

/// The properties of the block of this group, whose rows load_block read.
template <class Warp, class T>
__device__ __forceinline__ BlockProperties<T> examine_block(
    const T* block, const T (&a)[Warp::lane_rows][Warp::tile]) {
    const int lane = int(threadIdx.x % Warp::lanes);
    T norm = T(0);
#pragma unroll
    for (int i = 0; i < Warp::lane_rows; ++i) {
        T sum = T(0);
#pragma unroll
        for (int k = 0; k < Warp::tile; ++k) sum += fabs(a[i][k]);
        norm = fmax(norm, sum);
    }
    // Each pair of mirrored entries is compared in the row of the lower one, and some twice; the
    // first rows of all blocks mostly decide.
    bool differs = false;
#pragma unroll
    for (int i = 0; i < Warp::lane_rows; ++i) {
        if (i == 1 && __all_sync(full_warp, any_of_lanes<Warp::lanes>(differs))) break;
        const int row = lane + Warp::lanes * i;
#pragma unroll
        for (int k = 0; k < min(Warp::tile, Warp::lanes * (i + 1)); ++k) {
            differs |= row < Warp::tile && block[k * Warp::stride + row] != a[i][k];
        }
    }
    return {lanes_max<Warp::lanes>(norm), !any_of_lanes<Warp::lanes>(differs)};
}

/// Completes the pivot table of this group's block of n rows: fills in `step`; where info is not 0,
/// the permutation becomes the identity and all reciprocals NaN.
template <int Lanes, class T>
__device__ __forceinline__ void finish_pivot_table(PivotStep<T>* table, int n, int lane, int info) {
    invert_permutation<Lanes>(table, info == 0 ? n : 0, lane);
    if (info != 0) {
        for (int k = lane; k < n; k += Lanes) {
            table[k] = {std::numeric_limits<T>::quiet_NaN(), decltype(table->row)(k),
                        decltype(table->step)(k)};
        }
    }
    __syncwarp();
}

/// Inverts the blocks in registers and writes the inverse of this group to block `group` of
/// `shared`, column-major. Blocks have n rows, `steps` the largest n of the warp, and other
/// registers and rows are +0. Returns 0, or k where the k-th pivot (1-based), or its reciprocal, is
/// zero or not finite; all values are NaN then.
template <class Warp, class T>
__device__ __forceinline__ int invert_blocks(T (&a)[Warp::lane_rows][Warp::tile],
                                             const Warp& shared, int group, int n, int steps) {
    constexpr int lanes = Warp::lanes;
    const int lane = int(threadIdx.x % lanes);
    T* const block = shared.value + group * Warp::block_values;
    PivotStep<T>* const table = shared.steps(group);
    const int info = gauss_jordan<lanes, true, true>(a, n, steps, lane, address_in_shared(table));
    finish_pivot_table<lanes>(table, n, lane, info);
    // X(step of row r, row of step k) = D(r, k) / pivot of row r.
    T scale[Warp::lane_rows];
    T* to[Warp::lane_rows];
#pragma unroll
    for (int i = 0; i < Warp::lane_rows; ++i) {
        const int row = lane + lanes * i;
        const int step = row < n ? int(table[row].step) : 0;
        scale[i] = table[step].reciprocal;
        to[i] = block + step;
    }
    // Register k holds column k - skipped.
    const int skipped = Warp::tile - steps;
#pragma unroll
    for (int k = 0; k < Warp::tile; ++k) {
        if (unsigned(k - skipped) >= unsigned(n)) continue;
        const int column = int(table[k - skipped].row) * Warp::stride;
#pragma unroll
        for (int i = 0; i < Warp::lane_rows; ++i) {
            if (lane + lanes * i < n) to[i][column] = a[i][k] * scale[i];
        }
    }
    __syncwarp();
    return info;
}

/// Half the sum, without overflow; equal for both orders of the arguments, so not contracted to a
/// fused operation.
__device__ __forceinline__ double average(double x, double y) {
    return __dadd_rn(0.5 * x, 0.5 * y);
}
__device__ __forceinline__ float average(float x, float y) { return __fadd_rn(0.5F * x, 0.5F * y); }

/// Properties of an inverse.
template <class T>
struct InverseProperties {
    T norm;     ///< ||X||_inf, sums in ascending order of the columns.
    T largest;  ///< max |x_ij|, 0 where not requested.
    bool finite;
};

/// write(column, row, value) for this lane's part of the inverse that invert_blocks left in
/// `block`, as (X + X^T) / 2 where `symmetric`. n is 0 in a group without a block. Returns the
/// properties of that part; `finite` is false if a row sum overflows. Unrolled: the loop over
/// columns is unrolled.
template <class Warp, bool Unrolled, class T, class Write>
__device__ __forceinline__ InverseProperties<T> write_part(const T* block, int n, bool symmetric,
                                                           bool want_largest, Write&& write) {
    constexpr int column_steps = Unrolled ? Warp::tile : 2;
    const int columns = Unrolled ? Warp::tile : n;
    InverseProperties<T> inverse{T(0), T(0), true};
#pragma unroll(Unrolled ? Warp::lane_rows : 1)
    for (int i = 0; i < Warp::lane_rows; ++i) {
        const int row = int(threadIdx.x % Warp::lanes) + Warp::lanes * i;
        if (row >= n) break;
        T sum = T(0);
#pragma unroll(column_steps)
        for (int c = 0; c < columns; ++c) {
            if (Unrolled && c >= n) continue;
            T x = block[c * Warp::stride + row];
            if (symmetric && c != row) x = average(x, block[row * Warp::stride + c]);
            write(c, row, x);
            sum += fabs(x);
            if (want_largest) inverse.largest = fmax(inverse.largest, fabs(x));
        }
        inverse.norm = fmax(inverse.norm, sum);
        inverse.finite = inverse.finite && sum <= std::numeric_limits<T>::max();
    }
    return inverse;
}

/// Writes the inverse of this group, NaN where an entry is not finite. output(f) calls f(write)
/// with the function that write_part calls; groups may take different branches in it.
template <class Warp, bool Unrolled, class T, class Output>
__device__ __forceinline__ InverseProperties<T> write_block(const T* block, int n, bool symmetric,
                                                            bool want_largest, Output&& output) {
    constexpr int lanes = Warp::lanes;
    const int lane = int(threadIdx.x % lanes);
    InverseProperties<T> inverse;
    output([&](auto&& write) {
        inverse = write_part<Warp, Unrolled>(block, n, symmetric, want_largest, write);
    });
    __syncwarp();
    inverse.norm = lanes_max<lanes>(inverse.norm);
    if (want_largest) inverse.largest = lanes_max<lanes>(inverse.largest);
    if (__all_sync(full_warp, inverse.finite)) return inverse;
    inverse.finite = true;  // Perhaps only a sum overflows.
    for (int e = lane; e < n * n; e += lanes) {
        inverse.finite = inverse.finite && isfinite(block[e / n * Warp::stride + e % n]);
    }
    inverse.finite = !any_of_lanes<lanes>(!inverse.finite);
    output([&](auto&& write) {
        for (int row = lane; !inverse.finite && row < n; row += lanes) {
#pragma unroll 1
            for (int c = 0; c < n; ++c) write(c, row, std::numeric_limits<T>::quiet_NaN());
        }
    });
    return inverse;
}

}  // namespace tessera::cuda
