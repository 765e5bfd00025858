#pragma once

#include <limits>

#include "gpu/registers.cuh"
#include "gpu/tiles/elimination/gauss_jordan.cuh"

/// Gaussian elimination and substitution of small matrices in registers.
namespace tessera::cuda {

/// The magnitude whose high word is `high`.
template <class T>
__device__ __forceinline__ T magnitude_of(unsigned high) {
    if constexpr (sizeof(T) == 8) return __hiloint2double(int(high), 0);
    return __uint_as_float(high);
}

/// What the pivots of an elimination were.
struct PivotRange {
    unsigned smallest = magnitude_bits;  ///< Magnitude bits of the smallest.
    bool fast = true;  ///< Whether all were in the fast range of T, see fast_range_low.

    template <class T>
    __device__ __forceinline__ void add(unsigned key) {
        fast = fast && key - fast_range_low<T> < fast_range_span<T>;
        smallest = min(smallest, key & magnitude_bits);
    }
    /// Whether a pivot is below n eps times the magnitude with the high word `largest`.
    template <class T>
    __device__ __forceinline__ bool near_singular(int n, unsigned largest) const {
        return magnitude_of<T>(smallest) <
               T(n) * std::numeric_limits<T>::epsilon() * magnitude_of<T>(largest);
    }
};

/// A general system in a group of `Lanes` lanes, by implicit partial pivoting: lane l has the rows
/// l + Lanes i, i < Rows, which stay there; the pivot row is broadcast by shuffles. Magnitudes that
/// differ by less than 2^-13 of the larger count as equal.
///
/// Registers rotate: the pivot column is register 0. The steps are in segments, each a rolled loop
/// over fewer columns than the one before; an eliminated column stays where its segment left it, in
/// register `place`.
template <class T, int Lanes, int Rows, int Tile, int Vectors>
struct GaussTile {
    static_assert((Lanes & (Lanes - 1)) == 0 && Lanes * Rows <= 32 && Lanes * Rows >= Tile);
    static constexpr int segment = (Tile + 7) / 8;
    /// A single vector is eliminated with the matrix; else multipliers are kept, see `forward`.
    static constexpr bool appended = Vectors == 1;

    T a[Rows][Tile];
    T y[Rows][Vectors];
    unsigned candidates[Rows];  ///< magnitude_bits until the row is chosen, then 0.
    int step[Rows];             ///< The step of each row; -1: none.

    /// The register of column k once its segment is done.
    static __device__ constexpr int place(int k) {
        const int width = Tile - k / segment * segment;
        return width - (segment < width ? segment : width) + k % segment;
    }

    /// Rows from n on are no pivots; columns from n on are arbitrary. `table` receives the pivots.
    __device__ __forceinline__ PivotRange eliminate(int n, int lane, unsigned table) {
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            candidates[i] = lane + Lanes * i < n ? magnitude_bits : 0u;
            step[i] = -1;
        }
        PivotRange range;
        unsigned key = find_pivot(lane);
        run_segments<0>(n, lane, table, key, range);
        return range;
    }

    /// y := (L U)^-1 y, or U^-1 y if `appended`: element k is then in lane k % Lanes, row k /
    /// Lanes.
    __device__ __forceinline__ void solve(int n, int lane, const PivotStep<T>* table) {
        forward(n, table);
        backward(n, lane, table);
    }

  private:
    /// y := L^-1 y, unless `appended`.
    __device__ __forceinline__ void forward(int n, const PivotStep<T>* table) {
        if constexpr (!appended) {
#pragma unroll
            for (int k = 0; k + 1 < Tile; ++k) {
                if (k + 1 >= n) break;
                T m[Rows];
#pragma unroll
                for (int i = 0; i < Rows; ++i) m[i] = step[i] > k ? a[i][place(k)] : T(0);
#pragma unroll
                for (int v = 0; v < Vectors; ++v) {
                    const T value = y_of(int(table[k].row), v);
#pragma unroll
                    for (int i = 0; i < Rows; ++i) y[i][v] = fma(m[i], value, y[i][v]);
                }
            }
        }
    }

