#pragma once

#include <algorithm>

#include "gpu/pack.cuh"
#include "gpu/tiles/inverted_blocks.cuh"
#include "gpu/tiles/staging.cuh"

/// Diagonal blocks of a CSR matrix that all have n rows, which the compiler knows: from CSR to
/// shared memory, to registers, inverted, and to their places in memory. A warp takes 32 / Lanes
/// consecutive blocks; lane l of a group has the rows l + Lanes i of one.
namespace tessera::cuda {

/// The shared memory of a warp. Rows of a block lie an odd number of units of 16 bytes apart, so
/// that 8 of them meet all banks. Blocks lie so that groups that are served together meet different
/// banks, whether they read rows in units or a column in values: if group g takes block_of(g).
template <class T, int n, int Lanes>
struct FixedSizeBlocks {
    static constexpr int blocks = 32 / Lanes;
    static constexpr int unit = 16 / int(sizeof(T));
    static_assert(n % unit == 0 && n <= 32);
    static constexpr int row_units = n / unit;
    static constexpr int stride_units = row_units | 1;
    static constexpr int stride = stride_units * unit;
    static constexpr int column_units = (Lanes * int(sizeof(T)) + 15) / 16;  ///< Of a group.
    /// From block to block: column_units more than a multiple of 8.
    static constexpr int block_units =
        (n * stride_units - column_units % 8 + 7) / 8 * 8 + column_units % 8;
    static constexpr int block_values = block_units * unit;
    static constexpr int rows = blocks * n;
    static constexpr int steps_a_block = n + 1;  ///< One more, to spread groups over banks.
    static constexpr int value_bytes = blocks * block_values * int(sizeof(T));
    static constexpr int step_bytes = blocks * steps_a_block * int(sizeof(PivotStep<T>));
    static constexpr int table_bytes = std::max(step_bytes, rows* int(sizeof(BlockRow)));
    static constexpr int bytes = value_bytes + (table_bytes + 15) / 16 * 16;
    static_assert(blocks * block_values <= 1 << BlockRow::place_bits);

    T* value;
    BlockRow* row;

    __device__ explicit FixedSizeBlocks(unsigned char* memory)
        : value(reinterpret_cast<T*>(memory)),
          row(reinterpret_cast<BlockRow*>(memory + value_bytes)) {}

