#pragma once

#include "gpu/tiles/factor_tile.cuh"

namespace tessera::cuda {

namespace {

/// The largest number whose reciprocal overflows.
template <class T>
constexpr T largest_without_reciprocal = sizeof(T) == 8 ? T(0x1p-1024) : T(0x1p-128);

/// The pivot of a step: row and column p, or a 2 x 2 one with q; and a thread's entries in these
/// columns. Equal in all threads of a team but for the entries.
template <class T>
struct PivotColumns {
    int p;
    int q = -1;
    T of_p;
    T of_q = T(0);

    __device__ __forceinline__ bool is_pair() const { return q >= 0; }
};

/// A(p, p) = L D L^T by a team of threads; nothing is moved. Both triangles are kept and updated;
/// what is used of them is the columns of the pivots, so that rounding errors may differ between
/// the triangles. A 2 x 2 pivot takes two steps, one for each of its products, so that teams of a
/// warp with pivots of different kinds stay in step.
template <Pivoting pivoting>
struct Ldlt {
    static constexpr Factorisation kind = Factorisation::ldlt;
    static constexpr bool symmetric = true;
    static constexpr bool full = pivoting == Pivoting::full;
    static constexpr bool ordered = pivoting == Pivoting::fixed;

    /// What the choice of a pivot looks at.
    template <class T>
    struct State {
        int n;
        int s;
        T tau;
        bool live;     ///< Whether the row of this thread is left.
        bool waiting;  ///< Whether this team has the second step of a 2 x 2 pivot to do.
        T diagonal;    ///< Of this row.
        T largest;     ///< Magnitude in this row; full pivoting.
        int position;  ///< Of this row.

        /// Whether a pivot that needs no partner is at hand, from the two sizes looked at.
        __device__ __forceinline__ bool single(T diagonal_size, T other) const {
            return waiting || s + 1 >= n || !(diagonal_size < batched::pivot_alpha<T> * other) ||
                   fmax(diagonal_size, other) < tau || !(other > largest_without_reciprocal<T>);
        }
    };
    template <class T>
    struct Largest {
        T size;
        int row;
    };
    /// The largest of `mine` in the rows that are left, but for row `j`.
    template <class T, class Team>
    static __device__ __forceinline__ Largest<T> off_diagonal(const Team& team, bool live, T mine,
                                                              int j) {
        const bool counts = live && team.lane() != j;
        const T size = counts ? size_of(mine) : T(0);
        const T most = team.max_size(size);
        const int row = team.first(counts && size == most);
        return {most, row < Team::threads ? row : j};
    }

    /// Bunch-Parlett: the largest diagonal element, or the largest of all. (The largest of all,
    /// diagonal elements too, serves as well as the largest off the diagonal.)
    template <class T, class Team, class Rows>
    static __device__ __forceinline__ PivotColumns<T> choose_complete(const Team& team, Rows& rows,
                                                                      const State<T>& state,
                                                                      T* stage) {
        const T size = state.live ? size_of(state.diagonal) : T(0);
        const T mu1 = team.max_size(size);
        const T most = team.max_size(state.live ? state.largest : T(0));
        PivotColumns<T> pivot;
        pivot.p = team.first(state.live && size == mu1) % Team::threads;
        const bool pair = !state.single(mu1, most);
        if (team.anywhere(pair)) {
            const int r = team.first(state.live && state.largest == most) % Team::threads;
            rows.publish(team, r, stage);
            team.sync();
            const T entry = stage[team.lane()];
            const int c = team.first(state.live && team.lane() != r && fabs(entry) == most);
            team.sync();
            if (pair && c < Team::threads) {
                pivot.p = r < c ? r : c;
                pivot.q = r < c ? c : r;
            }
        }
        pivot.of_p = rows.take(state.waiting ? -1 : pivot.p);
        if (team.anywhere(pivot.is_pair())) pivot.of_q = rows.take(pivot.q);
        return pivot;
    }

    /// Bunch-Kaufman and rook, from the row in position s on.
    template <class T, class Team, class Rows>
    static __device__ __forceinline__ PivotColumns<T> choose_by_search(const Team& team, Rows& rows,
                                                                       const State<T>& state) {
        PivotColumns<T> pivot;
        pivot.p = team.first(state.live && state.position == state.s) % Team::threads;
        pivot.of_p = rows.column(pivot.p);
        Largest<T> found = off_diagonal(team, state.live, pivot.of_p, pivot.p);
        const T w = fabs(team.from(state.diagonal, pivot.p));
        bool searching = !state.single(w, found.size);
        while (team.anywhere(searching)) {
            const int r = found.row;
            const T of_r = rows.column(r);
            const Largest<T> next = off_diagonal(team, state.live, of_r, r);
            const T size = fabs(team.from(state.diagonal, r));
            if (!searching) continue;
            const T lambda = found.size;
            const T sigma = next.size;
            constexpr bool rook = pivoting == Pivoting::rook;
            searching = false;
            if (!rook && w >= batched::pivot_alpha<T> * lambda * (lambda / sigma)) continue;
            const bool single = !(size < batched::pivot_alpha<T> * sigma);
            if (!single && (!rook || !(sigma > lambda))) {
                pivot.q = r;
                pivot.of_q = of_r;
                continue;
            }
            pivot.p = r;
            pivot.of_p = of_r;
            if (single) continue;
            found = next;
            searching = true;
        }
        return pivot;
    }

