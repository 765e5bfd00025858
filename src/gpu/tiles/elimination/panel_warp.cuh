#pragma once

#include "gpu/shared_memory.cuh"
#include "gpu/tiles/elimination/thread_block_panels.cuh"

/// Elimination of panels of a matrix, and substitution, by one warp of a thread block.
namespace tessera::cuda {

/// The part of the panel warp. Lane l has the rows l + 32 i. Magnitudes that differ by less than
/// 2^-13 of the larger count as equal in the search for pivots.
template <class T, int Groups, PanelMethod method>
struct PanelWarp {
    static constexpr bool definite = method == PanelMethod::gauss_definite;
    static constexpr bool jordan = method == PanelMethod::gauss_jordan;
    using Memory = PanelTeamMemory<T, Groups>;
    static constexpr int rows = (Memory::rows + 31) / 32;
    /// Bits of a magnitude in the search; the seven others hold the row.
    static constexpr unsigned key_bits = magnitude_bits & ~127u;

    T a[rows][8];
    T y[rows][max_panel_vectors];  ///< gauss: the right-hand sides.
    unsigned candidates[rows];     ///< key_bits until the row is chosen, then 0.
    int lane;
    int vectors;
    PivotRange range;
    int info = 0;  ///< The first step (1-based) whose pivot is not usable.

    __device__ __forceinline__ explicit PanelWarp(int given_vectors)
        : lane(int(threadIdx.x) % 32), vectors(given_vectors) {}

    /// `y` has been set for `vectors` vectors.
    __device__ __forceinline__ void eliminate(Memory& memory, int n) {
#pragma unroll
        for (int i = 0; i < rows; ++i) candidates[i] = lane + 32 * i < n ? key_bits : 0u;
        const int panels = (n + 7) / 8;
#pragma unroll 1
        for (int p = 0; p < panels; ++p) {
            memory.columns_stored.wait(p % 2);
            eliminate_panel(memory, n, p);
            if (p + 1 == panels && lane == 0) memory.info = info;
            memory.panel_eliminated.arrive();
        }
        memory.columns_stored.wait(panels % 2);
    }

    /// memory.right[v] := U^-1 memory.right[v].
    __device__ __forceinline__ void substitute(Memory& memory, int n, int v) const {
        T* const right = memory.right[v];
        T x[rows], scale[rows];
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            const bool inside = lane + 32 * i < n;
            scale[i] = inside ? memory.reciprocal[lane + 32 * i] : T(0);
            x[i] = inside ? right[lane + 32 * i] * scale[i] : T(0);
        }
#pragma unroll 1
        for (int p = (n - 1) / 8; p >= 0; --p) {
            T u[rows][8];  // Rows of U times the reciprocals, without the diagonal.
            T own = x[0];  // The element of the row of the block that is in this lane.
            T v[8];
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                const int row = min(lane + 32 * i, Memory::rows - 1);
                load_eight(memory.upper_row(row) + 8 * max(p, row / 8), u[i]);
#pragma unroll
                for (int s = 0; s < 8; ++s) {
                    u[i][s] = lane + 32 * i < min(n, 8 * p + s) ? -u[i][s] * scale[i] : T(0);
                    v[s] = i == 0 ? u[0][s] : select_register(p / 4 == i, u[i][s], v[s]);
                }
                if (i > 0) own = select_register(p / 4 == i, x[i], own);
            }
#pragma unroll
            for (int s = 7; s >= 0; --s) {
                const T value = __shfl_sync(full_warp, own, p % 4 * 8 + s);
                own = fma(v[s], value, own);
#pragma unroll
                for (int i = 0; i < rows; ++i) x[i] = fma(u[i][s], value, x[i]);
            }
        }
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            if (lane + 32 * i < n) right[lane + 32 * i] = x[i];
        }
    }

  private:
    /// Whether row i of this lane is in shared memory.
    __device__ __forceinline__ bool inside(int i) const {
        return 32 * (i + 1) <= Memory::rows || lane + 32 * i < Memory::rows;
    }

    /// Writes the factors of the pivot rows, as they were before the panel, in its elimination; but
    /// that each pivot row has a factor 1 of itself is left out. Registers rotate, so that a rolled
    /// loop serves all columns: the unrolled one would miss the instruction cache.
    __device__ __forceinline__ void eliminate_panel(Memory& memory, int n, int p) {
        auto* const from = memory.template columns<method>(p);
#pragma unroll
        for (int i = 0; i < rows; ++i) {
#pragma unroll
            for (int j = 0; j < 8; ++j) a[i][j] = inside(i) ? from[j][lane + 32 * i] : T(0);
        }
        Pivot pivot = find_pivot(8 * p);
        const unsigned steps = unsigned(min(8, n - 8 * p));
        T* upper = memory.upper_row(8 * p);
#pragma unroll 1
        for (unsigned s = 0; s < steps; ++s) {
            step(memory, p, s, pivot, upper);
            upper += Memory::Work::upper_pitch;
        }
#pragma unroll
        for (int i = 0; i < rows; ++i) {
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                if (inside(i)) memory.work.panel[(j + steps) % 8][lane + 32 * i] = a[i][j];
            }
        }
    }

    struct Pivot {
        unsigned key = 0;  ///< The bits of the magnitude, and of the row.
        int row;
        T reciprocal;  ///< In the lane of the row.
    };

    /// The pivot of step k, in the columns a[.][0].
    __device__ __forceinline__ Pivot find_pivot(int k) const {
        Pivot pivot;
        T own = a[0][0];  // The pivot, in its lane.
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            if constexpr (definite) {
                own = select_register(k / 32 == i, a[i][0], own);
            } else {
                const unsigned size =
                    (high_word(a[i][0]) & candidates[i]) | unsigned(127 - lane - 32 * i);
                if (i > 0) own = select_register(size > pivot.key, a[i][0], own);
                pivot.key = max(pivot.key, size);
            }
        }
        pivot.row = k;
        if constexpr (!definite) {
            pivot.key = __reduce_max_sync(full_warp, pivot.key);
            pivot.row = 127 - int(pivot.key & 127u);
        }
        pivot.reciprocal = fast_reciprocal(own);  // While the warp finds the row.
        return pivot;
    }

    /// Eliminates column s of panel p, whose pivot is given, and finds that of the next column;
    /// `upper` is the row of U.
    __device__ __forceinline__ void step(Memory& memory, int p, unsigned s, Pivot& pivot,
                                         T* upper) {
        const int k = 8 * p + int(s);
        const int pivot_row = pivot.row;
        T* const line = memory.pivot_line[s % 2];
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            const bool chosen = lane + 32 * i == pivot_row;
            store_shared_if(chosen, line, a[i]);
            if constexpr (!jordan) store_shared_if(chosen, &memory.right[0][k], y[i][0]);
            if (!definite && chosen) candidates[i] = 0;
        }
        T reciprocal = __shfl_sync(full_warp, pivot.reciprocal, pivot_row % 32);
        __syncwarp();
        T entry[8];
        load_eight(line, entry);
        const unsigned size = (definite ? high_word(entry[0]) : pivot.key) & key_bits;
        bool usable = !definite || entry[0] > T(0);
        if (size - fast_range_low<T> >= fast_range_span<T>) [[unlikely]] {
            const T scale = size < fast_range_low<T> ? T(0x1p60) : T(0x1p-60);
            reciprocal = fast_reciprocal(entry[0] * scale) * scale;
            usable = usable && size != 0 && isfinite(entry[0]) && isfinite(reciprocal);
        }
        T factor[rows];
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            const int row = lane + 32 * i;
            const bool stays = jordan ? row == pivot_row : !definite && candidates[i] == 0;
            factor[i] = stays ? T(0) : minus_quotient(a[i][0], entry[0], -reciprocal);
            if constexpr (definite) {
                store_shared_if(inside(i) && row >= 8 * (p + 1), &upper[row], a[i][0]);
            }
            a[i][0] = fma(factor[i], entry[1], a[i][1]);
        }
        pivot = find_pivot(k + 1);
