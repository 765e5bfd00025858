#pragma once

#include "gpu/tiles/factor/pivots.cuh"
#include "gpu/tiles/factor/rotating_rows.cuh"

namespace tessera::cuda {

namespace {

/// Right-looking LDU with implicit pivoting; one row per thread. Neither rows nor columns are
/// moved; the pivot row is broadcast through shared memory.
template <Pivoting pivoting>
struct Ldu {
    static constexpr Factorisation kind = Factorisation::ldu;
    static constexpr bool symmetric = false;
    static constexpr bool full = pivoting == Pivoting::full;

    template <class T, class Team, class Rows>
    static __device__ __forceinline__ void eliminate(const Team& team, Rows& rows,
                                                     const TeamMemory<T>& memory, int n, T tau) {
        const int lane = team.lane();
        bool live = lane < n;
        bool column_live = live;
        T* const row_of_f = memory.f + lane;
        T* const column_of_f = memory.f + lane * memory.pitch;
        PivotOrder row_order(lane, memory.rows);
        PivotOrder column_order(lane, memory.columns);
        T largest = full ? rows.largest() : T(0);
        team.sync();
#pragma unroll 1
        for (int s = 0; s < n; ++s) {
            int r = s, c = s;
            T mine;   // Entry of this row in the pivot column.
            T above;  // Entry of this column in the pivot row.
            if constexpr (full) {
                const T pivot_size = team.max_magnitude(live ? largest : T(0));
                r = team.first(live && largest == pivot_size);
                rows.broadcast(team, r, memory.stage);
                team.sync();
                above = memory.stage[lane];
                c = team.first(column_live && fabs(above) == pivot_size);
                const int any = team.first(column_live);
                if (c == Team::threads) c = any;
                mine = rows.extract(c);
                team.sync();
                if (lane == c) memory.stage[lane] = T(0);  // Excluded from the update.
            } else {
                mine = rows.entry(s);
                if constexpr (pivoting == Pivoting::partial) {
                    const T size = magnitude(mine);
                    const T pivot_size = team.max_magnitude(live ? size : T(0));
                    r = team.first(live && size == pivot_size);
                }
                rows.broadcast(team, r, memory.stage);
                team.sync();
                above = memory.stage[lane];
            }
            const T raw = team.from(mine, r);
            const Divisor<T> divisor(with_threshold(raw, tau));
            const bool pivot_row = lane == r;
            if (pivot_row) live = false;
            if (lane == c) column_live = false;
            T l = divisor.fast_quotient(mine);
            T u = divisor.fast_quotient(above);
            if (!divisor.in_range) {
                l = divisor.ieee_quotient(mine);
                u = divisor.ieee_quotient(above);
            }
            if (!live) l = T(0);
            if (live || pivot_row) row_of_f[c * memory.pitch] = pivot_row ? divisor.d : l;
            if (column_live) column_of_f[r] = u;
            if (pivot_row) memory.raw[s] = raw;
            if constexpr (pivoting != Pivoting::fixed) row_order.exchange(team, s, r);
            if constexpr (full) {
                column_order.exchange(team, s, c);
                team.sync();
            }
            largest = rows.template update<full>(-l, live, memory.stage, s + 1,
                                                 full ? memory.columns : nullptr);
            team.sync();
        }
    }

    /// Right-looking LDU for static and partial pivoting with two or more rows per lane, with the
    /// same bits as the function above; rows of U are divided by the pivots later (write_outputs).
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
                T pivot_size = T(0);
#pragma unroll
                for (int i = 0; i < Rows; ++i) {
                    size[i] = rows.live[i] ? magnitude(rows.a[i][0]) : T(0);
                    pivot_size = size[i] > pivot_size ? size[i] : pivot_size;
                }
                pivot_size = team.max_magnitude(pivot_size);
#pragma unroll
                for (int i = Rows - 1; i >= 0; --i) {
                    const int matching_lane = team.first(rows.live[i] && size[i] == pivot_size);
                    if (matching_lane < Lanes) r = matching_lane + Lanes * i;
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
            const Divisor<T> divisor(with_threshold(raw, tau));
            T l[Rows];
#pragma unroll
            for (int i = 0; i < Rows; ++i) l[i] = divisor.fast_quotient(rows.a[i][0]);
            if (!divisor.in_range) {
#pragma unroll
                for (int i = 0; i < Rows; ++i) l[i] = divisor.ieee_quotient(rows.a[i][0]);
            }
            T* const column = memory.f + s * memory.pitch;
#pragma unroll
            for (int i = 0; i < Rows; ++i) {
                const bool chosen = rows.row(i) == r;
                if (chosen) rows.live[i] = false;
                const T value = rows.live[i] ? l[i] : chosen ? divisor.d : rows.a[i][0];
                if (rows.row(i) < n) column[rows.row(i)] = value;
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