    template <class T, class Team, class Rows>
    static __device__ __forceinline__ PivotColumns<T> choose_fixed(const Team& team, Rows& rows,
                                                                   const State<T>& state) {
        const int s = state.s;
        PivotColumns<T> pivot;
        pivot.p = s;
        pivot.of_p = rows.column(s);
        const T below = off_diagonal(team, state.live, pivot.of_p, s).size;
        const int next = s + 1 < state.n ? s + 1 : s;
        const PivotPair<T> e{team.from(state.diagonal, s), team.from(pivot.of_p, next),
                             team.from(state.diagonal, next)};
        const bool small = fmax(fabs(e.e11), below) < state.tau;
        if (!state.waiting && next > s && !small && is_pair_pivot(e, below)) pivot.q = next;
        if (team.anywhere(pivot.is_pair())) pivot.of_q = rows.column(next);
        return pivot;
    }

    template <class T, class Team, class Rows>
    static __device__ __forceinline__ void eliminate(const Team& team, Rows& rows,
                                                     const TeamMemory<T>& memory, int n, T tau) {
        const int lane = team.lane();
        Place place(lane, memory.rows);
        State<T> state{
            n, 0, tau, lane < n, false, rows.diagonal(lane), full ? rows.largest() : T(0), lane};
        T second_l = T(0);  // What the second step of a pair takes.
        T second_mine = T(0);
        team.sync();
#pragma unroll 1
        for (int s = 0; s < n; ++s) {
            state.s = s;
            state.position = place.position;
            PivotColumns<T> pivot;
            if constexpr (full) {
                pivot = choose_complete(team, rows, state, memory.stage);
            } else if constexpr (ordered) {
                pivot = choose_fixed(team, rows, state);
            } else {
                pivot = choose_by_search(team, rows, state);
            }
            const bool first = !state.waiting;
            const int p = pivot.p;
            const int q = pivot.is_pair() ? pivot.q : p;
            PivotPair<T> e{team.from(state.diagonal, p), T(0), team.from(state.diagonal, q)};
            if (team.anywhere(pivot.is_pair())) {
                const T low = team.from(pivot.of_p, q);
                const T high = team.from(pivot.of_q, p);
                if (pivot.is_pair()) e.e21 = fabs(high) > fabs(low) ? high : low;
            }
            if (first && (lane == p || lane == q)) state.live = false;
            T l = second_l;
            T mine = second_mine;
            if (first) {
                mine = state.live ? pivot.of_p : T(0);
                if (pivot.is_pair()) {
                    second_mine = state.live ? pivot.of_q : T(0);
                    const PivotPair<T> used = raised(e, tau);
                    const PivotPair<T> g = used.e21 == T(0) ? inverse(used) : pair_inverse(used);
                    l = state.live ? g.e11 * mine + g.e21 * second_mine : T(0);
                    second_l = state.live ? g.e21 * mine + g.e22 * second_mine : T(0);
                    if (lane < n) {
                        memory.at(lane, p) = lane == p ? used.e11 : l;
                        memory.at(lane, q) = lane == q ? used.e22 : lane == p ? used.e21 : second_l;
                    }
                    memory.stage_two[lane] = second_mine;
                    if (lane == p) {
                        memory.raw[s] = e.e11;
                        memory.raw_pair[s] = e.e21;
                        memory.raw[s + 1] = e.e22;
                        memory.raw_pair[s + 1] = T(0);
                    }
                } else {
                    const Divisor<T> divisor(raised(e.e11, tau));
                    l = state.live ? divisor.quotient(mine) : T(0);
                    if (lane < n) memory.at(lane, p) = lane == p ? divisor.d : l;
                    if (lane == p) {
                        memory.raw[s] = e.e11;
                        memory.raw_pair[s] = T(0);
                    }
                }
                memory.stage[lane] = mine;
            }
            if constexpr (!ordered) {
                place.exchange(team, s, p, first);
                team.sync();
                if (team.anywhere(pivot.is_pair())) {
                    place.exchange(team, s + 1, q, pivot.is_pair());
                }
            }
            team.sync();
            const bool again = pivot.is_pair();
            const T* const row = first ? memory.stage : memory.stage_two;
            state.diagonal = fma(-l, mine, state.diagonal);
            state.largest = rows.template update<full>(-l, state.live, row, s + (again ? 2 : 1),
                                                       ordered ? nullptr : memory.rows);
            state.waiting = again;
            team.sync();
        }
    }
};

}  // namespace

}  // namespace tessera::cuda
