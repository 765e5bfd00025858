#pragma once

#include <limits>

#include "gpu/pack.cuh"
#include "gpu/tiles/diagonal_blocks.cuh"
#include "gpu/tiles/gauss_jordan.cuh"

/// Diagonal blocks from CSR to shared memory, to registers, inverted, and back. A warp takes
/// 32 / Lanes consecutive blocks, whose rows, and whose packed inverses, are contiguous.
namespace tessera::cuda {

/// The shared memory of a warp.
template <class T, int Tile, int Lanes>
struct WarpBlocks {
    static constexpr int blocks = 32 / Lanes;
    /// Of a row of a block: odd, so that a column of them meets all banks, too.
    static constexpr int stride = Tile + 1;
    /// Values of a block; the pad spreads the blocks over the banks.
    static constexpr int block_values = (Tile * stride + 31) / 32 * 32 + Lanes % 32;
    static constexpr int values = blocks * block_values;
    static constexpr int rows = blocks * Tile;
    /// Entries of the row table; the tables of steps in its place begin in different banks.
    static constexpr int row_entries = blocks * (Tile + 1);
    static constexpr int bytes = values * int(sizeof(T)) + row_entries * int(sizeof(BlockRow));
    static_assert(values % 32 == 0 && values <= 1 << BlockRow::place_bits);

    T* value;
    BlockRow* row;

    __device__ explicit WarpBlocks(unsigned char* memory)
        : value(reinterpret_cast<T*>(memory)),
          row(reinterpret_cast<BlockRow*>(memory + values * sizeof(T))) {}

    /// The steps of the elimination of block `group`; takes the place of the row table.
    __device__ PivotStep<T>* steps(int group) const {
        static_assert(sizeof(PivotStep<T>) <= sizeof(BlockRow));
        return reinterpret_cast<PivotStep<T>*>(row) + group * (Tile + 1);
    }
    __device__ void clear() const {
        for (int e = int(threadIdx.x) % 32; e < values; e += 32) value[e] = T(0);
    }
};

/// Writes the entries of the blocks of this warp to its shared memory, block s at s * block_values,
/// row-major with rows of `stride`, zero where the matrix stores nothing. Lane s holds in `start`
/// the first row of block s of the warp; starts behind its last block repeat the end of that.
template <class T, int Tile, int Lanes>
__device__ __forceinline__ void extract_blocks(const CsrView<T>& matrix, Index start,
                                               const WarpBlocks<T, Tile, Lanes>& shared) {
    using Warp = WarpBlocks<T, Tile, Lanes>;
    constexpr int lane_rows = (Warp::rows + 31) / 32;
    const int lane = int(threadIdx.x) % 32;
    Index starts[Warp::blocks + 1];
#pragma unroll
    for (int s = 0; s <= Warp::blocks; ++s) starts[s] = __shfl_sync(full_warp, start, s);
    const int rows = starts[Warp::blocks] - starts[0];
    RowSearch search[lane_rows];
#pragma unroll
    for (int q = 0; q < lane_rows; ++q) {
        const int r = lane + 32 * q;
        const bool inside = r < rows;
        const Index row = starts[0] + r;
        int block = 0;
        Index first = starts[0];
        Index next = starts[1];
#pragma unroll
        for (int s = 1; s < Warp::blocks; ++s) {
            if (row >= starts[s]) {
                block = s;
                first = starts[s];
                next = starts[s + 1];
            }
        }
        search[q] = {inside ? __ldg(matrix.row_offsets + row) : 0,
                     inside ? __ldg(matrix.row_offsets + row + 1) : 0, first,
                     inside ? next - first : 0,
                     block * Warp::block_values + (row - first) * Warp::stride};
    }
    shared.clear();
    take_rows<Tile>(matrix, search, rows, shared.row, [&](const BlockRow& row, int c, T value) {
        shared.value[row.place() + c] = value;
    });
    __syncwarp();
}

/// Lane l of group s takes the rows l + Lanes i of block s, without bank conflicts.
template <class T, int Tile, int Lanes, int Rows>
__device__ __forceinline__ void take_blocks(const WarpBlocks<T, Tile, Lanes>& shared,
                                            T (&a)[Rows][Tile]) {
    using Warp = WarpBlocks<T, Tile, Lanes>;
    const int lane = int(threadIdx.x) % 32;
    const T* const block = shared.value + lane / Lanes * Warp::block_values;
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
        const int row = lane % Lanes + Lanes * i;
#pragma unroll
        for (int k = 0; k < Tile; ++k) a[i][k] = row < Tile ? block[row * Warp::stride + k] : T(0);
    }
}

/// What is known of a block before it is inverted.
template <class T>
struct BlockFacts {
    T norm;          ///< ||B||_inf, sums in ascending order of the columns.
    bool symmetric;  ///< Exactly.
};

/// The facts about the block of this group, from what take_blocks left.
template <class T, int Tile, int Lanes, int Rows>
__device__ __forceinline__ BlockFacts<T> examine_blocks(const WarpBlocks<T, Tile, Lanes>& shared,
                                                        const T (&a)[Rows][Tile]) {
    using Warp = WarpBlocks<T, Tile, Lanes>;
    const int lane = int(threadIdx.x) % 32;
    const T* const block = shared.value + lane / Lanes * Warp::block_values;
    T norm = T(0);
    bool differs = false;
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
        const int row = lane % Lanes + Lanes * i;
        T sum = T(0);
#pragma unroll
        for (int k = 0; k < Tile; ++k) {
            sum += fabs(a[i][k]);
            differs = differs || (row < Tile && block[k * Warp::stride + row] != a[i][k]);
        }
        norm = fmax(norm, sum);
    }
    return {lanes_max<Lanes>(norm), !any_of_lanes<Lanes>(differs)};
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

