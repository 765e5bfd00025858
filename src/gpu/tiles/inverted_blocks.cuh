#pragma once

#include <limits>

#include "gpu/tiles/warp_blocks.cuh"

/// Gauss-Jordan elimination of the blocks of a warp (warp_blocks.cuh) in registers, and their
/// inverses by way of shared memory to their places.
namespace tessera::cuda {

/// What is known of a block before it is inverted.
template <class T>
struct BlockFacts {
    T norm;          ///< ||B||_inf, sums in ascending order of the columns.
    bool symmetric;  ///< Exactly.
};

/// The facts about the block of this group, whose rows take_block read.
template <class Warp, class T>
__device__ __forceinline__ BlockFacts<T> examine_block(const T* block,
                                                       const T (&a)[Warp::lane_rows][Warp::tile]) {
    const int lane = int(threadIdx.x % Warp::lanes);
    T norm = T(0);
#pragma unroll
    for (int i = 0; i < Warp::lane_rows; ++i) {
        T sum = T(0);
#pragma unroll
        for (int k = 0; k < Warp::tile; ++k) sum += fabs(a[i][k]);
        norm = fmax(norm, sum);
    }
    // Of each two mirrored entries the lower one's row is compared, and some others, too; the first
    // rows of all blocks decide mostly.
    bool differs = false;
#pragma unroll
    for (int i = 0; i < Warp::lane_rows; ++i) {
        if (i == 1 && __all_sync(full_warp, any_of_lanes<Warp::lanes>(differs))) break;
        const int row = lane + Warp::lanes * i;
#pragma unroll
        for (int k = 0; k < min(Warp::tile, Warp::lanes * (i + 1)); ++k) {
            differs |=
                (Warp::exact || row < Warp::tile) && block[k * Warp::stride + row] != a[i][k];
        }
    }
    return {lanes_max<Warp::lanes>(norm), !any_of_lanes<Warp::lanes>(differs)};
}

/// What the inverse of this group's block of n rows is read by: fills in `step` of its table; where
/// info is not 0, all reciprocals become NaN, each row that of its own step.
template <int Lanes, class T>
__device__ __forceinline__ void close_steps(PivotStep<T>* table, int n, int lane, int info) {
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
/// registers and rows are +0; where Exact, both are Tile, and again() reads the rows once more.
/// Returns 0, or k where the k-th pivot (1-based), or its reciprocal, is zero or not finite; all
/// values are NaN then.
template <class Warp, class T, class Again>
__device__ __forceinline__ int invert_blocks(T (&a)[Warp::lane_rows][Warp::tile],
                                             const Warp& shared, int group, int n, int steps,
                                             Again&& again) {
    constexpr int lanes = Warp::lanes;
    constexpr bool exact = Warp::exact;
    const int lane = int(threadIdx.x % lanes);
    T* const block = shared.value + group * Warp::block_values;
    PivotStep<T>* const table = shared.steps(group);
    const auto eliminate = [&](auto careful) {
        T none = T(0);
        return gauss_jordan<lanes, careful.value, false, !exact>(a, n, steps, lane,
                                                                 shared_address(table), none);
    };
    int info = eliminate(std::bool_constant<!exact>());
    if (exact && __any_sync(full_warp, info != 0)) {
        again();
        info = eliminate(std::true_type());
    }
    close_steps<lanes>(table, n, lane, info);
    // X(step of row r, row of step k) = D(r, k) / pivot of row r.
    T scale[Warp::lane_rows];
    T* to[Warp::lane_rows];
#pragma unroll
    for (int i = 0; i < Warp::lane_rows; ++i) {
        const int row = lane + lanes * i;
        const int step = exact || row < n ? int(table[row].step) : 0;
        scale[i] = table[step].reciprocal;
        to[i] = block + step;
    }
    // Register k holds column k - skipped. Rows of the table are read before columns are written:
    // the compiler keeps the order.
    constexpr int together = exact ? 4 : 1;
    const int skipped = Warp::tile - steps;
    const auto holds_column = [&](int k) { return exact || unsigned(k - skipped) < unsigned(n); };
#pragma unroll
    for (int k = 0; k < Warp::tile; k += together) {
        int column[together];
#pragma unroll
        for (int u = 0; u < together; ++u) {
            if (holds_column(k + u)) column[u] = int(table[k + u - skipped].row) * Warp::stride;
        }
#pragma unroll
        for (int u = 0; u < together; ++u) {
            if (!holds_column(k + u)) continue;
#pragma unroll
            for (int i = 0; i < Warp::lane_rows; ++i) {
                if (exact || lane + lanes * i < n) to[i][column[u]] = a[i][k + u] * scale[i];
            }
        }
    }
    __syncwarp();
    return info;
}

/// Half the sum, without overflow; the same for both orders of the two, and so not contracted to a
/// fused operation.
__device__ __forceinline__ double middle_of(double x, double y) {
    return __dadd_rn(0.5 * x, 0.5 * y);
}
__device__ __forceinline__ float middle_of(float x, float y) {
    return __fadd_rn(0.5F * x, 0.5F * y);
}

/// What is known of an inverse.
template <class T>
struct InverseFacts {
    T norm;     ///< ||X||_inf, sums in ascending order of the columns.
    T largest;  ///< max |x_ij|, 0 where not wanted.
    bool finite;
};

/// write(column, first of some adjacent rows, their values) for this lane's part of the inverse
/// that invert_blocks left in `block`, as (X + X^T) / 2 where `symmetric`, which wants
/// MaybeSymmetric. n is 0 in a group without a block. Returns what is known of that part, `finite`
/// by its sums alone. Unrolled: more instructions, fewer steps.
template <class Warp, bool Unrolled, bool MaybeSymmetric, class T, class Write>
__device__ __forceinline__ InverseFacts<T> write_part(const T* block, int n, bool symmetric,
                                                      bool want_largest, Write&& write) {
    constexpr int together = Warp::together;
    using Part = Pack<T, together>;
    constexpr int row_steps = (Warp::tile + Warp::lanes * together - 1) / (Warp::lanes * together);
    constexpr int column_steps = Unrolled         ? Warp::tile
                                 : !Warp::exact   ? 2
                                 : MaybeSymmetric ? 1
                                                  : 8 / together;
    const int columns = Unrolled || Warp::exact ? Warp::tile : n;
    InverseFacts<T> facts{T(0), T(0), true};
#pragma unroll(Unrolled ? row_steps : 1)
    for (int i = 0; i < row_steps; ++i) {
        const int row = (int(threadIdx.x % Warp::lanes) + Warp::lanes * i) * together;
        if (row >= n) break;
        T sum[together] = {};
#pragma unroll(column_steps)
        for (int c = 0; c < columns; c += together) {
            if (Unrolled && c >= n) continue;
            Part part[together];  // Of the columns c, c + 1 ...
#pragma unroll
            for (int d = 0; d < together; ++d) {
                part[d] = *reinterpret_cast<const Part*>(block + (c + d) * Warp::stride + row);
            }
#pragma unroll
            for (int j = 0; MaybeSymmetric && j < together; ++j) {
                if (!Warp::exact && !(symmetric && c != row)) continue;
                const Part other =
                    *reinterpret_cast<const Part*>(block + (row + j) * Warp::stride + c);
#pragma unroll
                for (int d = 0; d < together; ++d) {
                    T& x = part[d].value[j];
                    if (symmetric && c + d != row + j) x = middle_of(x, other.value[d]);
                }
            }
#pragma unroll
            for (int d = 0; d < together; ++d) {
                write(c + d, row, part[d]);
#pragma unroll
                for (int j = 0; j < together; ++j) {
                    sum[j] += fabs(part[d].value[j]);
                    if (want_largest) facts.largest = fmax(facts.largest, fabs(part[d].value[j]));
                }
            }
        }
#pragma unroll
        for (int j = 0; j < together; ++j) {
            facts.norm = fmax(facts.norm, sum[j]);
            facts.finite = facts.finite && sum[j] <= std::numeric_limits<T>::max();
        }
    }
    return facts;
}

/// output(f) calls f(write) with what write_part calls for the inverse of this group; it may branch
/// otherwise for other groups. NaN is written instead where an entry is not finite.
template <class Warp, bool Unrolled, class T, class Output>
__device__ __forceinline__ InverseFacts<T> write_block(const T* block, int n, bool symmetric,
                                                       bool want_largest, Output&& output) {
    constexpr int lanes = Warp::lanes;
    constexpr int together = Warp::together;
    const int lane = int(threadIdx.x % lanes);
    const bool any_symmetric = !Warp::exact || __any_sync(full_warp, symmetric);
    InverseFacts<T> facts;
    output([&](auto&& write) {
        facts = any_symmetric
                    ? write_part<Warp, Unrolled, true>(block, n, symmetric, want_largest, write)
                    : write_part<Warp, Unrolled, false>(block, n, false, want_largest, write);
    });
    __syncwarp();
    facts.norm = lanes_max<lanes>(facts.norm);
    if (want_largest) facts.largest = lanes_max<lanes>(facts.largest);
    if (__all_sync(full_warp, facts.finite)) return facts;
    facts.finite = true;  // Perhaps only a sum is not.
    const int columns = Warp::exact ? Warp::tile : n;
    for (int e = lane; e < n * columns; e += lanes) {
        facts.finite = facts.finite && isfinite(block[e / columns * Warp::stride + e % columns]);
    }
    facts.finite = !any_of_lanes<lanes>(!facts.finite);
    Pack<T, together> nothing;
#pragma unroll
    for (int j = 0; j < together; ++j) nothing.value[j] = std::numeric_limits<T>::quiet_NaN();
    output([&](auto&& write) {
        for (int row = lane * together; !facts.finite && row < n; row += lanes * together) {
            for (int c = 0; c < columns; ++c) write(c, row, nothing);
        }
    });
    return facts;
}

}  // namespace tessera::cuda
