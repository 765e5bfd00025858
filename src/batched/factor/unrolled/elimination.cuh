#pragma once

#include "batched/factor/unrolled/matrix.cuh"
#include "gpu/registers.cuh"
#include "gpu/tiles/factor/ldu.cuh"
#include "gpu/tiles/factor/llt.cuh"

/// Fully unrolled eliminations of 8 and 16 rows. They return false where a pivot has no fast
/// reciprocal (has_fast_reciprocal); the factors are then undefined.
namespace tessera::cuda {

namespace {

/// LDU with static or partial pivoting, right-looking.
template <Pivoting pivoting>
struct UnrolledLdu {
    using General = Ldu<pivoting>;
    static constexpr bool partial = pivoting == Pivoting::partial;

    /// 8 x 8, one lane; rows are exchanged among registers.
    template <class T>
    static __device__ __forceinline__ bool eliminate(LaneMatrix<T>& matrix, T tau) {
        constexpr int n = LaneMatrix<T>::n;
        auto& a = matrix.a;
        auto& row = matrix.row;
        bool in_range = true;
#pragma unroll
        for (int i = 0; i < n; ++i) row[i] = i;
#pragma unroll
        for (int k = 0; k < n; ++k) {
            if constexpr (pivoting == Pivoting::partial) {
                T largest = fabs(a[k + n * k]);
                int chosen = row[k];
#pragma unroll
                for (int i = k + 1; i < n; ++i) {
                    const T size = fabs(a[i + n * k]);
                    const bool better = size > largest || (size == largest && row[i] < chosen);
                    largest = better ? size : largest;
                    chosen = better ? row[i] : chosen;
                }
                swap_in_pivot_row<n>(a, row, k, chosen);
            }
            const FastDivisor<T> divisor(with_threshold(a[k + n * k], tau), in_range);
            a[k + n * k] = divisor.d;
#pragma unroll
            for (int i = k + 1; i < n; ++i) {
                const T l = divisor.quotient(a[i + n * k]);
                a[i + n * k] = l;
#pragma unroll
                for (int j = k + 1; j < n; ++j) {
                    a[i + n * j] = fma(-l, a[k + n * j], a[i + n * j]);
                }
            }
#pragma unroll
            for (int j = k + 1; j < n; ++j) a[k + n * j] = divisor.quotient(a[k + n * j]);
        }
        return in_range;
    }
    /// 16 x 16, a group of lanes; implicit pivoting: rows stay in their lanes. A row of U is stored
    /// in its step, rows of L at the end, when their positions are known.
    template <class T, int Lanes>
    static __device__ __forceinline__ bool eliminate(LaneGroupMatrix<T, Lanes>& matrix, T tau) {
        using Shape = LaneGroupMatrix<T, Lanes>;
        constexpr int n = Shape::n;
        auto& a = matrix.a;
        const int lane = matrix.lane;
        bool in_range = true;
        unsigned long long position = 0;  // Position of each row, four bits each.
        unsigned long long packed_order = partial ? 0 : 0xfedcba9876543210ull;
#pragma unroll
        for (int s = 0; s < n; ++s) {
            const int r = partial ? pivot_row(matrix, s) : s;
            const auto pivot_entry = [&](int j) {
                const T mine = partial ? chosen(matrix, r, j) : a[Shape::local_row(s)][j];
                return __shfl_sync(full_warp, mine, Shape::owner(unsigned(r)), Lanes);
            };
            const T raw = pivot_entry(s);
            const FastDivisor<T> divisor(with_threshold(raw, tau), in_range);
            if (partial) {
                in_range = in_range && raw != T(0);
                packed_order |= (unsigned long long)r << 4 * s;
                position |= (unsigned long long)s << 4 * r;
                // The pivot row gets the multiplier 1, so that the update zeroes it, which excludes
                // it from later searches.
                if (divisor.d != raw) {
#pragma unroll
                    for (int i = 0; i < Shape::rows; ++i) {
                        a[i][s] = select_register(Shape::row_of(lane, i) == r, divisor.d, a[i][s]);
                    }
                }
            }
            const auto eliminated = [&](int i) {
                return !partial && Shape::row_cycle * (i / Shape::width + 1) <= s + 1;
            };
#pragma unroll
            for (int i = 0; i < Shape::rows; ++i) {
                if (!eliminated(i)) a[i][s] = divisor.quotient(a[i][s]);
            }
            if (lane == s % Lanes) matrix.staged[Shape::offset_of(s, s)] = divisor.d;
            T* const to = matrix.staged + n * lane + (s ^ (Shape::width * lane));
#pragma unroll
            for (int j = (s + 1) / Lanes * Lanes; j < n; j += Lanes) {
                T mine = T(0);  // Lane k has the entry of column j + k.
#pragma unroll
                for (int k = 0; k < Lanes; ++k) {
                    if (j + k <= s) continue;
                    const T entry = pivot_entry(j + k);
                    mine = k == 0 ? entry : select_register(lane == k, entry, mine);
#pragma unroll
                    for (int i = 0; i < Shape::rows; ++i) {
                        if (!eliminated(i)) a[i][j + k] = fma(-a[i][s], entry, a[i][j + k]);
                    }
                }
                const T u = divisor.quotient(mine);
                if (j > s || j + lane > s) to[n * j] = u;
            }
        }
#pragma unroll
        for (int i = 0; i < Shape::rows; ++i) {
            const int row = Shape::row_of(lane, i);
            const int p = partial ? int(position >> 4 * row) & 15 : row;
#pragma unroll
            for (int j = 0; j + 1 < n; ++j) {
                if (j < p) matrix.staged[Shape::offset_of(p, j)] = a[i][j];
            }
        }
        matrix.packed_order = packed_order >> 4 * Shape::rows * lane;
        return in_range;
    }

