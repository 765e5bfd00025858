#pragma once

#include "gpu/tiles/factor/pivots.cuh"

namespace tessera::cuda {

namespace {

/// The largest number whose reciprocal overflows.
template <class T>
constexpr T largest_without_reciprocal = sizeof(T) == 8 ? T(0x1p-1024) : T(0x1p-128);

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

/// Right-looking LDL^T with 1 x 1 and 2 x 2 pivots and implicit pivoting; one row per thread. Rows
/// are not moved. Both triangles are updated and the pivot columns are used, so that rounding
/// errors may differ between the triangles. A 2 x 2 pivot takes two steps, one rank-1 update each,
/// so that the teams of a warp stay in step.
template <Pivoting pivoting>
struct Ldlt {
    static constexpr Factorisation kind = Factorisation::ldlt;
    static constexpr bool symmetric = true;
    static constexpr bool full = pivoting == Pivoting::full;
    static constexpr bool ordered = pivoting == Pivoting::fixed;

    /// Input of the pivot search, for the row of this thread.
    template <class T>
    struct State {
        int n;
        int s;
        T tau;
        bool live;         ///< Not yet eliminated.
        bool second_step;  ///< Second step of a 2 x 2 pivot of this team.
        T diagonal;
        T largest;  ///< Largest magnitude in the row; full pivoting.
        int position;

        /// Whether the pivot is 1 x 1, by the magnitudes of the diagonal and off-diagonal
        /// candidate.
        __device__ __forceinline__ bool is_1x1(T diagonal_size, T other) const {
            return second_step || s + 1 >= n ||
                   !(diagonal_size < batched::pivot_alpha<T> * other) ||
                   fmax(diagonal_size, other) < tau || !(other > largest_without_reciprocal<T>);
        }
    };
    template <class T>
    struct Largest {
        T size;
        int row;
    };
    /// The largest |mine| in the remaining rows other than j.
    template <class T, class Team>
    static __device__ __forceinline__ Largest<T> off_diagonal(const Team& team, bool live, T mine,
                                                              int j) {
        const bool candidate = live && team.lane() != j;
        const T size = candidate ? magnitude(mine) : T(0);
        const T largest = team.max_magnitude(size);
        const int row = team.first(candidate && size == largest);
        return {largest, row < Team::threads ? row : j};
    }

    /// Bunch-Parlett: the largest diagonal element, or a 2 x 2 pivot with the largest of all. (If a
    /// 2 x 2 pivot is chosen, the largest of all is off the diagonal.)
    template <class T, class Team, class Rows>
    static __device__ __forceinline__ PivotColumns<T> choose_complete(const Team& team, Rows& rows,
                                                                      const State<T>& state,
                                                                      T* stage) {
        const T size = state.live ? magnitude(state.diagonal) : T(0);
        const T mu1 = team.max_magnitude(size);
        const T mu0 = team.max_magnitude(state.live ? state.largest : T(0));
        PivotColumns<T> pivot;
        pivot.p = team.first(state.live && size == mu1) % Team::threads;
        const bool pair = !state.is_1x1(mu1, mu0);
        if (team.any(pair)) {
            const int r = team.first(state.live && state.largest == mu0) % Team::threads;
            rows.broadcast(team, r, stage);
            team.sync();
            const T entry = stage[team.lane()];
            const int c = team.first(state.live && team.lane() != r && fabs(entry) == mu0);
            team.sync();
            if (pair && c < Team::threads) {
                pivot.p = r < c ? r : c;
                pivot.q = r < c ? c : r;
            }
        }
        pivot.column_p = rows.extract(state.second_step ? -1 : pivot.p);
        if (team.any(pivot.is_pair())) pivot.column_q = rows.extract(pivot.q);
        return pivot;
    }

