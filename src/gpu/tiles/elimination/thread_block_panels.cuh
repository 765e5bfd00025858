#pragma once

#include "gpu/phase_barrier.cuh"
#include "gpu/tiles/elimination/gauss.cuh"
#include "gpu/tiles/elimination/rank_eight.cuh"

/// Elimination of one matrix of up to 128 rows per thread block, by panels of eight columns, with
/// implicit pivoting. `Groups` warps hold 16 rows each in registers and subtract the products of
/// eight columns and eight rows; one more warp, the panel warp, eliminates the next panel
/// meanwhile
/// (panel_warp.cuh).
namespace tessera::cuda {

enum class PanelMethod {
    gauss,           ///< Partial pivoting.
    gauss_definite,  ///< Symmetric positive definite: pivots on the diagonal, one triangle is read.
    gauss_jordan     ///< Partial pivoting, inverses.
};

/// Vectors that gauss and gauss_definite eliminate with a matrix.
inline constexpr int max_panel_vectors = 4;

/// What an elimination keeps in shared memory. The pitches avoid bank conflicts.
template <class T, int Groups>
struct PanelWork {
    static constexpr int rows = 16 * Groups;
    static constexpr int pitch = rows + 32 / int(sizeof(T));
    static constexpr int upper_pitch = rows + 8 + 16 / int(sizeof(T));

    /// U, see PanelTeamMemory::upper_row.
    T upper[rows / 2][upper_pitch];
    /// Definite: the columns of two panels in turn, which are the pivot rows, before they are
    /// eliminated. Else first the pivot rows of a panel, from the panel after the next on, as they
    /// were before the panel, then PanelTeamMemory::next_columns.
    T strips[2][8][pitch];
    /// Columns of the panel, unless definite; then, by rows, the factors of the pivot rows in the
    /// update.
    T panel[8][pitch];
};

/// Shared memory of a thread block.
template <class T, int Groups>
struct alignas(16) PanelTeamMemory {
    using Work = PanelWork<T, Groups>;
    static constexpr int rows = Work::rows;
    static constexpr int pitch = Work::pitch;
    union {
        Work work;
        T inverse[rows][pitch];  ///< gauss_jordan, after the elimination.
    };
    /// Ends when the columns of a panel, or U, are stored; the panel warp waits.
    PhaseBarrier columns_stored;
    /// Ends when a panel is eliminated and that before subtracted; the other warps wait.
    PhaseBarrier panel_eliminated;
    PhaseBarrier rows_ready;  ///< The warps but the panel warp wait for each other.
    /// The pivot row in the panel, from the pivot on, of steps in turn.
    alignas(16) T pivot_line[2][8];
    T reciprocal[rows];                ///< Reciprocals of the pivots.
    T right[max_panel_vectors][rows];  ///< gauss: L^-1 P b, then the solutions.
    int step[rows];                    ///< The step of each row; -1: none yet.
    int row_of_step[rows];             ///< Unless definite.
    int info;  ///< 0, or the first step (1-based) whose pivot is not usable.
    /// gauss: high word of the largest magnitude of each warp. gauss_jordan: 1 where an element of
    /// the inverse is not finite.
    unsigned largest[Groups];
    T norm[2][Groups];  ///< Largest sum of magnitudes of a row of each warp: matrix, inverse.

