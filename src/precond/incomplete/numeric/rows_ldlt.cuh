#pragma once

#include "gpu/tiles/factor/staged_factors.cuh"

namespace tessera::cuda {

namespace {

/// The pivot of a step: p, or 2 x 2 with q, equal in all threads of a team; and this thread's
/// entries in these columns.
template <class T>
struct PivotColumns {
    int p;
    int q = -1;
    T column_p;
    T column_q = T(0);

    __device__ __forceinline__ bool is_pair() const { return q >= 0; }
};

/// Right-looking LDL^T with complete pivoting, 1 x 1 and 2 x 2 pivots; one row per thread. Rows are
/// not moved. Both triangles are updated and the pivot columns are used, so that rounding errors
/// may differ between the triangles. A 2 x 2 pivot takes two steps, one rank-1 update each, so that
/// the teams of a warp stay in step.
struct RowsLdlt {
    /// Bunch-Parlett: the largest diagonal element, or a 2 x 2 pivot with the largest of all. (If a
    /// 2 x 2 pivot is chosen, the largest of all is off the diagonal.) alone: the pivot is 1 x 1;
    /// second: this is the second step of a 2 x 2 pivot. `diagonal` and `largest` are those of this
    /// thread's row, which is `live` if not yet eliminated.
    template <class T, class Team, class Rows>
    static __device__ __forceinline__ PivotColumns<T> choose(const Team& team, Rows& rows,
                                                             bool live, bool second, bool alone,
                                                             T diagonal, T largest, T tau,
                                                             T* stage) {
        const T size = live ? magnitude(diagonal) : T(0);
        const T mu1 = team.max_magnitude(size);
        const T mu0 = team.max_magnitude(live ? largest : T(0));
        PivotColumns<T> pivot;
        pivot.p = team.first(live && size == mu1) % Team::threads;
        const bool pair = !second && !alone && mu1 < batched::pivot_alpha<T> * mu0 &&
                          !(fmax(mu1, mu0) < tau) && mu0 > largest_without_reciprocal<T>;
        if (team.any(pair)) {
            const int r = team.first(live && largest == mu0) % Team::threads;
            rows.broadcast(team, r, stage);
            team.sync();
            const T entry = stage[team.lane()];
            const int c = team.first(live && team.lane() != r && fabs(entry) == mu0);
            team.sync();
            if (pair && c < Team::threads) {
                pivot.p = r < c ? r : c;
                pivot.q = r < c ? c : r;
            }
        }
        pivot.column_p = rows.extract(second ? -1 : pivot.p);
        if (team.any(pivot.is_pair())) pivot.column_q = rows.extract(pivot.q);
        return pivot;
    }

    template <class T, class Team, class Rows>
    static __device__ __forceinline__ void eliminate(const Team& team, Rows& rows,
                                                     const TeamMemory<T>& memory, int n, T tau) {
        const int lane = team.lane();
        bool live = lane < n;
        memory.rows[lane] = lane;
        int position = lane;
        T diagonal = rows.diagonal(lane);
        T largest = rows.largest();
        bool second = false;  // Second step of a 2 x 2 pivot of this team.
        T second_l = T(0);    // For that step.
        T second_mine = T(0);
        team.sync();
        const auto exchange = [&](int s, int r, bool condition) {
            const int other = team.from(position, r);
            if (condition && (lane == r || position == s)) {
                position = lane == r ? s : other;
                memory.rows[position] = lane;
            }
        };
#pragma unroll 1
        for (int s = 0; s < n; ++s) {
            const PivotColumns<T> pivot =
                choose(team, rows, live, second, s + 1 >= n, diagonal, largest, tau, memory.stage);
            const bool first = !second;
            const int p = pivot.p;
            const int q = pivot.is_pair() ? pivot.q : p;
            PivotPair<T> e{team.from(diagonal, p), T(0), team.from(diagonal, q)};
            if (team.any(pivot.is_pair())) {
                const T low = team.from(pivot.column_p, q);
                const T high = team.from(pivot.column_q, p);
                if (pivot.is_pair()) e.e21 = fabs(high) > fabs(low) ? high : low;
            }
            if (first && (lane == p || lane == q)) live = false;
            T l = second_l;
            T mine = second_mine;
            if (first) {
                mine = live ? pivot.column_p : T(0);
                if (pivot.is_pair()) {
                    second_mine = live ? pivot.column_q : T(0);
                    const PivotPair<T> used = with_threshold(e, tau);
                    const PivotPair<T> g = used.e21 == T(0) ? inverse(used) : pair_inverse(used);
                    l = live ? g.e11 * mine + g.e21 * second_mine : T(0);
                    second_l = live ? g.e21 * mine + g.e22 * second_mine : T(0);
                    if (lane < n) {
                        memory.at(lane, p) = lane == p ? used.e11 : l;
                        memory.at(lane, q) = lane == q ? used.e22 : lane == p ? used.e21 : second_l;
                    }
                    memory.stage_two[lane] = second_mine;
                    if (lane == p) {
                        memory.raw[s] = e.e11;
                        memory.raw_e21[s] = e.e21;
                        memory.raw[s + 1] = e.e22;
                        memory.raw_e21[s + 1] = T(0);
                    }
                } else {
                    const Divisor<T> divisor(with_threshold(e.e11, tau));
                    l = live ? divisor.quotient(mine) : T(0);
                    if (lane < n) memory.at(lane, p) = lane == p ? divisor.d : l;
                    if (lane == p) {
                        memory.raw[s] = e.e11;
                        memory.raw_e21[s] = T(0);
                    }
                }
                memory.stage[lane] = mine;
            }
            exchange(s, p, first);
            team.sync();
            if (team.any(pivot.is_pair())) exchange(s + 1, q, pivot.is_pair());
            team.sync();
            const bool again = pivot.is_pair();
            const T* const row = first ? memory.stage : memory.stage_two;
            diagonal = fma(-l, mine, diagonal);
            largest = rows.template update<true>(-l, live, row, s + (again ? 2 : 1), memory.rows);
            second = again;
            team.sync();
        }
    }
};

}  // namespace

}  // namespace tessera::cuda