    /// Bunch-Kaufman and rook pivoting; the search starts at the row in position s.
    template <class T, class Team, class Rows>
    static __device__ __forceinline__ PivotColumns<T> choose_by_search(const Team& team, Rows& rows,
                                                                       const State<T>& state) {
        PivotColumns<T> pivot;
        pivot.p = team.first(state.live && state.position == state.s) % Team::threads;
        pivot.column_p = rows.entry(pivot.p);
        Largest<T> largest = off_diagonal(team, state.live, pivot.column_p, pivot.p);
        const T w = fabs(team.from(state.diagonal, pivot.p));
        bool searching = !state.is_1x1(w, largest.size);
        while (team.any(searching)) {
            const int r = largest.row;
            const T column_r = rows.entry(r);
            const Largest<T> next = off_diagonal(team, state.live, column_r, r);
            const T size = fabs(team.from(state.diagonal, r));
            if (!searching) continue;
            const T lambda = largest.size;
            const T sigma = next.size;
            constexpr bool rook = pivoting == Pivoting::rook;
            searching = false;
            if (!rook && w >= batched::pivot_alpha<T> * lambda * (lambda / sigma)) continue;
            const bool is_1x1 = !(size < batched::pivot_alpha<T> * sigma);
            if (!is_1x1 && (!rook || !(sigma > lambda))) {
                pivot.q = r;
                pivot.column_q = column_r;
                continue;
            }
            pivot.p = r;
            pivot.column_p = column_r;
            if (is_1x1) continue;
            largest = next;
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
        pivot.column_p = rows.entry(s);
        const T below = off_diagonal(team, state.live, pivot.column_p, s).size;
        const int next = s + 1 < state.n ? s + 1 : s;
        const PivotPair<T> e{team.from(state.diagonal, s), team.from(pivot.column_p, next),
                             team.from(state.diagonal, next)};
        const bool small = fmax(fabs(e.e11), below) < state.tau;
        if (!state.second_step && next > s && !small && is_pair_pivot(e, below)) pivot.q = next;
        if (team.any(pivot.is_pair())) pivot.column_q = rows.entry(next);
        return pivot;
    }

    template <class T, class Team, class Rows>
    static __device__ __forceinline__ void eliminate(const Team& team, Rows& rows,
                                                     const TeamMemory<T>& memory, int n, T tau) {
        const int lane = team.lane();
        PivotOrder order(lane, memory.rows);
        State<T> state{
            n, 0, tau, lane < n, false, rows.diagonal(lane), full ? rows.largest() : T(0), lane};
        T second_l = T(0);  // For the second step of a 2 x 2 pivot.
        T second_mine = T(0);
        team.sync();
#pragma unroll 1
        for (int s = 0; s < n; ++s) {
            state.s = s;
            state.position = order.position;
            PivotColumns<T> pivot;
            if constexpr (full) {
                pivot = choose_complete(team, rows, state, memory.stage);
            } else if constexpr (ordered) {
                pivot = choose_fixed(team, rows, state);
            } else {
                pivot = choose_by_search(team, rows, state);
            }
            const bool first = !state.second_step;
            const int p = pivot.p;
            const int q = pivot.is_pair() ? pivot.q : p;
            PivotPair<T> e{team.from(state.diagonal, p), T(0), team.from(state.diagonal, q)};
            if (team.any(pivot.is_pair())) {
                const T low = team.from(pivot.column_p, q);
                const T high = team.from(pivot.column_q, p);
                if (pivot.is_pair()) e.e21 = fabs(high) > fabs(low) ? high : low;
            }
            if (first && (lane == p || lane == q)) state.live = false;
            T l = second_l;
            T mine = second_mine;
            if (first) {
                mine = state.live ? pivot.column_p : T(0);
                if (pivot.is_pair()) {
                    second_mine = state.live ? pivot.column_q : T(0);
                    const PivotPair<T> used = with_threshold(e, tau);
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
                        memory.raw_e21[s] = e.e21;
                        memory.raw[s + 1] = e.e22;
                        memory.raw_e21[s + 1] = T(0);
                    }
                } else {
                    const Divisor<T> divisor(with_threshold(e.e11, tau));
                    l = state.live ? divisor.quotient(mine) : T(0);
                    if (lane < n) memory.at(lane, p) = lane == p ? divisor.d : l;
                    if (lane == p) {
                        memory.raw[s] = e.e11;
                        memory.raw_e21[s] = T(0);
                    }
                }
                memory.stage[lane] = mine;
            }
            if constexpr (!ordered) {
                order.exchange(team, s, p, first);
                team.sync();
                if (team.any(pivot.is_pair())) {
                    order.exchange(team, s + 1, q, pivot.is_pair());
                }
            }
            team.sync();
            const bool again = pivot.is_pair();
            const T* const row = first ? memory.stage : memory.stage_two;
            state.diagonal = fma(-l, mine, state.diagonal);
            state.largest = rows.template update<full>(-l, state.live, row, s + (again ? 2 : 1),
                                                       ordered ? nullptr : memory.rows);
            state.second_step = again;
            team.sync();
        }
    }
};

}  // namespace

}  // namespace tessera::cuda