  private:
    /// The first row with the largest magnitude in column s; eliminated rows are zero.
    template <class T, int Lanes>
    static __device__ __forceinline__ int pivot_row(const LaneGroupMatrix<T, Lanes>& matrix,
                                                    int s) {
        using Shape = LaneGroupMatrix<T, Lanes>;
        T largest = fabs(matrix.a[0][s]);
#pragma unroll
        for (int i = 1; i < Shape::rows; ++i) {
            if constexpr (sizeof(T) == 4) largest = fmaxf(largest, fabsf(matrix.a[i][s]));
            if constexpr (sizeof(T) == 8) {
                const T size = fabs(matrix.a[i][s]);
                largest = size > largest ? size : largest;
            }
        }
#pragma unroll
        for (int distance = 1; distance < Lanes; distance *= 2) {
            const T other = __shfl_xor_sync(full_warp, largest, distance);
            if constexpr (sizeof(T) == 4) largest = fmaxf(largest, other);
            if constexpr (sizeof(T) == 8) largest = other > largest ? other : largest;
        }
        int r = Shape::n - 1;
#pragma unroll
        for (int i = Shape::rows - 1; i >= 0; --i) {
            r = fabs(matrix.a[i][s]) == largest ? Shape::row_of(matrix.lane, i) : r;
        }
#pragma unroll
        for (int distance = 1; distance < Lanes; distance *= 2) {
            r = min(r, __shfl_xor_sync(full_warp, r, distance));
        }
        return r;
    }
    /// Entry j of row r, in the lane that owns it.
    template <class T, int Lanes>
    static __device__ __forceinline__ T chosen(const LaneGroupMatrix<T, Lanes>& matrix, int r,
                                               int j) {
        using Shape = LaneGroupMatrix<T, Lanes>;
        T left[Shape::rows];
#pragma unroll
        for (int i = 0; i < Shape::rows; ++i) left[i] = matrix.a[i][j];
#pragma unroll
        for (int half = 1; half < Shape::rows; half *= 2) {
            const int bit = half < Shape::width ? half : half * Lanes;  // The bit of r.
#pragma unroll
            for (int i = 0; i < Shape::rows; i += 2 * half) {
                left[i] = select_register((r & bit) != 0, left[i + half], left[i]);
            }
        }
        return left[0];
    }
    template <int n, class T>
    static __device__ __forceinline__ void swap_in_pivot_row(T (&a)[n * n], int (&row)[n], int k,
                                                             int chosen) {
        const int given = row[k];
        bool is_chosen[n];
#pragma unroll
        for (int i = k + 1; i < n; ++i) {
            is_chosen[i] = row[i] == chosen;
            row[i] = is_chosen[i] ? given : row[i];
        }
        row[k] = chosen;
#pragma unroll
        for (int j = 0; j < n; ++j) {
            const T own = a[k + n * j];
            T pivot_value = own;
#pragma unroll
            for (int i = k + 1; i < n; ++i) {
                pivot_value = is_chosen[i] ? a[i + n * j] : pivot_value;
                a[i + n * j] = is_chosen[i] ? own : a[i + n * j];
            }
            a[k + n * j] = pivot_value;
        }
    }
};

/// LL^T with static pivoting, right-looking.
struct UnrolledLlt {
    using General = Llt<Pivoting::fixed>;

