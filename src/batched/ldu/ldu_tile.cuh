#pragma once

#include "batched/factor_entries.hpp"
#include "batched/factor_launch.cuh"

namespace tessera::batched::cuda {

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
            const T l = live ? divisor.quotient(mine) : T(0);
            if (live || pivot_row) memory.at(lane, c) = pivot_row ? divisor.d : l;
            if (pivot_row) memory.raw[s] = raw;
            if (lane == c) column_live = false;
            if (column_live) memory.at(r, lane) = divisor.quotient(above);
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
};

}  // namespace

template <Pivoting pivoting, class T>
void ldu_with(const Context& context, const FactorJob<T>& job) {
    factorise_batch<Ldu<pivoting>>(context, job);
}

}  // namespace tessera::batched::cuda
