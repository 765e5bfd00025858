#pragma once

#include "batched/factor/group_matrix.cuh"
#include "gpu/registers.cuh"
#include "gpu/tiles/ldu_tile.cuh"
#include "gpu/tiles/llt_tile.cuh"

/// Eliminations of 8 and 16 rows, fully unrolled. They return false where a pivot is not well
/// inside the range; nothing then means anything.
namespace tessera::cuda {

namespace {

/// A(p) = L D U with static or partial pivoting of a 16 x 16 matrix by a group of lanes. Rows stay
/// where they are. A row of U goes to its place in shared memory in its step, those of L at the
/// end, when their positions are known.
template <Pivoting pivoting>
struct LduOfGroup {
    using General = Ldu<pivoting>;
    static constexpr bool partial = pivoting == Pivoting::partial;

    /// A(p) = L D U of an 8 x 8 matrix by one lane. Rows are exchanged.
    template <class T>
    static __device__ __forceinline__ bool eliminate(LaneMatrix<T>& matrix, T tau) {
        constexpr int n = LaneMatrix<T>::n;
        auto& a = matrix.a;
        auto& row = matrix.row;
        bool plain = true;
#pragma unroll
        for (int i = 0; i < n; ++i) row[i] = i;
#pragma unroll
        for (int k = 0; k < n; ++k) {
            if constexpr (pivoting == Pivoting::partial) {
                T most = fabs(a[k + n * k]);
                int chosen = row[k];
#pragma unroll
                for (int i = k + 1; i < n; ++i) {
                    const T size = fabs(a[i + n * k]);
                    const bool better = size > most || (size == most && row[i] < chosen);
                    most = better ? size : most;
                    chosen = better ? row[i] : chosen;
                }
                exchange<n>(a, row, k, chosen);
            }
            const PlainDivisor<T> divisor(raised(a[k + n * k], tau), plain);
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
        return plain;
    }
    template <class T, int Lanes>
    static __device__ __forceinline__ bool eliminate(GroupMatrix<T, Lanes>& matrix, T tau) {
        using Shape = GroupMatrix<T, Lanes>;
        constexpr int n = Shape::n;
        auto& a = matrix.a;
        const int lane = matrix.lane;
        bool plain = true;
        unsigned long long position = 0;  // Of each row, four bits each.
        unsigned long long order = partial ? 0 : 0xfedcba9876543210ull;
#pragma unroll
        for (int s = 0; s < n; ++s) {
            const int r = partial ? pivot_row(matrix, s) : s;
            const auto pivot_entry = [&](int j) {
                const T mine = partial ? chosen(matrix, r, j) : a[Shape::index(s)][j];
                return __shfl_sync(full_warp, mine, Shape::owner(unsigned(r)), Lanes);
            };
            const T raw = pivot_entry(s);
            const PlainDivisor<T> divisor(raised(raw, tau), plain);
            if (partial) {
                plain = plain && raw != T(0);
                order |= (unsigned long long)r << 4 * s;
                position |= (unsigned long long)s << 4 * r;
                // So that its multiplier is 1 and the update makes the pivot row zero, which keeps
                // it out of searches.
                if (divisor.d != raw) {
#pragma unroll
                    for (int i = 0; i < Shape::rows; ++i) {
                        a[i][s] = select_register(Shape::row_of(lane, i) == r, divisor.d, a[i][s]);
                    }
                }
            }
            const auto gone = [&](int i) {
                return !partial && Shape::turn * (i / Shape::width + 1) <= s + 1;
            };
#pragma unroll
            for (int i = 0; i < Shape::rows; ++i) {
                if (!gone(i)) a[i][s] = divisor.quotient(a[i][s]);
            }
            if (lane == s % Lanes) matrix.staged[Shape::place_of(s, s)] = divisor.d;
            T* const to = matrix.staged + n * lane + (s ^ (Shape::width * lane));
#pragma unroll
            for (int j = (s + 1) / Lanes * Lanes; j < n; j += Lanes) {
                T mine = T(0);  // Of columns j .. j + Lanes - 1 lane k has j + k.
#pragma unroll
                for (int k = 0; k < Lanes; ++k) {
                    if (j + k <= s) continue;
                    const T entry = pivot_entry(j + k);
                    mine = k == 0 ? entry : select_register(lane == k, entry, mine);
#pragma unroll
                    for (int i = 0; i < Shape::rows; ++i) {
                        if (!gone(i)) a[i][j + k] = fma(-a[i][s], entry, a[i][j + k]);
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
                if (j < p) matrix.staged[Shape::place_of(p, j)] = a[i][j];
            }
        }
        matrix.order = order >> 4 * Shape::rows * lane;
        return plain;
    }

  private:
    /// The first row with the largest magnitude in column s; rows that are gone are zero.
    template <class T, int Lanes>
    static __device__ __forceinline__ int pivot_row(const GroupMatrix<T, Lanes>& matrix, int s) {
        using Shape = GroupMatrix<T, Lanes>;
        T most = fabs(matrix.a[0][s]);
#pragma unroll
        for (int i = 1; i < Shape::rows; ++i) {
            if constexpr (sizeof(T) == 4) most = fmaxf(most, fabsf(matrix.a[i][s]));
            if constexpr (sizeof(T) == 8) {
                const T size = fabs(matrix.a[i][s]);
                most = size > most ? size : most;
            }
        }
#pragma unroll
        for (int distance = 1; distance < Lanes; distance *= 2) {
            const T other = __shfl_xor_sync(full_warp, most, distance);
            if constexpr (sizeof(T) == 4) most = fmaxf(most, other);
            if constexpr (sizeof(T) == 8) most = other > most ? other : most;
        }
        int r = Shape::n - 1;
#pragma unroll
        for (int i = Shape::rows - 1; i >= 0; --i) {
            r = fabs(matrix.a[i][s]) == most ? Shape::row_of(matrix.lane, i) : r;
        }
#pragma unroll
        for (int distance = 1; distance < Lanes; distance *= 2) {
            r = min(r, __shfl_xor_sync(full_warp, r, distance));
        }
        return r;
    }
    /// Entry j of row r, in its owner.
    template <class T, int Lanes>
    static __device__ __forceinline__ T chosen(const GroupMatrix<T, Lanes>& matrix, int r, int j) {
        using Shape = GroupMatrix<T, Lanes>;
        T left[Shape::rows];
#pragma unroll
        for (int i = 0; i < Shape::rows; ++i) left[i] = matrix.a[i][j];
#pragma unroll
        for (int half = 1; half < Shape::rows; half *= 2) {
            const int bit = half < Shape::width ? half : half * Lanes;  // Of r.
#pragma unroll
            for (int i = 0; i < Shape::rows; i += 2 * half) {
                left[i] = select_register((r & bit) != 0, left[i + half], left[i]);
            }
        }
        return left[0];
    }
    template <int n, class T>
    static __device__ __forceinline__ void exchange(T (&a)[n * n], int (&row)[n], int k,
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
            T found = own;
#pragma unroll
            for (int i = k + 1; i < n; ++i) {
                found = is_chosen[i] ? a[i + n * j] : found;
                a[i + n * j] = is_chosen[i] ? own : a[i + n * j];
            }
            a[k + n * j] = found;
        }
    }
};

/// A = L L^T with static pivoting of a 16 x 16 matrix by a group of lanes. A column of L goes to
/// its place in shared memory, from where all lanes read it. Returns false where a pivot is not
/// well inside the range; nothing then means anything.
struct LltOfGroup {
    using General = Llt<Pivoting::fixed>;

    /// A = L L^T of an 8 x 8 matrix by one lane.
    template <class T>
    static __device__ __forceinline__ bool eliminate(LaneMatrix<T>& matrix, T tau) {
        constexpr int n = LaneMatrix<T>::n;
        auto& a = matrix.a;
        auto& row = matrix.row;
        bool plain = true;
#pragma unroll
        for (int k = 0; k < n; ++k) {
            row[k] = k;
            const T raw = a[k + n * k];
            const T d = raw < tau ? tau : raw;
            plain = plain && d > T(0) && is_plain(d);
            const PlainDivisor<T> divisor(sqrt(d), plain);
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
        return plain;
    }
    template <class T, int Lanes>
    static __device__ __forceinline__ bool eliminate(GroupMatrix<T, Lanes>& matrix, T tau) {
        using Shape = GroupMatrix<T, Lanes>;
        using Chunk = Pack16<T>;
        constexpr int n = Shape::n, w = Shape::width;
        auto& a = matrix.a;
        const int lane = matrix.lane;
        Chunk* const chunks = reinterpret_cast<Chunk*>(matrix.staged);
        bool plain = true;
        matrix.order = 0xfedcba9876543210ull >> 4 * Shape::rows * lane;
#pragma unroll
        for (int s = 0; s < n; ++s) {
            // Rows of L whose columns end before this one's diagonal are gone.
            const auto end = [](int i) { return Shape::turn * (i / w + 1); };
            const T raw =
                __shfl_sync(full_warp, a[Shape::index(s)][s], Shape::owner(unsigned(s)), Lanes);
            const T d = raw < tau ? tau : raw;
            plain = plain && d > T(0) && is_plain(d);
            const PlainDivisor<T> divisor(sqrt(d), plain);
#pragma unroll
            for (int i0 = 0; i0 < Shape::rows; i0 += w) {
                Chunk chunk;
#pragma unroll
                for (int e = 0; e < w; ++e) {
                    const int i = i0 + e;
                    const int row = Shape::row_of(lane, i);
                    if (end(i) > s) a[i][s] = divisor.quotient(a[i][s]);
                    T value = end(i) > s ? a[i][s] : T(0);
                    if (end(i) > s && end(i) - Shape::turn <= s) {
                        value = select_register(row > s, value,
                                                select_register(row == s, divisor.d, T(0)));
                    }
                    chunk.value[e] = value;
                }
                const int c = (lane + i0 / w * Lanes) ^ Shape::swap(s);
                chunks[s * Shape::column_chunks + c] = chunk;
            }
            __syncwarp();
#pragma unroll
            for (int j0 = (s + 1) / w * w; j0 < n; j0 += w) {
                const Chunk chunk = chunks[s * Shape::column_chunks + (j0 / w ^ Shape::swap(s))];
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
        return plain;
    }
};

}  // namespace

}  // namespace tessera::cuda
