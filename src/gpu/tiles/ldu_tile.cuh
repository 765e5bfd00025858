#pragma once

#include "gpu/tiles/factor_tile.cuh"
#include "gpu/tiles/rotating_rows.cuh"

namespace tessera::cuda {

namespace {

/// A(p, q) = L D U by a team of threads. Neither rows nor columns are moved: the pivot row goes
/// through shared memory to all threads, the factors go to where their elements came from.
template <Pivoting pivoting>
struct Ldu {
    static constexpr Factorisation kind = Factorisation::ldu;
    static constexpr bool symmetric = false;
    static constexpr bool full = pivoting == Pivoting::full;
    static constexpr bool ordered = !full;  ///< Columns are eliminated in their order.

    template <class T, class Team, class Rows>
    static __device__ __forceinline__ void eliminate(const Team& team, Rows& rows,
                                                     const TeamMemory<T>& memory, int n, T tau) {
        const int lane = team.lane();
        bool live = lane < n;
        bool column_live = live;
        T* const row_of_f = memory.f + lane;
        T* const column_of_f = memory.f + lane * memory.pitch;
        Place row_place(lane, memory.rows);
        Place column_place(lane, memory.columns);
        T largest = full ? rows.largest() : T(0);
        team.sync();
#pragma unroll 1
        for (int s = 0; s < n; ++s) {
            int r = s, c = s;
            T mine;   // Entry of this row in the pivot column.
            T above;  // Entry of this column in the pivot row.
            if constexpr (full) {
                const T most = team.max_size(live ? largest : T(0));
                r = team.first(live && largest == most);
                rows.publish(team, r, memory.stage);
                team.sync();
                above = memory.stage[lane];
                c = team.first(column_live && fabs(above) == most);
                const int any = team.first(column_live);
                if (c == Team::threads) c = any;
                mine = rows.take(c);
                team.sync();
                if (lane == c) memory.stage[lane] = T(0);  // Stays out of the update.
            } else {
                mine = rows.column(s);
                if constexpr (pivoting == Pivoting::partial) {
                    const T size = size_of(mine);
                    const T most = team.max_size(live ? size : T(0));
                    r = team.first(live && size == most);
                }
                rows.publish(team, r, memory.stage);
                team.sync();
                above = memory.stage[lane];
            }
            const T raw = team.from(mine, r);
            const Divisor<T> divisor(raised(raw, tau));
            const bool pivot_row = lane == r;
            if (pivot_row) live = false;
            if (lane == c) column_live = false;
            T l = divisor.plain_quotient(mine);
            T u = divisor.plain_quotient(above);
            if (!divisor.plain) {
                l = divisor.odd_quotient(mine);
                u = divisor.odd_quotient(above);
            }
            if (!live) l = T(0);
            if (live || pivot_row) row_of_f[c * memory.pitch] = pivot_row ? divisor.d : l;
            if (column_live) column_of_f[r] = u;
            if (pivot_row) memory.raw[s] = raw;
            if constexpr (pivoting != Pivoting::fixed) row_place.exchange(team, s, r);
            if constexpr (full) {
                column_place.exchange(team, s, c);
                team.sync();
            }
            largest = rows.template update<full>(-l, live, memory.stage, s + 1,
                                                 full ? memory.columns : nullptr);
            team.sync();
        }
    }

    /// The same with the same bits for static and partial pivoting, two rows or more a lane; U
    /// stays unscaled.
    template <class T, int Lanes, int Rows>
    static __device__ __forceinline__ void eliminate(const WarpTeam<Lanes>& team,
                                                     RotatingRows<T, Lanes, Rows>& rows,
                                                     const TeamMemory<T>& memory, int n, T tau) {
        const int lane = team.lane();
#pragma unroll
        for (int i = 0; i < Rows; ++i) memory.columns[rows.row(i)] = rows.row(i);
        rows.for_steps(n, [&](auto active, int s) {
            int r = s;
            if constexpr (pivoting == Pivoting::partial) {
                T size[Rows];
                T most = T(0);
#pragma unroll
                for (int i = 0; i < Rows; ++i) {
                    size[i] = rows.live[i] ? size_of(rows.a[i][0]) : T(0);
                    most = size[i] > most ? size[i] : most;
                }
                most = team.max_size(most);
#pragma unroll
                for (int i = Rows - 1; i >= 0; --i) {
                    const int found = team.first(rows.live[i] && size[i] == most);
                    if (found < Lanes) r = found + Lanes * i;
                }
            }
            const auto pivot_entry = [&](int j) {
                T value = rows.a[0][j];
#pragma unroll
                for (int i = 1; i < Rows; ++i)
                    value = select_register(r / Lanes == i, rows.a[i][j], value);
                return team.from(value, r % Lanes);
            };
            const T raw = pivot_entry(0);
            const Divisor<T> divisor(raised(raw, tau));
            T l[Rows];
#pragma unroll
            for (int i = 0; i < Rows; ++i) l[i] = divisor.plain_quotient(rows.a[i][0]);
            if (!divisor.plain) {
#pragma unroll
                for (int i = 0; i < Rows; ++i) l[i] = divisor.odd_quotient(rows.a[i][0]);
            }
            T* const column = memory.f + s * memory.pitch;
#pragma unroll
            for (int i = 0; i < Rows; ++i) {
                const bool chosen = rows.row(i) == r;
                if (chosen) rows.live[i] = false;
                const T kept = rows.live[i] ? l[i] : chosen ? divisor.d : rows.a[i][0];
                if (rows.row(i) < n) column[rows.row(i)] = kept;
                if (!rows.live[i]) l[i] = T(0);
            }
            if (lane == 0) {
                memory.raw[s] = raw;
                memory.rows[s] = r;
            }
#pragma unroll
            for (int j = 1; j < active.value; ++j) {
                const T entry = pivot_entry(j);
#pragma unroll
                for (int i = 0; i < Rows; ++i) {
                    rows.a[i][j - 1] = fma(-l[i], entry, rows.a[i][j]);
                }
            }
        });
    }
};

}  // namespace

}  // namespace tessera::cuda