/// Inverts the blocks in registers, of n rows each, `steps` the largest n of the warp; all other
/// registers and rows are +0; and writes them to shared memory, row-major with rows of `stride`.
/// Returns 0, or k where the k-th pivot (1-based), or its reciprocal, is zero or not finite; all
/// values are NaN then.
template <class T, int Tile, int Lanes, int Rows>
__device__ __forceinline__ int invert_blocks(const WarpBlocks<T, Tile, Lanes>& shared,
                                             T (&a)[Rows][Tile], int n, int steps) {
    using Warp = WarpBlocks<T, Tile, Lanes>;
    const int lane = int(threadIdx.x) % Lanes;
    const int group = int(threadIdx.x) % 32 / Lanes;
    PivotStep<T>* const table = shared.steps(group);
    T none = T(0);
    const int info =
        gauss_jordan<Lanes, true, false, true>(a, n, steps, lane, shared_address(table), none);
    close_steps<Lanes>(table, n, lane, info);
    // X(step of row r, row of step k) = D(r, k) / pivot of row r.
    T scale[Rows];
    T* to[Rows];
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
        const int row = lane + Lanes * i;
        const int step = row < n ? int(table[row].step) : 0;
        scale[i] = table[step].reciprocal;
        to[i] = shared.value + group * Warp::block_values + step * Warp::stride;
    }
    const PivotStep<T>* const shifted = table - (Tile - steps);
#pragma unroll
    for (int m = 0; m < Tile; ++m) {
        if (unsigned(m - (Tile - steps)) >= unsigned(n)) continue;
        const int column = shifted[m].row;
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            if (lane + Lanes * i < n) to[i][column] = a[i][m] * scale[i];
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

/// Whether all entries of the inverse of this group, of n rows, are finite.
template <class T, int Tile, int Lanes>
__device__ __forceinline__ bool entries_finite(const WarpBlocks<T, Tile, Lanes>& shared, int n) {
    using Warp = WarpBlocks<T, Tile, Lanes>;
    const T* const block = shared.value + int(threadIdx.x) % 32 / Lanes * Warp::block_values;
    bool all = true;
    for (int e = int(threadIdx.x) % Lanes; e < n * n; e += Lanes) {
        all = all && isfinite(block[e / n * Warp::stride + e % n]);
    }
    const unsigned group = (Lanes == 32 ? full_warp : (1u << (Lanes % 32)) - 1)
                           << (int(threadIdx.x) % 32 / Lanes * Lanes);
    return __all_sync(group, all) != 0;
}

/// output(f) calls f(write) with write(column, row, pack of one value) for the inverse that
/// invert_blocks left, as (X + X^T) / 2 where `symmetric`; NaN is written instead where an entry is
/// not finite. It may branch otherwise for other groups. Unrolled: more instructions, fewer steps.
template <bool Unrolled, class T, int Tile, int Lanes, class Output>
__device__ __forceinline__ InverseFacts<T> store_inverses(const WarpBlocks<T, Tile, Lanes>& shared,
                                                          int n, bool symmetric, bool want_largest,
                                                          Output&& output) {
    using Warp = WarpBlocks<T, Tile, Lanes>;
    constexpr int rows = (Tile + Lanes - 1) / Lanes;
    const int lane = int(threadIdx.x) % Lanes;
    const T* const block = shared.value + int(threadIdx.x) % 32 / Lanes * Warp::block_values;
    InverseFacts<T> facts{T(0), T(0), true};
    output([&](auto&& write) {
#pragma unroll(Unrolled ? rows : 1)
        for (int i = 0; i < rows; ++i) {
            const int row = lane + Lanes * i;
            if (row >= n) continue;
            T sum = T(0);
#pragma unroll(Unrolled ? Tile : 2)
            for (int c = 0; c < (Unrolled ? Tile : n); ++c) {
                if (c >= n) continue;
                T x = block[row * Warp::stride + c];
                if (symmetric && c != row) x = middle_of(x, block[c * Warp::stride + row]);
                write(c, row, Pack<T, 1>{{x}});
                sum += fabs(x);
                if (want_largest) facts.largest = fmax(facts.largest, fabs(x));
            }
            facts.norm = fmax(facts.norm, sum);
            facts.finite = facts.finite && sum <= std::numeric_limits<T>::max();
        }
    });
    __syncwarp();
    facts.finite = !any_of_lanes<Lanes>(!facts.finite);
    if (!facts.finite) {  // An entry is not, or only the sum.
        facts.finite = entries_finite(shared, n);
        output([&](auto&& write) {
            for (int e = lane; !facts.finite && e < n * n; e += Lanes) {
                write(e / n, e % n, Pack<T, 1>{{std::numeric_limits<T>::quiet_NaN()}});
            }
        });
    }
    facts.norm = lanes_max<Lanes>(facts.norm);
    facts.largest = want_largest ? lanes_max<Lanes>(facts.largest) : T(0);
    return facts;
}

}  // namespace tessera::cuda
