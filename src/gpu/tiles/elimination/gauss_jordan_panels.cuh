#pragma once

#include "gpu/tiles/elimination/gauss_jordan.cuh"
#include "gpu/warp.cuh"

/// Blocked Gauss-Jordan inversion of one FP64 matrix per warp: panels of four columns are
/// eliminated with one row per lane, all other columns updated by rank-4 tensor instructions.
namespace tessera::cuda {

/// c += m p. Lane 4 q + i holds the entries (q, 2 i) and (q, 2 i + 1) of the 8 x 8 tile c, (q, i)
/// of the 8 x 4 matrix m and (i, q) of the 4 x 8 matrix p.
__device__ __forceinline__ void add_rank_four(double (&c)[2], double m, double p) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
        : "+d"(c[0]), "+d"(c[1])
        : "d"(m), "d"(p));
}
/// c += m p for two tiles, one below the other (m16n8k4).
__device__ __forceinline__ void add_rank_four(double (&upper)[2], double (&lower)[2], double m0,
                                              double m1, double p) {
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
        "{%0,%1,%2,%3};"
        : "+d"(upper[0]), "+d"(upper[1]), "+d"(lower[0]), "+d"(lower[1])
        : "d"(m0), "d"(m1), "d"(p));
#else
    add_rank_four(upper, m0, p);
    add_rank_four(lower, m1, p);
#endif
}

/// Stores two values to shared memory if `condition`, in one predicated instruction.
__device__ __forceinline__ void store_pair(bool condition, unsigned to, double first,
                                           double second) {
    asm volatile(
        "{ .reg .pred p; setp.ne.s32 p, %3, 0; @p st.shared.v2.f64 [%0], {%1, %2}; }" ::"r"(to),
        "d"(first), "d"(second), "r"(int(condition))
        : "memory");
}

/// Stores eight values, pairs 64 bytes apart, to shared memory from the lanes with `mine` if
/// `condition`, which is warp-uniform. In C++ the compiler would index the registers and so spill
/// them to local memory; predicates without the branch would issue many idle stores.
__device__ __forceinline__ void store_row(bool condition, bool mine, unsigned to,
                                          const double (&c)[4][2]) {
    asm volatile(
        "{\n.reg .pred p, q;\n"
        "setp.eq.s32 p, %9, 0;\n"
        "@p bra.uni DONE;\n"
        "setp.ne.s32 q, %10, 0;\n"
        "@q st.shared.v2.f64 [%0], {%1, %2};\n"
        "@q st.shared.v2.f64 [%0 + 64], {%3, %4};\n"
        "@q st.shared.v2.f64 [%0 + 128], {%5, %6};\n"
        "@q st.shared.v2.f64 [%0 + 192], {%7, %8};\n"
        "DONE:\n}" ::"r"(to),
        "d"(c[0][0]), "d"(c[0][1]), "d"(c[1][0]), "d"(c[1][1]), "d"(c[2][0]), "d"(c[2][1]),
        "d"(c[3][0]), "d"(c[3][1]), "r"(int(condition)), "r"(int(mine))
        : "memory");
}

/// Shared memory of a warp during the elimination of panels; the pitches avoid bank conflicts.
struct alignas(16) PanelMemory {
    double panel[4][36];        ///< [column][row]
    double pivot_rows[4][36];   ///< [pivot][8 t + 2 i + e]: c[.][t][e] of lane 4 q + i.
    double panel_pivots[4][4];  ///< [pivot][column of the panel]: the pivot row when chosen.
};

/// Per lane r: state of row r and of column r.
struct PanelPivots {
    unsigned candidate;     ///< magnitude_bits until row r is chosen, then 0.
    int column = 0;         ///< Column whose pivot is in row r.
    double reciprocal = 1;  ///< Reciprocal of that pivot.
    int row = 0;            ///< Row of the pivot of column r.
    int info = 0;           ///< Return value of gauss_jordan; equal in all lanes.
};

/// An n x n matrix of doubles in the registers of a warp, 24 < n <= 32.
template <int n>
class PanelTile {
  public:
    static constexpr int tiles = 4;

    /// Lane 4 q + i: c[u][t][e] is the entry (8 u + q, column(t, i, e)); zero outside the matrix.
    double c[tiles][tiles][2];

    static __device__ __forceinline__ int column(int t, int i, int e) { return 8 * t + 4 * e + i; }
    /// The tile of columns in c[.][t] after `invert`, which rotates them.
    static constexpr int rotated_tile(int t) { return (t + n / 8) % tiles; }

    /// Gauss-Jordan elimination; `info` and `checked` as in gauss_jordan. Computes D, except that 1
    /// has still to be added to the entries (row of the pivot of column k, k):
    ///     X(column of the pivot in row r, row of the pivot of column k) = D(r, k) / (pivot in row
    ///     r).
    /// The four steps of a panel are summed at once, so that the bits differ from gauss_jordan.
    /// Equal rows still cancel to exact zeros: they see equal operations, and their multipliers are
    /// exact.
    template <bool checked>
    __device__ __forceinline__ PanelPivots invert(PanelMemory& memory) {
        PanelPivots pivots;
        pivots.candidate = int(threadIdx.x) % 32 < n ? magnitude_bits : 0u;
#pragma unroll 1
        for (int k = 0; k < n / 8 * 8; k += 8) {
            eliminate<checked, 0, 4>(memory, pivots, k);
            eliminate<checked, 1, 4>(memory, pivots, k + 4);
            rotate();
        }
        constexpr int left = n % 8;
        if constexpr (left > 0) {
            eliminate<checked, 0, (left < 4 ? left : 4)>(memory, pivots, n - left);
        }
        if constexpr (left > 4) eliminate<checked, 1, left - 4>(memory, pivots, n - left + 4);
        return pivots;
    }