#pragma unroll
        for (int j = 2; j < 8; ++j) {
#pragma unroll
            for (int i = 0; i < rows; ++i) a[i][j - 1] = fma(factor[i], entry[j], a[i][j]);
        }
#pragma unroll
        for (int i = 0; i < rows; ++i) a[i][7] = factor[i];
        if constexpr (!jordan) {
            const T right = memory.right[0][k];
#pragma unroll
            for (int i = 0; i < rows; ++i) y[i][0] = fma(factor[i], right, y[i][0]);
            if (vectors > 1) [[unlikely]]
                eliminate_others(memory, k, pivot_row, factor);
            store_shared_if(lane < 8, &upper[8 * p + int((s + unsigned(lane)) % 8)],
                            line[unsigned(lane) % 8]);
        }
        info = !usable && info == 0 ? k + 1 : info;
        range.template add<T>(size);
        store_shared_if(lane == 0, &memory.reciprocal[k], reciprocal);
        if constexpr (!definite) {
            store_shared_if(lane == 0, &memory.step[pivot_row], k);
            store_shared_if(lane == 0, &memory.row_of_step[k], pivot_row);
        }
    }

    /// Step k for all vectors but the first.
    __device__ __forceinline__ void eliminate_others(Memory& memory, int k, int pivot_row,
                                                     const T (&factor)[rows]) {
#pragma unroll
        for (int v = 1; v < max_panel_vectors; ++v) {
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                store_shared_if(lane + 32 * i == pivot_row, &memory.right[v][k], y[i][v]);
            }
        }
        __syncwarp();
#pragma unroll
        for (int v = 1; v < max_panel_vectors; ++v) {
            const T right = memory.right[v][k];
#pragma unroll
            for (int i = 0; i < rows; ++i) y[i][v] = fma(factor[i], right, y[i][v]);
        }
    }

    static __device__ __forceinline__ void load_eight(const T* from, T (&to)[8]) {
        constexpr int width = int(16 / sizeof(T));
        struct alignas(16) Pack {
            T value[width];
        };
#pragma unroll
        for (int j = 0; j < 8; j += width) {
            const Pack pack = *reinterpret_cast<const Pack*>(from + j);
#pragma unroll
            for (int e = 0; e < width; ++e) to[j + e] = pack.value[e];
        }
    }
};

}  // namespace tessera::cuda