    /// The block of a group of lanes.
    __device__ static constexpr int block_of(int group) {
        if constexpr (Lanes >= 8) {
            return group;
        } else {
            constexpr int period = 8 / column_units;  // Blocks whose columns meet different banks.
            constexpr int together = 8 / Lanes;       // Groups whose units are served together.
            const int g = group % period;
            return group - g + g % together * (Lanes / column_units) + g / together;
        }
    }
    /// The steps of the elimination of block s; takes the place of the row table.
    __device__ PivotStep<T>* steps(int s) const {
        return reinterpret_cast<PivotStep<T>*>(row) + s * steps_a_block;
    }
};

/// Copies the rows of a warp's blocks, from row `first` on, to shared memory, row-major, if they
/// are full rows of blocks that hold nothing else, and as many entries come before as would in a
/// block-diagonal matrix: then it is known where the entries are, all reads can be under way at
/// once, and it suffices to look at the offsets and at the first and last column of each row.
/// Returns whether they are; if not, what was copied has no meaning. Wants the columns of a row
/// sorted and unique, as CsrView says.
template <class T, int n, int Lanes>
__device__ __forceinline__ bool copy_full_blocks(const CsrView<T>& matrix, Index first,
                                                 const FixedSizeBlocks<T, n, Lanes>& shared) {
    using Warp = FixedSizeBlocks<T, n, Lanes>;
    constexpr int lane_rows = Warp::rows / 32;
    static_assert(Warp::rows % 32 == 0);
    constexpr int looked_at = n <= 16 ? n / 4 : 2;  // Groups of four columns of each row.
    constexpr int lane_groups = Warp::rows * looked_at / 32;
    constexpr int block_parts = n * Warp::row_units;  // Of one unit.
    const int lane = int(threadIdx.x % 32);
    const Offset begin = Offset(first) * n;
    const int4* const values = reinterpret_cast<const int4*>(matrix.values + begin);
    const int4* const columns = reinterpret_cast<const int4*>(matrix.column_indices + begin);
    const auto group_of = [&](int u) {  // Of a row.
        return (lane + 32 * u) % looked_at * (looked_at == 2 ? n / 4 - 1 : 1);
    };
    Offset offset[lane_rows] = {};
    Offset last_offset = 0;
    int4 found[lane_groups] = {};
    const bool possible =
        Warp::rows <= matrix.rows - first && begin + Warp::rows * n <= matrix.nonzeros &&
        (reinterpret_cast<std::uintptr_t>(values) | reinterpret_cast<std::uintptr_t>(columns)) %
                16 ==
            0;
    if (possible) {
#pragma unroll
        for (int u = 0; u < Warp::blocks * block_parts; u += 32) {
            const int part = u + lane;
            const int row = 32 % Warp::row_units == 0 ? u / Warp::row_units + lane / Warp::row_units
                                                      : part / Warp::row_units;
            const int block = block_parts % 32 == 0 ? u / block_parts : part / block_parts;
            const int place = part + (Warp::stride_units - Warp::row_units) * row +
                              (Warp::block_units - n * Warp::stride_units) * block;
            copy_to_shared<16>(reinterpret_cast<int4*>(shared.value) + place, values + part);
        }
        last_offset = __ldg(matrix.row_offsets + first + Warp::rows);
#pragma unroll
        for (int q = 0; q < lane_rows; ++q) {
            offset[q] = __ldg(matrix.row_offsets + first + lane + 32 * q);
        }
#pragma unroll
        for (int u = 0; u < lane_groups; ++u) {
            found[u] = __ldg(columns + (lane + 32 * u) / looked_at * (n / 4) + group_of(u));
        }
    }
    wait_for_copies();
    // Bits of differences. All four columns take part so that they are read by one load.
    Offset apart = last_offset - (begin + Warp::rows * n);
#pragma unroll
    for (int q = 0; q < lane_rows; ++q) apart |= offset[q] - (begin + (lane + 32 * q) * n);
    int bits = int(apart >> 32) | int(apart);
#pragma unroll
    for (int u = 0; u < lane_groups; ++u) {
        const Index row = first + (lane + 32 * u) / looked_at / n * n;
        bits |= found[u].x - (row + 4 * group_of(u));
        bits |= found[u].z - found[u].y - 1;
        bits |= found[u].w - (row + 4 * group_of(u) + 3);
    }
    return __all_sync(full_warp, bits == 0);
}

/// Whatever the blocks store, from rows of any length.
template <class T, int n, int Lanes>
__device__ __forceinline__ void extract_fixed_size_blocks(
    const CsrView<T>& matrix, Index first, int here, const FixedSizeBlocks<T, n, Lanes>& shared) {
    using Warp = FixedSizeBlocks<T, n, Lanes>;
    constexpr int lane_rows = (Warp::rows + 31) / 32;
    const int lane = int(threadIdx.x % 32);
    RowSearch search[lane_rows];
#pragma unroll
    for (int q = 0; q < lane_rows; ++q) {
        const int r = lane + 32 * q;
        const bool inside = r < here * n;
        search[q] = {inside ? __ldg(matrix.row_offsets + first + r) : 0,
                     inside ? __ldg(matrix.row_offsets + first + r + 1) : 0, first + r / n * n,
                     inside ? n : 0, r / n * Warp::block_values + r % n * Warp::stride};
    }
    for (int e = lane; e < Warp::blocks * Warp::block_values; e += 32) shared.value[e] = T(0);
    take_rows<n>(matrix, search, here * n, shared.row, [&](const BlockRow& row, int c, T value) {
        shared.value[row.place() + c] = value;
    });
}

/// a[i] = row lane + Lanes i of `block`.
template <class T, int n, int Lanes, int Rows>
__device__ __forceinline__ void take_fixed_size_block(const T* block, T (&a)[Rows][n]) {
    using Warp = FixedSizeBlocks<T, n, Lanes>;
    using Unit = Pack<T, Warp::unit>;
    const int lane = int(threadIdx.x % Lanes);
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
        const Unit* const row =
            reinterpret_cast<const Unit*>(block + (lane + Lanes * i) * Warp::stride);
#pragma unroll
        for (int u = 0; u < Warp::row_units; ++u) {
            const Unit unit = row[u];
#pragma unroll
            for (int j = 0; j < Warp::unit; ++j) a[i][u * Warp::unit + j] = unit.value[j];
        }
    }
}

/// The facts about the block of this group, of which take_fixed_size_block took the rows.
template <class T, int n, int Lanes, int Rows>
__device__ __forceinline__ BlockFacts<T> examine_fixed_size_block(const T* block,
                                                                  const T (&a)[Rows][n]) {
    using Warp = FixedSizeBlocks<T, n, Lanes>;
    const int lane = int(threadIdx.x % Lanes);
    T norm = T(0);
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
        T sum = T(0);
#pragma unroll
        for (int k = 0; k < n; ++k) sum += fabs(a[i][k]);
        norm = fmax(norm, sum);
    }
    // Of each two mirrored entries the lower one's row looks, and some others, too; the first rows
    // of all blocks show mostly enough.
    bool differs = false;
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
        if (i == 1 && __all_sync(full_warp, any_of_lanes<Lanes>(differs))) break;
#pragma unroll
        for (int k = 0; k < Lanes * (i + 1); ++k) {
            differs |= block[k * Warp::stride + lane + Lanes * i] != a[i][k];
        }
    }
    return {lanes_max<Lanes>(norm), !any_of_lanes<Lanes>(differs)};
}

