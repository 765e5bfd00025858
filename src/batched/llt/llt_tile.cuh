#pragma once

#include "batched/factor_entries.hpp"
#include "batched/factor_launch.cuh"

namespace tessera::batched::cuda {

namespace {

/// A(p, p) = L L^T by a team of threads; nothing is moved.
template <Pivoting pivoting>
struct Llt {
    static constexpr Factorisation kind = Factorisation::llt;
    static constexpr bool symmetric = true;
    static constexpr bool full = pivoting == Pivoting::full;
    static constexpr bool ordered = !full;

    template <class T, class Team, class Rows>
    static __device__ __forceinline__ void eliminate(const Team& team, Rows& rows,
                                                     const TeamMemory<T>& memory, int n, T tau) {
        const int lane = team.lane();
        bool live = lane < n;
        Place place(lane, memory.rows);
        T diagonal = rows.diagonal(lane);
        team.sync();
#pragma unroll 1
        for (int s = 0; s < n; ++s) {
            int r = s;
            if constexpr (full) {
                const T lowest = -std::numeric_limits<T>::infinity();
                const T candidate = live && diagonal > lowest ? diagonal : lowest;
                const T most = team.max(candidate);
                r = team.first(live && candidate == most);
            }
            const T mine = rows.column(r);
            const T raw = team.from(diagonal, r);
            T d = raw < tau ? tau : raw;
            if (isfinite(d) && (!(d > T(0)) || !isfinite(T(1) / d))) d = T(0);
            const T root = sqrt(d);
            const bool pivot_row = lane == r;
            if (pivot_row) live = false;
            const T l = !live ? T(0) : d == T(0) ? mine * T(0) : mine / root;
            if (lane < n) memory.at(lane, r) = pivot_row ? root : l;
            if (pivot_row) memory.raw[s] = raw;
            memory.stage[lane] = l;
            diagonal = fma(-l, l, diagonal);
            if constexpr (full) place.exchange(team, s, r);
            team.sync();
            rows.template update<false>(-l, live, memory.stage, s + 1,
                                        full ? memory.rows : nullptr);
            team.sync();
        }
    }
};

}  // namespace

template <Pivoting pivoting, class T>
void llt_with(const Context& context, const FactorJob<T>& job) {
    factorise_batch<Llt<pivoting>>(context, job);
}

}  // namespace tessera::batched::cuda
