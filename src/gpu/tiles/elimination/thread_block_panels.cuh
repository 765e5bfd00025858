#pragma once

#include "gpu/named_barrier.cuh"
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

/// Shared memory of a thread block. The pitches avoid bank conflicts.
template <class T, int Groups>
struct alignas(16) PanelTeamMemory {
    static constexpr int rows = 16 * Groups;
    static constexpr int pitch = rows + 32 / int(sizeof(T));
    /// Row k of U from its diagonal on. gauss_jordan: at last the inverse.
    T lines[rows][pitch];
    /// The pivot rows of two panels in turn as they were before the panel; from the panel on, but
    /// those of definite matrices, which are columns, too, from the start on.
    T pivot_rows[2][8][pitch];
    /// Columns of the panel, unless definite; then, by rows, the factors of the pivot rows in the
    /// update.
    T panel[8][pitch];
    T pivot_line[2][8];  ///< The pivot row in the panel, from the pivot on, of steps in turn.
    T reciprocal[rows];  ///< Reciprocals of the pivots.
    T right[max_panel_vectors][rows];  ///< gauss: L^-1 P b, then the solutions.
    int step[rows];                    ///< The step of each row; -1: none yet.
    int row_of_step[rows];
    int info;  ///< 0, or the first step (1-based) whose pivot is not usable.
    /// gauss: high word of the largest magnitude of each warp. gauss_jordan: 1 where an element of
    /// the inverse is not finite.
    unsigned largest[Groups];
    T norm[2][Groups];  ///< Largest sum of magnitudes of a row of each warp: matrix, inverse.

    /// The columns of panel p before it is eliminated.
    template <PanelMethod method>
    __device__ __forceinline__ T (*columns(int p))[pitch] {
        return method == PanelMethod::gauss_definite ? pivot_rows[p % 2] : panel;
    }
};

/// The panel warp and the other warps wait for each other.
template <int Groups>
__device__ __forceinline__ void panel_barrier() {
    named_barrier<1, 32 * (Groups + 1)>();
}

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
        if (threadIdx.x < Memory::rows) memory.step[threadIdx.x] = -1;
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

    /// Takes part in the elimination of n columns; with PanelWarp::eliminate, barrier by barrier.
    __device__ __forceinline__ void eliminate(Memory& memory, int n) {
        store_columns(memory, 0);
        panel_barrier<Groups>();
        const int panels = (n + 7) / 8;
        Update update{};
#pragma unroll 1
        for (int p = 0; p < panels; ++p) {
            if (p > 0) finish(memory, update, p - 1);
            panel_barrier<Groups>();
            if (p + 1 == panels && !jordan) break;
            update.width = jordan     ? tiles - 1
                           : definite ? min(panels, 2 * warp + 2) - p - 1
                                      : panels - p - 1;
            begin(memory, update, p);
            panel_barrier<Groups>();
        }
        if constexpr (jordan) finish(memory, update, panels - 1);
    }

  private:
    __device__ __forceinline__ void store_columns(Memory& memory, int p) const {
        auto* const to = memory.template columns<method>(p);
#pragma unroll
        for (int e = 0; e < 4; ++e) to[column(0, e)][row(e / 2)] = c[0][e];
    }

    /// The entries of this lane in `width` tiles of a row, from tile `first` on.
    template <int first>
    __device__ __forceinline__ void store_row(T* to, int width, int half) const {
        struct alignas(2 * sizeof(T)) Pair {
            T left, right;
        };
#pragma unroll
        for (int t = 0; t + 1 < tiles; ++t) {
            if (t >= width) break;
            const T(&from)[4] = c[t + first];
            *reinterpret_cast<Pair*>(to + 8 * t) = {from[2 * half], from[2 * half + 1]};
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
        update.product.load_left(&memory.panel[0][16 * warp], Memory::pitch, lane);
        if constexpr (jordan) {
#pragma unroll
            for (int e = 0; e < 4; ++e) update.factors[e] = memory.panel[column(0, e)][row(e / 2)];
        }
        if constexpr (!definite) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int step = memory.step[row(half)];
                update.step[half] = step >> 3 == p ? step : -1;
                T* const to = &memory.pivot_rows[p % 2][step & 7][column(0, 0)];
                if (update.step[half] >= 0) store_row<1>(to + 8, update.width, half);
            }
            panel_barrier<Groups>();
        }
        __syncwarp();
        if (update.width <= 0) return;
        update.product.add(c[0], c[1], right_of(memory, p) + 8, Memory::pitch, lane);
        store_columns(memory, p + 1);
    }

    /// Updates the other columns.
    __device__ __forceinline__ void finish(Memory& memory, const Update& update, int p) {
#pragma unroll
        for (int t = 2; t < tiles; ++t) {
            if (t > update.width) break;
            update.product.add(c[t - 1], c[t], right_of(memory, p) + 8 * t, Memory::pitch, lane);
        }
        if constexpr (jordan) {
#pragma unroll
            for (int e = 0; e < 4; ++e) c[tiles - 1][e] = update.factors[e];
        }
        if constexpr (method == PanelMethod::gauss) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int step = update.step[half];
                if (step < 0) continue;
                store_row<0>(&memory.lines[step][column(p + 1, 0)], update.width, half);
            }
        }
    }

    /// The pivot rows of panel p from its columns on.
    static __device__ __forceinline__ const T* right_of(const Memory& memory, int p) {
        return memory.pivot_rows[p % 2][0] + (definite ? 8 * p : 0);
    }
};

}  // namespace tessera::cuda