/// Inverts the blocks in registers and writes the inverse of this group, block `group` of `shared`,
/// to its place there, column-major. `again`() takes the rows once more. Returns 0, or k where the
/// k-th pivot (1-based), or its reciprocal, is zero or not finite; all values are NaN then.
template <int Lanes, class T, int n, int Rows, class Again>
__device__ __forceinline__ int invert_fixed_size_blocks(T (&a)[Rows][n],
                                                        const FixedSizeBlocks<T, n, Lanes>& shared,
                                                        int group, Again&& again) {
    using Warp = FixedSizeBlocks<T, n, Lanes>;
    const int lane = int(threadIdx.x % Lanes);
    T* const block = shared.value + group * Warp::block_values;
    PivotStep<T>* const table = shared.steps(group);
    const unsigned steps = shared_address(table);
    const auto eliminate = [&](auto careful) {
        T none = T(0);
        return gauss_jordan<Lanes, careful.value, false, false>(a, n, n, lane, steps, none);
    };
    int info = eliminate(std::false_type());
    if (__any_sync(full_warp, info != 0)) {
        again();
        info = eliminate(std::true_type());
    }
    close_steps<Lanes>(table, n, lane, info);
    // X(step of row r, row of step k) = D(r, k) / pivot of row r.
    T scale[Rows];
    T* to[Rows];
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
        const int step = table[lane + Lanes * i].step;
        scale[i] = table[step].reciprocal;
        to[i] = block + step;
    }
    constexpr int together = 4;  // Rows read before columns are written: the compiler keeps order.
#pragma unroll
    for (int k = 0; k < n; k += together) {
        int column[together];
#pragma unroll
        for (int u = 0; u < together; ++u) column[u] = int(table[k + u].row) * Warp::stride;
#pragma unroll
        for (int u = 0; u < together; ++u) {
#pragma unroll
            for (int i = 0; i < Rows; ++i) to[i][column[u]] = a[i][k + u] * scale[i];
        }
    }
    __syncwarp();
    return info;
}

/// Adjacent rows of a column that a lane moves at once, so that all lanes of a group have some.
template <class T, int n, int Lanes>
constexpr int rows_together() {
    int rows = FixedSizeBlocks<T, n, Lanes>::unit;
    while (rows > 1 && n / rows * 2 <= Lanes) rows /= 2;
    return rows;
}

/// write(column, first of so many adjacent rows, their values) for this lane's part of the inverse
/// that invert_fixed_size_blocks left in `block`, as (X + X^T) / 2 where `symmetric`, which wants
/// MaybeSymmetric; for none of its rows where `rows` is 0, else n. Returns what is known of that
/// part, `finite` by its sums alone.
template <int n, int Lanes, bool MaybeSymmetric, bool Largest, class T, class Write>
__device__ __forceinline__ InverseFacts<T> write_part(const T* block, int rows, bool symmetric,
                                                      Write&& write) {
    using Warp = FixedSizeBlocks<T, n, Lanes>;
    constexpr int together = rows_together<T, n, Lanes>();
    using Part = Pack<T, together>;
    InverseFacts<T> facts{T(0), T(0), true};
#pragma unroll 1
    for (int row = int(threadIdx.x % Lanes) * together; row < rows; row += Lanes * together) {
        T sum[together] = {};
#pragma unroll(MaybeSymmetric ? 1 : 8 / together)
        for (int c = 0; c < n; c += together) {
            Part part[together];  // Of the columns c, c + 1 ...
#pragma unroll
            for (int d = 0; d < together; ++d) {
                part[d] = *reinterpret_cast<const Part*>(block + (c + d) * Warp::stride + row);
            }
#pragma unroll
            for (int j = 0; MaybeSymmetric && j < together; ++j) {
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
                    if (Largest) facts.largest = fmax(facts.largest, fabs(part[d].value[j]));
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
template <int n, int Lanes, bool Largest, class T, class Output>
__device__ __forceinline__ InverseFacts<T> write_fixed_size_block(const T* block, int rows,
                                                                  bool symmetric, Output&& output) {
    constexpr int together = rows_together<T, n, Lanes>();
    const int lane = int(threadIdx.x % Lanes);
    const bool any_symmetric = __any_sync(full_warp, symmetric);
    InverseFacts<T> facts;
    output([&](auto&& write) {
        facts = any_symmetric ? write_part<n, Lanes, true, Largest>(block, rows, symmetric, write)
                              : write_part<n, Lanes, false, Largest>(block, rows, false, write);
    });
    __syncwarp();
    facts.norm = lanes_max<Lanes>(facts.norm);
    if (Largest) facts.largest = lanes_max<Lanes>(facts.largest);
    if (__all_sync(full_warp, facts.finite)) return facts;
    facts.finite = true;  // Perhaps only a sum is not.
    for (int e = lane; e < rows * n; e += Lanes) {
        facts.finite =
            facts.finite && isfinite(block[e / n * FixedSizeBlocks<T, n, Lanes>::stride + e % n]);
    }
    facts.finite = !any_of_lanes<Lanes>(!facts.finite);
    Pack<T, together> nothing;
#pragma unroll
    for (int j = 0; j < together; ++j) nothing.value[j] = std::numeric_limits<T>::quiet_NaN();
    output([&](auto&& write) {
        for (int row = lane * together; !facts.finite && row < rows; row += Lanes * together) {
            for (int c = 0; c < n; ++c) write(c, row, nothing);
        }
    });
    return facts;
}

}  // namespace tessera::cuda
