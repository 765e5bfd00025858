#pragma once

#include "gpu/tiles/factor/pivots.cuh"
#include "gpu/tiles/factor/rotating_rows.cuh"

namespace tessera::cuda {

namespace {

/// Right-looking Cholesky factorisation with implicit pivoting; one row per thread. Rows are not
/// moved.
template <Pivoting pivoting>
struct Llt {
    static constexpr Factorisation kind = Factorisation::llt;
    static constexpr bool symmetric = true;
    static constexpr bool full = pivoting == Pivoting::full;

    template <class T, class Team, class Rows>
    static __device__ __forceinline__ void eliminate(const Team& team, Rows& rows,
                                                     const TeamMemory<T>& memory, int n, T tau) {
        const int lane = team.lane();
        bool live = lane < n;
        PivotOrder order(lane, memory.rows);
        T diagonal = rows.diagonal(lane);
        team.sync();
#pragma unroll 1
        for (int s = 0; s < n; ++s) {
            int r = s;
            if constexpr (full) {
                const T lowest = -std::numeric_limits<T>::infinity();
                const T candidate = live && diagonal > lowest ? diagonal : lowest;
                const T largest = team.max(candidate);
                r = team.first(live && candidate == largest);
            }
            const T mine = rows.entry(r);
            const T raw = team.from(diagonal, r);
            const T root = sqrt(thresholded_pivot(raw, tau));
            const Divisor<T> divisor(root);
            const bool pivot_row = lane == r;
            if (pivot_row) live = false;
            const T l = live ? divisor.quotient(mine) : T(0);
            if (lane < n) memory.at(lane, r) = pivot_row ? root : l;
            if (pivot_row) memory.raw[s] = raw;
            memory.stage[lane] = l;
            diagonal = fma(-l, l, diagonal);
            if constexpr (full) order.exchange(team, s, r);
            team.sync();
            rows.template update<false>(-l, live, memory.stage, s + 1,
                                        full ? memory.rows : nullptr);
            team.sync();
        }
    }

    /// Right-looking LL^T, bitwise equal, for static pivoting with two or more rows per lane.
    /// Column s of L is broadcast through shared memory, row r at r - s, the register of column r.
    template <class T, int Lanes, int Rows>
    static __device__ __forceinline__ void eliminate(const WarpTeam<Lanes>& team,
                                                     RotatingRows<T, Lanes, Rows>& rows,
                                                     const TeamMemory<T>& memory, int n, T tau) {
        const int lane = team.lane();
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            memory.rows[rows.row(i)] = rows.row(i);
            memory.stage[rows.row(i)] = memory.stage_two[rows.row(i)] = T(0);
        }
        team.sync();
        rows.for_steps(n, [&](auto active, int s) {
            T own = rows.a[0][0];
#pragma unroll
            for (int i = 1; i < Rows; ++i) own = select_register(s / Lanes == i, rows.a[i][0], own);
            const T raw = team.from(own, s % Lanes);
            const T root = sqrt(thresholded_pivot(raw, tau));
            const Divisor<T> divisor(root);
            T* const column = memory.f + s * memory.pitch;
            T* const stage = s % 2 == 0 ? memory.stage : memory.stage_two;
            T l[Rows];
#pragma unroll
            for (int i = 0; i < Rows; ++i) {
                const int row = rows.row(i);
                l[i] = row > s && row < n ? divisor.quotient(rows.a[i][0]) : T(0);
                if (row < n) column[row] = row == s ? root : l[i];
                if (row > s) stage[row - s] = l[i];
            }
            if (lane == 0) memory.raw[s] = raw;
            team.sync();
            constexpr int w = pack_width<T>;
            constexpr int quads = (active.value + w - 1) / w;
            T entry[quads * w];
#pragma unroll
            for (int k = 0; k < quads; ++k) {
                const auto quad = reinterpret_cast<const Pack16<T>*>(stage)[k];
#pragma unroll
                for (int e = 0; e < w; ++e) entry[k * w + e] = quad.value[e];
            }
#pragma unroll
            for (int j = 1; j < active.value; ++j) {
#pragma unroll
                for (int i = 0; i < Rows; ++i) {
                    rows.a[i][j - 1] = fma(-l[i], entry[j], rows.a[i][j]);
                }
            }
        });
    }

  private:
    /// The pivot after the threshold; 0 where it is not positive or has no finite reciprocal.
    template <class T>
    static __device__ __forceinline__ T thresholded_pivot(T raw, T tau) {
        const T d = raw < tau ? tau : raw;
        return isfinite(d) && (!(d > T(0)) || !isfinite(T(1) / d)) ? T(0) : d;
    }
};

}  // namespace

}  // namespace tessera::cuda