    /// Called by all threads, first.
    __device__ __forceinline__ void begin() {
        if (threadIdx.x == 0) {
            columns_stored.init(32 * Groups);
            panel_eliminated.init(32 * (Groups + 1));
            rows_ready.init(32 * Groups);
        }
        __syncthreads();
    }
    /// Row k of U: an array of which the elements from 8 (k / 8) on exist. Rows of the lower half
    /// are beside those of the upper half.
    __device__ __forceinline__ T* upper_row(int k) {
        const int p = k / 8;
        return p < Groups ? work.upper[k] + 8
                          : work.upper[8 * (2 * Groups - 1 - p) + k % 8] - 8 * p;
    }
    /// The columns of panel p before it is eliminated.
    template <PanelMethod method>
    __device__ __forceinline__ T (*columns(int p))[pitch] {
        return method == PanelMethod::gauss_definite ? work.strips[p % 2] : work.panel;
    }
    /// Row i of the columns of the panel after this one before this one is eliminated; not
    /// definite.
    __device__ __forceinline__ T* next_columns(int i) { return work.strips[1][0] + 8 * i; }
};

/// The number of a warp, from a reduction, so that the compiler sees that it is uniform.
__device__ __forceinline__ int uniform_warp() {
    return int(__reduce_max_sync(full_warp, threadIdx.x / 32));
}

/// The part of a warp but the panel warp: 16 rows of the matrix from 16 `warp` on, of which tile t
/// has eight columns (see RankEight). Tiles move to the left, so that the next panel is tile 0; in
/// gauss_jordan they rotate. Of definite matrices only tiles that meet the lower triangle are held.
template <class T, int Groups, PanelMethod method>
struct PanelRows {
    static constexpr bool definite = method == PanelMethod::gauss_definite;
    static constexpr bool jordan = method == PanelMethod::gauss_jordan;
    static constexpr int tiles = 2 * Groups;
    using Memory = PanelTeamMemory<T, Groups>;

    T c[tiles][4];
    int warp;
    int lane;

    __device__ __forceinline__ PanelRows(Memory& memory, int given_warp)
        : warp(given_warp), lane(int(threadIdx.x) % 32) {
        if (threadIdx.x >= Memory::rows) return;
        memory.step[threadIdx.x] = -1;
        memory.row_of_step[threadIdx.x] = 0;
    }

    /// The row of registers 2 `half` and 2 `half` + 1 of a tile.
    __device__ __forceinline__ int row(int half) const { return 16 * warp + lane / 4 + 8 * half; }
    /// The column of register e of tile t before the elimination.
    __device__ __forceinline__ int column(int t, int e) const {
        return 8 * t + lane % 4 * 2 + e % 2;
    }
    /// The column there in gauss_jordan after `rotations` rotations.
    __device__ __forceinline__ int column_after(int t, int e, int rotations) const {
        const int tile = t + rotations;
        return column(tile < tiles ? tile : tile - tiles, e);
    }
    /// element(i, j) is zero outside of the matrix.
    template <class Element>
    __device__ __forceinline__ void load(Element&& element) {
#pragma unroll
        for (int t = 0; t < tiles; ++t) {
            if (definite && t >= 2 * warp + 2) break;
#pragma unroll
            for (int e = 0; e < 4; ++e) c[t][e] = element(row(e / 2), column(t, e));
        }
    }

    /// High word of the largest magnitude of the warp.
    __device__ __forceinline__ unsigned largest() const {
        unsigned result = 0;
#pragma unroll
        for (int t = 0; t < tiles; ++t) {
            if (definite && t >= 2 * warp + 2) break;
#pragma unroll
            for (int e = 0; e < 4; ++e) result = max(result, high_word(c[t][e]) & 0x7fffffffu);
        }
        return __reduce_max_sync(full_warp, result);
    }

    /// Waits for the other warps with rows: the k-th time, phase = k % 2.
    static __device__ __forceinline__ void wait_for_rows(Memory& memory, int phase) {
        memory.rows_ready.arrive();
        memory.rows_ready.wait(phase);
    }

    /// Takes part in the elimination of n columns, with PanelWarp::eliminate.
    __device__ __forceinline__ void eliminate(Memory& memory, int n) {
        store_columns(memory, 0);
        store_next_columns(memory);
        memory.columns_stored.arrive();
        const int panels = (n + 7) / 8;
#pragma unroll 1
        for (int p = 0; p < panels; ++p) {
            memory.panel_eliminated.arrive();
            memory.panel_eliminated.wait(p % 2);
            const bool update_follows = jordan || p + 1 < panels;
            Update update;
            if (update_follows) {
                update.width = jordan     ? tiles - 1
                               : definite ? min(panels, 2 * warp + 2) - p - 1
                                          : panels - p - 1;
                begin(memory, update, p);
            }
            memory.columns_stored.arrive();
            if (update_follows) finish(memory, update, p);
        }
    }