    /// y := U^-1 y.
    __device__ __forceinline__ void backward(int n, int lane, const PivotStep<T>* table) {
        T x[Rows][Vectors];
#pragma unroll
        for (int k = Tile - 1; k >= 0; --k) {
            if (k >= n) continue;
            const int row = int(table[k].row);
            const T reciprocal = table[k].reciprocal;
#pragma unroll
            for (int v = 0; v < Vectors; ++v) {
                const T value = y_of(row, v) * reciprocal;
#pragma unroll
                for (int i = 0; i < Rows; ++i) y[i][v] = fma(-a[i][place(k)], value, y[i][v]);
                if (k % Lanes == Lanes - 1 || k == Tile - 1 || lane == k % Lanes) {
                    x[k / Lanes][v] = value;
                }
            }
        }
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
#pragma unroll
            for (int v = 0; v < Vectors; ++v) y[i][v] = x[i][v];
        }
    }

    /// The largest magnitude of the pivot column, with its row in the last five bits. The search is
    /// at the end of a step: at the beginning the compiler would copy all registers in each step.
    __device__ __forceinline__ unsigned find_pivot(int lane) const {
        unsigned largest = 0;
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            largest = max(largest, (high_word(a[i][0]) & candidates[i]) | unsigned(Lanes * i));
        }
        return lanes_max<Lanes>(largest | unsigned(lane));
    }

    __device__ __forceinline__ T y_of(int row, int v) const {
        T value = y[0][v];
#pragma unroll
        for (int i = 1; i < Rows; ++i) value = select_register(row / Lanes == i, y[i][v], value);
        return __shfl_sync(full_warp, value, row, Lanes);
    }

    template <int s>
    __device__ __forceinline__ void run_segments(int n, int lane, unsigned table, unsigned& key,
                                                 PivotRange& range) {
        constexpr int width = Tile - s * segment;
        if constexpr (width > 0) {
            constexpr int steps = segment < width ? segment : width;
            const int end = min(steps, n - s * segment);
#pragma unroll 1
            for (int r = 0; r < end; ++r) eliminate_column<s, width>(r, lane, table, key, range);
            if (end > 0) {
#pragma unroll 1
                for (int r = end; r < steps; ++r) rotate<width>();
            }
            run_segments<s + 1>(n, lane, table, key, range);
        }
    }

    template <int width>
    __device__ __forceinline__ void rotate() {
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            const T first = a[i][0];
#pragma unroll
            for (int j = 1; j < width; ++j) a[i][j - 1] = a[i][j];
            a[i][width - 1] = first;
        }
    }

    /// Step r of segment s.
    template <int s, int width>
    __device__ __forceinline__ void eliminate_column(int r, int lane, unsigned table, unsigned& key,
                                                     PivotRange& range) {
        constexpr unsigned register_bits = 31u & ~unsigned(Lanes - 1);
        const int k = s * segment + r;
        const auto from_pivot_row = [&](auto&& entry) {
            T value = entry(0);
#pragma unroll
            for (int i = 1; i < Rows; ++i) {
                value = (key & register_bits) == unsigned(Lanes * i) ? entry(i) : value;
            }
            return __shfl_sync(full_warp, value, int(key), Lanes);  // The last bits are the lane.
        };
        const T pivot = from_pivot_row([&](int i) { return a[i][0]; });
        range.add<T>(key);
        const T reciprocal = fast_reciprocal(pivot);
        T multiplier[Rows], last[Rows];
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            if ((key & 31u) == unsigned(lane + Lanes * i)) {
                candidates[i] = 0;
                step[i] = k;
            }
            const bool live = candidates[i] != 0;
            const T quotient = minus_quotient(a[i][0], pivot, -reciprocal);
            multiplier[i] = live ? quotient : T(0);
            last[i] = !live ? a[i][0] : appended ? T(0) : quotient;
        }
        store_step(lane == 0, table + unsigned(k * int(sizeof(PivotStep<T>))), reciprocal,
                   key & 31u);
#pragma unroll
        for (int j = 1; j < width; ++j) {
            T entry = from_pivot_row([&](int i) { return a[i][j]; });
            if (!appended && j >= width - r) entry = T(0);  // Keeps multipliers.
#pragma unroll
            for (int i = 0; i < Rows; ++i) a[i][j - 1] = fma(multiplier[i], entry, a[i][j]);
        }
#pragma unroll
        for (int i = 0; i < Rows; ++i) a[i][width - 1] = last[i];
        if constexpr (appended) {
            const T entry = from_pivot_row([&](int i) { return y[i][0]; });
#pragma unroll
            for (int i = 0; i < Rows; ++i) y[i][0] = fma(multiplier[i], entry, y[i][0]);
        }
        key = find_pivot(lane);
    }
};

/// A general system in one thread, with the bits of GaussTile; the pivot row is swapped with row k.
template <class T, int n>
struct ThreadSystem {
    T a[n][n];
    T y[n];

    /// a becomes U, with the reciprocals of the pivots on the diagonal, and y becomes L^-1 y.
    __device__ __forceinline__ PivotRange eliminate(int, int) {
        PivotRange range;
        unsigned row[n];
#pragma unroll
        for (int i = 0; i < n; ++i) row[i] = unsigned(i);
#pragma unroll
        for (int k = 0; k < n; ++k) {
            range.add<T>(exchange(k, row));
            const T pivot = a[k][k];
            const T reciprocal = fast_reciprocal(pivot);
            a[k][k] = reciprocal;
#pragma unroll
            for (int i = k + 1; i < n; ++i) {
                const T multiplier = minus_quotient(a[i][k], pivot, -reciprocal);
#pragma unroll
                for (int j = k + 1; j < n; ++j) a[i][j] = fma(multiplier, a[k][j], a[i][j]);
                y[i] = fma(multiplier, y[k], y[i]);
            }
        }
        return range;
    }
    /// y := U^-1 y.
    __device__ __forceinline__ void solve() {
#pragma unroll
        for (int k = n - 1; k >= 0; --k) {
            y[k] *= a[k][k];
#pragma unroll
            for (int i = 0; i < k; ++i) y[i] = fma(-a[i][k], y[k], y[i]);
        }
    }

