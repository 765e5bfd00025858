#pragma once

#include "gpu/load.cuh"
#include "gpu/pack.cuh"
#include "gpu/registers.cuh"
#include "gpu/tiles/factor/team.cuh"
#include "gpu/tiles/staging/warp_staging.cuh"
#include "tessera/types.hpp"

/// A matrix that a team eliminates, one row per thread, in registers (RegisterRows) or in shared
/// memory (SharedRows). Pivoting is implicit: rows and columns are not moved, and the caller keeps
/// track of the eliminated ones. In both forms the factors are written to shared memory,
///   f[j pitch + i]   element (i, j), in the numbering of the given matrix, when row i or column j
///                    is eliminated.
namespace tessera::cuda {

/// Leading dimension in shared memory: odd, so that neither rows nor columns have bank conflicts.
__host__ __device__ constexpr int factor_pitch(int n) { return n | 1; }

/// Stride between the matrices of teams of `lanes` threads: a multiple of 16 bytes for which teams
/// use different banks.
__host__ __device__ constexpr int factor_stride(int n, int lanes, int value_bytes) {
    const int banks = 128 / value_bytes;
    const int values = n * factor_pitch(n);
    const int target = lanes % banks;
    return values + (target - values % banks + banks) % banks;
}

/// |x|, 0 for NaN.
template <class T>
__device__ __forceinline__ T magnitude(T x) {
    const T size = fabs(x);
    return size > T(0) ? size : T(0);
}

/// Rows of up to Width entries in registers.
template <class T, int Width>
class RegisterRows {
  public:
    static constexpr int width = Width;
    /// Loads the matrix at `a` with leading dimension `line`; zeros unless `active`.
    template <class Team>
    __device__ __forceinline__ RegisterRows(const Team& team, const T* a, Offset line, bool active,
                                            int n, T*, int)
        : n_(n) {
        const bool inside = active && team.lane() < n;
        a += team.lane();
#pragma unroll
        for (int j = 0; j < Width; ++j, a += line)
            a_[j] = load_coherent_if(inside && j < n, a, T(0));
    }
    /// Loads the matrix from f.
    template <class Team>
    __device__ __forceinline__ RegisterRows(const Team& team, int n, const T* f, int pitch)
        : n_(n) {
        f += team.lane();
#pragma unroll
        for (int j = 0; j < Width; ++j) a_[j] = team.lane() < n && j < n ? f[j * pitch] : T(0);
    }
    /// Copies the lower triangle to the upper one.
    template <class Team>
    __device__ __forceinline__ void mirror(const Team& team, T* f, int pitch) {
        const int lane = team.lane();
#pragma unroll
        for (int j = 0; j < Width; ++j) {
            if (lane < n_ && j < lane) f[j * pitch + lane] = a_[j];
        }
        team.sync();
#pragma unroll
        for (int j = 0; j < Width; ++j) {
            if (j < n_ && j > lane) a_[j] = f[lane * pitch + j];
        }
        team.sync();
    }
    __device__ __forceinline__ T diagonal(int lane) const {
        T value = a_[0];
#pragma unroll
        for (int j = 1; j < Width; ++j) value = lane == j ? a_[j] : value;
        return value;
    }
    __device__ __forceinline__ T largest() const {
        T best = T(0);
#pragma unroll
        for (int j = 0; j < Width; ++j) best = fabs(a_[j]) > best ? fabs(a_[j]) : best;
        return best;
    }
    /// Entry j of this thread's row.
    __device__ __forceinline__ T entry(int j) const {
        T value = T(0);
        if constexpr (branches) {
            with_register<0, Width>(j, [&](auto k) { move_register<k.value>(value, a_[k.value]); });
        } else {
            value = a_[0];
#pragma unroll
            for (int k = 1; k < Width; ++k) value = j == k ? a_[k] : value;
        }
        return value;
    }
    /// Returns entry j of this thread's row and sets it to zero; 0 if j is negative.
    __device__ __forceinline__ T extract(int j) {
        T value = T(0);
        if constexpr (branches) {
            if (j < 0) return value;
            with_register<0, Width>(j, [&](auto k) {
                move_register<k.value>(value, a_[k.value]);
                move_register<k.value>(a_[k.value], T(0));
            });
        } else {
#pragma unroll
            for (int k = 0; k < Width; ++k) {
                value = j == k ? a_[k] : value;
                a_[k] = j == k ? T(0) : a_[k];
            }
        }
        return value;
    }
    /// Row r to shared memory `to`, by the thread that has it.
    template <class Team>
    __device__ __forceinline__ void broadcast(const Team& team, int r, T* to) const {
        if (team.lane() != r) return;
        constexpr int w = pack_width<T>;
#pragma unroll
        for (int j = 0; j < Width; j += w) {
            Pack16<T> quad;
#pragma unroll
            for (int k = 0; k < w; ++k) quad.value[k] = a_[j + k];
            *reinterpret_cast<Pack16<T>*>(to + j) = quad;
        }
    }
    /// a_j += factor row_j for all columns. Search: returns the largest magnitude in the row;
    /// eliminated columns must have been extracted.
    template <bool Search>
    __device__ __forceinline__ T update(T factor, bool, const T* row, int, const int*) {
        constexpr int w = pack_width<T>;
        constexpr int step = Width < 8 ? Width : 8;  // Columns that are skipped together.
        T best[2] = {T(0), T(0)};
#pragma unroll
        for (int base = 0; base < Width; base += step) {
            if (base >= n_ && base > 0) continue;
#pragma unroll
            for (int j = base; j < base + step; j += w) {
                const auto quad = *reinterpret_cast<const Pack16<T>*>(row + j);
#pragma unroll
                for (int k = 0; k < w; ++k) {
                    const T value = fma(factor, quad.value[k], a_[j + k]);
                    a_[j + k] = value;
                    T& largest = best[(j + k) % 2];
                    if constexpr (Search && sizeof(T) == 4) largest = fmaxf(largest, fabsf(value));
                    if constexpr (Search && sizeof(T) == 8) {
                        largest = fabs(value) > largest ? fabs(value) : largest;
                    }
                }
            }
        }
        return best[0] > best[1] ? best[0] : best[1];
    }