  private:
    __device__ __forceinline__ void rotate() {
#pragma unroll
        for (int u = 0; u < tiles; ++u) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                const double first = c[u][0][e];
#pragma unroll
                for (int t = 0; t + 1 < tiles; ++t) c[u][t][e] = c[u][t + 1][e];
                c[u][tiles - 1][e] = first;
            }
        }
    }

    /// Eliminates the panel of columns k .. k + width - 1, held in c[.][0][e].
    template <bool checked, int e, int width>
    __device__ __forceinline__ void eliminate(PanelMemory& memory, PanelPivots& pivots, int k) {
        const int lane = int(threadIdx.x) % 32;
        const int q = lane / 4;
        const int i = lane % 4;
#pragma unroll
        for (int u = 0; u < tiles; ++u) memory.panel[i][8 * u + q] = c[u][0][e];
        __syncwarp();
        double a[width];
#pragma unroll
        for (int s = 0; s < width; ++s) a[s] = memory.panel[s][lane];
        int chosen[width];
#pragma unroll
        for (int s = 0; s < width; ++s) chosen[s] = step<checked>(a, s, memory, pivots, k + s);
#pragma unroll
        for (int s = 0; s < width; ++s) save_pivot_row(memory, chosen[s], s);
#pragma unroll
        for (int s = 0; s < width; ++s) memory.panel[s][lane] = a[s];
        __syncwarp();
        double m[tiles];
#pragma unroll
        for (int u = 0; u < tiles; ++u) m[u] = i < width ? memory.panel[i][8 * u + q] : 0.0;
#pragma unroll
        for (int t = 0; t < tiles; ++t) {
            const double p = i < width ? memory.pivot_rows[i][8 * t + q] : 0.0;
            add_rank_four(c[0][t], c[1][t], m[0], m[1], p);
            add_rank_four(c[2][t], c[3][t], m[2], m[3], p);
        }
#pragma unroll
        for (int u = 0; u < tiles; ++u) c[u][0][e] = m[u];
        __syncwarp();
    }

    /// One elimination step within the panel; lane r has row r, and column s is the pivot column.
    /// Returns the pivot row. The entry 1 of the pivot row is left out.
    template <bool checked, int width>
    __device__ __forceinline__ int step(double (&a)[width], int s, PanelMemory& memory,
                                        PanelPivots& pivots, int k) {
        const int lane = int(threadIdx.x) % 32;
        const unsigned key =
            __reduce_max_sync(full_warp, (high_word(a[s]) & pivots.candidate) | unsigned(lane));
        const int chosen = int(key & 31u);
        static_assert(width <= 4);
        const unsigned row_at = address_in_shared(memory.panel_pivots[s]);
        store_pair(lane == chosen, row_at, a[0], width > 1 ? a[1 % width] : 0.0);
        if (width > 2) {
            store_pair(lane == chosen, row_at + 16, a[2 % width], width > 3 ? a[3 % width] : 0.0);
        }
        __syncwarp();
        double pivot_row[width];
#pragma unroll
        for (int j = 0; j < width; ++j) pivot_row[j] = memory.panel_pivots[s][j];

        const bool fast = key - fast_range_low<double> < fast_range_span<double>;
        double scale = 1;
        if (checked && !fast) scale = key < fast_range_low<double> ? 0x1p200 : 0x1p-200;
        double multiplier;
        double reciprocal = quotient(a[s] * scale, pivot_row[s] * scale, multiplier) * scale;
        if constexpr (checked) {
            const bool usable = key >= 32u && isfinite(pivot_row[s]) && isfinite(reciprocal);
            if (pivots.info == 0 && !usable) pivots.info = k + 1;
        } else if (!fast) {
            pivots.info = 1;
        }
        if (lane == chosen) {
            multiplier = 0;
            pivots.candidate = 0;
            pivots.column = k;
            pivots.reciprocal = reciprocal;
        }
        if (lane == k) pivots.row = chosen;
#pragma unroll
        for (int i = 1; i < width; ++i) {  // The next pivot column first.
            const int j = (s + i) % width;
            a[j] = fma(multiplier, pivot_row[j], a[j]);
        }
        a[s] = multiplier;
        return chosen;
    }

    /// Same results as minus_quotient (minus_a_over_d = -a / d) and fast_reciprocal (returned),
    /// with a shorter dependency chain.
    static __device__ __forceinline__ double quotient(double a, double d, double& minus_a_over_d) {
        double r;
        asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(d));
        double error = fma(-d, r, 1.0);
        error = fma(error, error, error);
        const double rough = -a * r;
        const double better = fma(rough, error, rough);
        r = fma(r, error, r);
        minus_a_over_d = fma(fma(better, d, a), -r, better);
        return fma(fma(-d, r, 1.0), r, r);
    }

    /// Saves the values of row `row` from before the panel as pivot row s.
    __device__ __forceinline__ void save_pivot_row(PanelMemory& memory, int row, int s) {
        const int lane = int(threadIdx.x) % 32;
        const bool mine = lane / 4 == row % 8;
        const unsigned to = address_in_shared(&memory.pivot_rows[s][2 * (lane % 4)]);
#pragma unroll
        for (int u = 0; u < tiles; ++u) store_row(row / 8 == u, mine, to, c[u]);
    }
};

}  // namespace tessera::cuda