  private:
    /// Swaps the pivot row with row k and returns its key.
    __device__ __forceinline__ unsigned exchange(int k, unsigned (&row)[n]) {
        unsigned keys[n];
        unsigned key = 0;
#pragma unroll
        for (int i = k; i < n; ++i) {
            keys[i] = (high_word(a[i][k]) & magnitude_bits) | row[i];
            key = max(key, keys[i]);
        }
        const auto swap_rows = [&](auto&& entry) {
            const auto given = entry(k);
            auto chosen = given;
#pragma unroll
            for (int i = k + 1; i < n; ++i) {
                chosen = keys[i] == key ? entry(i) : chosen;
                entry(i) = keys[i] == key ? given : entry(i);
            }
            entry(k) = chosen;
        };
        swap_rows([&](int i) -> unsigned& { return row[i]; });
        swap_rows([&](int i) -> T& { return y[i]; });
#pragma unroll
        for (int j = k; j < n; ++j) swap_rows([&](int i) -> T& { return a[i][j]; });
        return key;
    }
};

/// A symmetric positive definite system in a group of `Lanes` lanes, fully unrolled: pivots on the
/// diagonal. Lane l has the rows l + Lanes i of the lower triangle; the pivot column, which equals
/// the pivot row, is broadcast by shuffles. Registers of elements right of the diagonal are
/// arbitrary and affect no others. With one lane its values need no shuffles at all.
template <class T, int Lanes, int Tile>
struct DefiniteTile {
    static_assert((Lanes & (Lanes - 1)) == 0);
    static constexpr int rows = (Tile + Lanes - 1) / Lanes;

    T a[rows][Tile];
    T y[rows];

    /// Columns of register row i that are used.
    static constexpr int columns(int i) { return Lanes * (i + 1) < Tile ? Lanes * (i + 1) : Tile; }

    /// a := L D, with the reciprocals of the pivots on the diagonal. Rows from n on are those of
    /// the identity.
    __device__ __forceinline__ PivotRange eliminate(int n, int lane) {
        PivotRange range;
#pragma unroll
        for (int k = 0; k < Tile; ++k) {
            const T pivot = from_row(k, a[k / Lanes][k]);
            if (k < n) range.add<T>(high_word(pivot));
            const T reciprocal = fast_reciprocal(pivot);
            T multiplier[rows];
#pragma unroll
            for (int i = k / Lanes; i < rows; ++i) {
                multiplier[i] = minus_quotient(a[i][k], pivot, -reciprocal);
            }
#pragma unroll
            for (int j = k + 1; j < Tile; ++j) {
                const T entry = from_row(j, a[j / Lanes][k]);
#pragma unroll
                for (int i = j / Lanes; i < rows; ++i) {
                    a[i][j] = fma(multiplier[i], entry, a[i][j]);
                }
            }
            if (lane == k % Lanes) a[k / Lanes][k] = reciprocal;
        }
        return range;
    }

    /// y := A^-1 y. (The lane is read again in each call: the compiler would hoist selections out
    /// of a loop over vectors, and spill them.)
    __device__ __forceinline__ void solve() {
        int lane;
        asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
        lane %= Lanes;
        constexpr int own = Lanes == 1 ? 1 : 0;  // Whether register row k / Lanes is row k alone.
#pragma unroll
        for (int k = 0; k < Tile; ++k) {
            const T value = from_row(k, y[k / Lanes] * a[k / Lanes][k]);
#pragma unroll
            for (int i = k / Lanes + own; i < rows; ++i) {
                const bool below = i > k / Lanes || lane > k % Lanes;
                y[i] = fma(below ? -a[i][k] : T(0), value, y[i]);
            }
        }
#pragma unroll
        for (int k = Tile - 1; k >= 0; --k) {
            T sum = T(0);
#pragma unroll
            for (int i = k / Lanes + own; i < rows; ++i) {
                const bool below = i > k / Lanes || lane > k % Lanes;
                sum = fma(below ? a[i][k] : T(0), y[i], sum);
            }
            const T value = (y[k / Lanes] - lanes_sum<Lanes>(sum)) * a[k / Lanes][k];
            if (lane == k % Lanes) y[k / Lanes] = value;
        }
    }

  private:
    static __device__ __forceinline__ T from_row(int row, T value) {
        return Lanes == 1 ? value : __shfl_sync(full_warp, value, row % Lanes, Lanes);
    }
};

}  // namespace tessera::cuda