  private:
    /// Whether registers are selected by branches, uniform in the warp.
    static constexpr bool branches = Width == 32;
    T a_[Width];
    int n_;
};

/// Rows in shared memory: f itself.
template <class T>
class SharedRows {
  public:
    template <class Team>
    __device__ __forceinline__ SharedRows(const Team& team, const T* a, Offset line, bool active,
                                          int n, T* f, int pitch)
        : row_(f + team.lane()), pitch_(pitch), n_(n) {
        inside_ = team.lane() < n;
        a += team.lane();
        for (int j = 0; j < n && inside_; ++j, a += line) {
            if (active) {
                copy_to_shared<int(sizeof(T))>(row_ + j * pitch, a);
            } else {
                row_[j * pitch] = T(0);
            }
        }
        wait_for_copies();
        team.sync();
    }
    template <class Team>
    __device__ __forceinline__ SharedRows(const Team& team, int n, T* f, int pitch)
        : row_(f + team.lane()), pitch_(pitch), n_(n), inside_(team.lane() < n) {}
    template <class Team>
    __device__ __forceinline__ void mirror(const Team& team, T* f, int pitch) {
        const int lane = team.lane();
        for (int j = 0; j < n_; ++j) {
            if (j < lane && inside_) f[lane * pitch + j] = f[j * pitch + lane];
        }
        team.sync();
    }
    __device__ __forceinline__ T diagonal(int lane) const {
        return inside_ ? row_[lane * pitch_] : T(0);
    }
    __device__ __forceinline__ T largest() const {
        T best = T(0);
        for (int j = 0; j < n_ && inside_; ++j) {
            const T size = fabs(row_[j * pitch_]);
            best = size > best ? size : best;
        }
        return best;
    }
    __device__ __forceinline__ T entry(int j) const {
        return inside_ && j < n_ ? row_[j * pitch_] : T(0);
    }
    __device__ __forceinline__ T extract(int j) const { return j < 0 ? T(0) : entry(j); }
    template <class Team>
    __device__ __forceinline__ void broadcast(const Team& team, int r, T* to) const {
        const int lane = team.lane();
        if (inside_ && r < n_) to[lane] = row_[lane * pitch_ + r - lane];
    }
    /// live: whether this row is not yet eliminated. columns: the column in each position; null for
    /// the identity.
    template <bool Search>
    __device__ __forceinline__ T update(T factor, bool live, const T* row, int first,
                                        const int* columns) {
        T best = T(0);
        if (!live) return best;
#pragma unroll 4
        for (int k = first; k < n_; ++k) {
            const int j = columns == nullptr ? k : columns[k];
            const T value = fma(factor, row[j], row_[j * pitch_]);
            row_[j * pitch_] = value;
            const T size = fabs(value);
            if (Search) best = size > best ? size : best;
        }
        return best;
    }

  private:
    T* row_;
    int pitch_;
    int n_;
    bool inside_;
};

}  // namespace tessera::cuda