  private:
    struct alignas(2 * sizeof(T)) Pair {
        T left, right;
    };

    __device__ __forceinline__ void store_columns(Memory& memory, int p) const {
        auto* const to = memory.template columns<method>(p);
#pragma unroll
        for (int e = 0; e < 4; ++e) to[column(0, e)][row(e / 2)] = c[0][e];
    }
    __device__ __forceinline__ void store_next_columns(Memory& memory) const {
        if constexpr (!definite) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                T* const to = memory.next_columns(row(half)) + column(0, 0);
                *reinterpret_cast<Pair*>(to) = {c[1][2 * half], c[1][2 * half + 1]};
            }
        }
    }

    /// The entries of this lane in the tiles from `first` to `last` of a row.
    template <int first>
    __device__ __forceinline__ void store_row(T* to, int last, int half) const {
#pragma unroll
        for (int t = first; t < tiles; ++t) {
            if (t > last) break;
            *reinterpret_cast<Pair*>(to + 8 * (t - first)) = {c[t][2 * half], c[t][2 * half + 1]};
        }
    }

    /// An update of the tiles by a panel.
    struct Update {
        RankEight<T> product;
        T factors[4];  ///< gauss_jordan: the next values of tile 0.
        int width;     ///< Tiles to be updated.
        int step[2];   ///< Steps of both rows, if they are pivot rows of the panel, else -1.
    };

    /// Updates the columns of the next panel and stores them.
    __device__ __forceinline__ void begin(Memory& memory, Update& update, int p) {
        update.product.load_left(&memory.work.panel[0][16 * warp], Memory::pitch, lane);
        if constexpr (jordan) {
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                update.factors[e] = memory.work.panel[column(0, e)][row(e / 2)];
            }
        }
        if constexpr (definite) {
            if (update.width <= 0) return;
            const T* const right = pivot_rows(memory, p) + 8;
            update.product.add(
                c[0], c[1], [&](int k) { return right + k * Memory::pitch; }, lane);
        } else {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int step = memory.step[row(half)];
                update.step[half] = step >> 3 == p ? step : -1;
            }
            update.product.add(
                c[0], c[1],
                [&](int k) { return memory.next_columns(memory.row_of_step[8 * p + k]); }, lane);
            __syncwarp();  // The factors, which the columns replace, have been read.
        }
        store_columns(memory, p + 1);
    }

    /// Updates the other columns.
    __device__ __forceinline__ void finish(Memory& memory, const Update& update, int p) {
        if constexpr (!definite) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                T* const to = &memory.work.strips[0][update.step[half] & 7][column(2, 0)];
                if (update.step[half] >= 0) store_row<2>(to, update.width, half);
            }
            wait_for_rows(memory, p % 2);
        }
        const T* const right = pivot_rows(memory, p);
#pragma unroll
        for (int t = 2; t < tiles; ++t) {
            if (t > update.width) break;
            update.product.add(
                c[t - 1], c[t], [&](int k) { return right + k * Memory::pitch + 8 * t; }, lane);
        }
        if constexpr (jordan) {
#pragma unroll
            for (int e = 0; e < 4; ++e) c[tiles - 1][e] = update.factors[e];
        }
        if constexpr (method == PanelMethod::gauss) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                if (update.step[half] < 0) continue;
                T* const to = memory.upper_row(update.step[half]) + column(p + 1, 0);
                store_row<0>(to, update.width - 1, half);
            }
        }
        store_next_columns(memory);
    }

    /// The pivot rows of panel p: tile t has the columns from 8 t on.
    static __device__ __forceinline__ const T* pivot_rows(const Memory& memory, int p) {
        return definite ? memory.work.strips[p % 2][0] + 8 * p : memory.work.strips[0][0];
    }
};

}  // namespace tessera::cuda
