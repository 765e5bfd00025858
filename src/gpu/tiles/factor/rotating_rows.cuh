#pragma once

#include "gpu/load.cuh"
#include "gpu/tiles/factor/rows.cuh"

namespace tessera::cuda {

/// A matrix of up to Lanes * Rows rows in registers; lane l of a team has the rows l + Lanes i.
/// Columns are eliminated in their order and registers rotate: a step writes column j to register
/// j - 1. The pivot column is then always register 0, and the loop over steps need not be unrolled.
/// Four such loops, each with fewer columns, skip eliminated columns. Two rows per lane need half
/// as many shuffles per matrix as one.
template <class T, int Lanes, int Rows>
struct RotatingRows {
    static constexpr int width = Lanes * Rows;
    static constexpr int phase = width / 4;  ///< Steps of each loop.

    T a[Rows][width];
    bool live[Rows];  ///< Whether the row is not yet eliminated.
    int lane;

    __device__ __forceinline__ int row(int i) const { return lane + Lanes * i; }

    /// Loads the matrix at `from` with leading dimension `line`, or its lower triangle; zeros
    /// unless `active`.
    template <bool lower>
    __device__ __forceinline__ void load(const WarpTeam<Lanes>& team, const T* from, Offset line,
                                         bool active, int n) {
        lane = team.lane();
#pragma unroll
        for (int i = 0; i < Rows; ++i) live[i] = row(i) < n;
        from += lane;
#pragma unroll
        for (int j = 0; j < width; ++j) {
#pragma unroll
            for (int i = 0; i < Rows; ++i) {
                const bool condition = active && live[i] && j < n && (!lower || j <= row(i));
                a[i][j] = load_coherent_if(condition, from + Lanes * i, T(0));
            }
            from += line;
        }
    }
    __device__ __forceinline__ T largest() const {
        T best = T(0);
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
#pragma unroll
            for (int j = 0; j < width; ++j) best = fabs(a[i][j]) > best ? fabs(a[i][j]) : best;
        }
        return best;
    }
    /// step(std::integral_constant<int, active>(), s) for s = 0 .. n - 1: the remaining columns are
    /// in the registers below `active`.
    template <class Step>
    __device__ __forceinline__ static void for_steps(int n, Step&& step) {
        int s = 0;
        run<width>(s, n, step);
        run<width - phase>(s, n, step);
        run<width - 2 * phase>(s, n, step);
        run<phase>(s, n, step);
    }

  private:
    template <int active, class Step>
    __device__ __forceinline__ static void run(int& s, int n, Step&& step) {
        const int end = n - (active - phase);
#pragma unroll 1
        for (; s < end; ++s) step(std::integral_constant<int, active>(), s);
    }
};

}  // namespace tessera::cuda