    /// 8 x 8, one lane.
    template <class T>
    static __device__ __forceinline__ bool eliminate(LaneMatrix<T>& matrix, T tau) {
        constexpr int n = LaneMatrix<T>::n;
        auto& a = matrix.a;
        auto& row = matrix.row;
        bool in_range = true;
#pragma unroll
        for (int k = 0; k < n; ++k) {
            row[k] = k;
            const T raw = a[k + n * k];
            const T d = raw < tau ? tau : raw;
            in_range = in_range && d > T(0) && has_fast_reciprocal(d);
            const FastDivisor<T> divisor(sqrt(d), in_range);
            a[k + n * k] = divisor.d;
#pragma unroll
            for (int i = k + 1; i < n; ++i) a[i + n * k] = divisor.quotient(a[i + n * k]);
#pragma unroll
            for (int j = k + 1; j < n; ++j) {
#pragma unroll
                for (int i = j; i < n; ++i) {
                    a[i + n * j] = fma(-a[i + n * k], a[j + n * k], a[i + n * j]);
                }
                a[k + n * j] = T(0);
            }
        }
        return in_range;
    }
    /// 16 x 16, a group of lanes; a column of L is broadcast through shared memory.
    template <class T, int Lanes>
    static __device__ __forceinline__ bool eliminate(LaneGroupMatrix<T, Lanes>& matrix, T tau) {
        using Shape = LaneGroupMatrix<T, Lanes>;
        using Chunk = Pack16<T>;
        constexpr int n = Shape::n, w = Shape::width;
        auto& a = matrix.a;
        const int lane = matrix.lane;
        Chunk* const chunks = reinterpret_cast<Chunk*>(matrix.staged);
        bool in_range = true;
        matrix.packed_order = 0xfedcba9876543210ull >> 4 * Shape::rows * lane;
#pragma unroll
        for (int s = 0; s < n; ++s) {
            // Register rows i with end(i) <= s are above the diagonal in every lane.
            const auto end = [](int i) { return Shape::row_cycle * (i / w + 1); };
            const T raw =
                __shfl_sync(full_warp, a[Shape::local_row(s)][s], Shape::owner(unsigned(s)), Lanes);
            const T d = raw < tau ? tau : raw;
            in_range = in_range && d > T(0) && has_fast_reciprocal(d);
            const FastDivisor<T> divisor(sqrt(d), in_range);
#pragma unroll
            for (int i0 = 0; i0 < Shape::rows; i0 += w) {
                Chunk chunk;
#pragma unroll
                for (int e = 0; e < w; ++e) {
                    const int i = i0 + e;
                    const int row = Shape::row_of(lane, i);
                    if (end(i) > s) a[i][s] = divisor.quotient(a[i][s]);
                    T value = end(i) > s ? a[i][s] : T(0);
                    if (end(i) > s && end(i) - Shape::row_cycle <= s) {
                        value = select_register(row > s, value,
                                                select_register(row == s, divisor.d, T(0)));
                    }
                    chunk.value[e] = value;
                }
                const int c = (lane + i0 / w * Lanes) ^ Shape::swizzle(s);
                chunks[s * Shape::column_chunks + c] = chunk;
            }
            __syncwarp();
#pragma unroll
            for (int j0 = (s + 1) / w * w; j0 < n; j0 += w) {
                const Chunk chunk = chunks[s * Shape::column_chunks + (j0 / w ^ Shape::swizzle(s))];
#pragma unroll
                for (int e = 0; e < w; ++e) {
                    const int j = j0 + e;
                    if (j <= s) continue;
                    const T entry = chunk.value[e];
#pragma unroll
                    for (int i = 0; i < Shape::rows; ++i) {
                        if (end(i) > j) a[i][j] = fma(-a[i][s], entry, a[i][j]);
                    }
                }
            }
        }
        return in_range;
    }
};

}  // namespace

}  // namespace tessera::cuda
