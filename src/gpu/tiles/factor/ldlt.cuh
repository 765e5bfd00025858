#pragma once

#include "gpu/tiles/factor/pivots.cuh"

/// LDL^T with 1 x 1 and 2 x 2 pivots of a symmetric matrix in shared memory, by a team of threads.
namespace tessera::cuda {

namespace {

/// The lower triangle of a matrix of n rows, element (i, j) at values[i row_stride + j
/// column_stride]; and vectors of n values: the pivot column, the second one of a 2 x 2 pivot, and
/// with full pivoting the largest magnitude left of the diagonal in each row.
template <class T>
struct SymmetricMatrix {
    T* values;
    T* vectors;
    unsigned char* order;  ///< The original row in each position.
    int n;
    int row_stride;
    int column_stride;

    __device__ __forceinline__ T& at(int i, int j) const {
        return values[i * row_stride + j * column_stride];
    }
    /// The element in rows i and j, i != j.
    __device__ __forceinline__ T& between(int i, int j) const { return at(max(i, j), min(i, j)); }
};

/// Right-looking, with explicit exchanges of rows and columns; rows are dealt out to the threads
/// again in each step. Element (i, j) below the diagonal becomes a_ij - l_i m_j. A 2 x 2 pivot
/// takes two steps, one rank-1 update each, so that the teams of a warp stay in step.
template <Pivoting pivoting>
struct Ldlt {
    static constexpr bool full = pivoting == Pivoting::full;
    static constexpr int vectors = full ? 3 : 2;
    static constexpr int no_key = 1 << 30;

    /// The pivot of a step, in position p, or 2 x 2 with the second in position q.
    struct Pivot {
        int p;
        int q = -1;
        __device__ __forceinline__ bool is_pair() const { return q >= 0; }
    };
    template <class T>
    struct Largest {
        T size;
        int position;
    };

    /// A position and its original row, by which candidates of equal magnitude are ordered.
    template <class T>
    static __device__ __forceinline__ int key_of(const SymmetricMatrix<T>& a, int k) {
        return int(a.order[k]) << 8 | k;
    }
    /// The largest |value(k)| of the positions from `first` on, and, if `where`, the position with
    /// the smallest original row among equals; `otherwise` if there is none.
    template <bool where = true, class T, class Team, class Value>
    static __device__ __forceinline__ Largest<T> largest_of(const Team& team,
                                                            const SymmetricMatrix<T>& a, int first,
                                                            int otherwise, Value&& value) {
        T largest = T(0);
#pragma unroll 1
        for (int k = first + team.lane(); k < a.n; k += Team::threads) {
            const T candidate = value(k);
            if (fabs(candidate) > fabs(largest)) largest = candidate;
        }
        largest = team.max_magnitude(fabs(largest));
        if (!where) return {largest, otherwise};
        int key = no_key;
#pragma unroll 1
        for (int k = first + team.lane(); k < a.n; k += Team::threads) {
            if (fabs(value(k)) == largest) key = min(key, key_of(a, k));
        }
        key = team.min(key);
        return {largest, key == no_key ? otherwise : key & 255};
    }
    /// The largest element of column s below the diagonal.
    template <bool where, class T, class Team>
    static __device__ __forceinline__ Largest<T> largest_below(const Team& team,
                                                               const SymmetricMatrix<T>& a, int s) {
        const T* const column = &a.at(0, s);
        return largest_of<where>(team, a, s + 1, s,
                                 [&](int k) { return column[k * a.row_stride]; });
    }

    /// Whether the pivot is 1 x 1, by the magnitudes of the diagonal and off-diagonal candidate.
    template <class T>
    static __device__ __forceinline__ bool is_1x1(T diagonal, T other, T tau) {
        return !(diagonal < batched::pivot_alpha<T> * other) || fmax(diagonal, other) < tau ||
               !(other > largest_without_reciprocal<T>);
    }

    /// Bunch-Parlett: the largest diagonal element, or a 2 x 2 pivot with the largest of the
    /// others.
    template <class T, class Team>
    static __device__ __forceinline__ Pivot choose_complete(const Team& team,
                                                            const SymmetricMatrix<T>& a, int s,
                                                            T tau, bool alone) {
        const T* const largest = a.vectors + 2 * a.n;
        const Largest<T> diagonal = largest_of(team, a, s, s, [&](int k) { return a.at(k, k); });
        const Largest<T> other =
            largest_of<false>(team, a, s + 1, s, [&](int k) { return largest[k]; });
        const bool pair = !alone && !is_1x1(diagonal.size, other.size, tau);
        if (!team.any(pair)) return {diagonal.position};
        // The original rows of the first such element, the smaller one first.
        int rows = no_key;
#pragma unroll 1
        for (int i = s + 1 + team.lane(); i < a.n && pair; i += Team::threads) {
            if (largest[i] != other.size) continue;
#pragma unroll 1
            for (int j = s; j < i; ++j) {
                if (fabs(a.at(i, j)) != other.size) continue;
                const int r = a.order[i], c = a.order[j];
                rows = min(rows, min(r, c) << 8 | max(r, c));
            }
        }
        rows = team.min(rows);
        int p = 0, q = 0;
#pragma unroll 1
        for (int k = s + team.lane(); k < a.n && pair; k += Team::threads) {
            if (a.order[k] == rows >> 8) p = k;
            if (a.order[k] == (rows & 255)) q = k;
        }
        p = -team.min(-p);
        q = -team.min(-q);
        return pair && rows != no_key ? Pivot{p, q} : Pivot{diagonal.position};
    }

    /// Bunch-Kaufman and rook pivoting; the search starts in position s.
    template <class T, class Team>
    static __device__ __forceinline__ Pivot choose_by_search(const Team& team,
                                                             const SymmetricMatrix<T>& a, int s,
                                                             T tau, bool alone) {
        constexpr bool rook = pivoting == Pivoting::rook;
        Pivot pivot{s};
        Largest<T> largest = largest_below<true>(team, a, s);
        const T w = fabs(a.at(s, s));
        bool searching = !alone && !is_1x1(w, largest.size, tau);
        while (team.any(searching)) {
            const int r = largest.position;
            const Largest<T> next = largest_of<rook>(team, a, s, r, [&](int k) {
                return k == r ? std::numeric_limits<T>::quiet_NaN() : a.between(k, r);
            });
            const T size = fabs(a.at(r, r));
            const T lambda = largest.size;
            const T sigma = next.size;
            const bool first = rook || !(w >= batched::pivot_alpha<T> * lambda * (lambda / sigma));
            if (searching && first) {
                const bool single = !(size < batched::pivot_alpha<T> * sigma);
                const bool move = single || (rook && sigma > lambda);
                pivot = move ? Pivot{r} : Pivot{pivot.p, r};
                searching = move && !single;
                if (searching) largest = next;
            } else {
                searching = false;
            }
            if (!rook) break;
        }
        return pivot;
    }

    template <class T, class Team>
    static __device__ __forceinline__ Pivot choose_fixed(const Team& team,
                                                         const SymmetricMatrix<T>& a, int s, T tau,
                                                         bool alone) {
        const T below = largest_below<false>(team, a, s).size;
        if (alone) return {s};
        const PivotPair<T> e{a.at(s, s), a.at(s + 1, s), a.at(s + 1, s + 1)};
        const bool small = fmax(fabs(e.e11), below) < tau;
        return !small && is_pair_pivot(e, below) ? Pivot{s, s + 1} : Pivot{s};
    }

    /// alone: the pivot is 1 x 1.
    template <class T, class Team>
    static __device__ __forceinline__ Pivot choose(const Team& team, const SymmetricMatrix<T>& a,
                                                   int s, T tau, bool alone) {
        if constexpr (full) return choose_complete(team, a, s, tau, alone);
        if constexpr (pivoting == Pivoting::fixed) return choose_fixed(team, a, s, tau, alone);
        if constexpr (!full && pivoting != Pivoting::fixed) {
            return choose_by_search(team, a, s, tau, alone);
        }
    }

    /// a_ij -= l_i m_j in the remaining rows and columns, four columns at once; for row `turned`
    /// a_ij -= m_i l_j. mark: finds the largest magnitude in each row.
    template <class T, class Team>
    static __device__ __forceinline__ void update(const Team& team, const SymmetricMatrix<T>& a,
                                                  int s, const T* m, int turned, bool mark) {
        const int step = a.column_stride;
        for (int i = s + 1 + team.lane(); i < a.n; i += Team::threads) {
            const bool turn = i == turned;
            const T l = -(turn ? m[i] : a.at(i, s));
            T* to = &a.at(i, s + 1);
            const T* from = turn ? &a.at(s + 1, s) : m + (s + 1);
            const int from_step = turn ? a.row_stride : 1;
            T largest = T(0);
            const auto update_columns = [&](int left, auto whole) {
                T value[4];
#pragma unroll
                for (int c = 0; c < 4; ++c) {
                    if (whole || c < left) value[c] = fma(l, from[c * from_step], to[c * step]);
                }
#pragma unroll
                for (int c = 0; c < 4; ++c) {
                    if (whole || c < left) to[c * step] = value[c];
                    const bool inside = c + 1 < left;  // Left of the diagonal.
                    if (full && inside && fabs(value[c]) > fabs(largest)) largest = value[c];
                }
            };
            int left = i - s;
#pragma unroll 1
            for (; left >= 4; left -= 4) {
                update_columns(left, std::true_type());
                to += 4 * step;
                from += 4 * from_step;
            }
            if (left > 0) update_columns(left, std::false_type());
            if (full && mark) a.vectors[2 * a.n + i] = fabs(largest);
        }
    }

    template <class T>
    static __device__ __noinline__ PivotPair<T> rare_threshold(PivotPair<T> e, T tau) {
        return with_threshold(e, tau);
    }
    /// What a 2 x 2 pivot leaves for its second step.
    template <class T>
    struct Pair {
        bool pending = false;
        int second = 0;  ///< Position of the second pivot.
        PivotPair<T> used{};
        PivotPair<T> inverse{};
    };

    /// Exchanges rows and columns s and p, and computes column s of L from the pivot columns, which
    /// become vectors.
    template <class T, class Team>
    static __device__ __forceinline__ void eliminate_column(const Team& team,
                                                            const SymmetricMatrix<T>& a, int s,
                                                            Pivot pivot, const Divisor<T>& divisor,
                                                            T d, bool second, const Pair<T>& pair) {
        const bool first = pivot.is_pair();
        const int p = pivot.p, q = first ? pivot.q : p;
        const int skipped = first ? pair.second : -1;
        T* const m1 = a.vectors;
        T* const m2 = a.vectors + a.n;
        // What the exchange overwrites.
        const T given = a.at(s, s);
        const T x_s = second ? m1[s] : a.between(s, p);
        const T y_s = second ? m2[s] : a.between(s, q);
        const int order_s = a.order[s], order_p = a.order[p];
        team.sync();
        const T g1 = second ? pair.inverse.e21 : pair.inverse.e11;
        const T g2 = second ? pair.inverse.e22 : pair.inverse.e21;
#pragma unroll 1
        for (int k = s + 1 + team.lane(); k < a.n; k += Team::threads) {
            const bool moved = k == p;  // The row from position s.
            T& exchanged = a.between(k, p);
            T& column = a.at(k, s);
            T x = *(second ? m1 + k : &exchanged);
            T y = *(second || moved ? m2 + k : &a.between(k, q));
            x = moved ? x_s : x;
            y = moved ? y_s : y;
            exchanged = moved ? given : column;
            T l = divisor.fast_quotient(x);
            l = first || second ? fma(g1, x, g2 * y) : l;
            column = k == skipped ? T(0) : l;
            m1[k] = x;
            m2[k] = y;
        }
        if (!divisor.in_range) {
#pragma unroll 1
            for (int k = s + 1 + team.lane(); k < a.n; k += Team::threads) {
                a.at(k, s) = divisor.ieee_quotient(m1[k]);
            }
        }
#pragma unroll 1
        for (int k = team.lane(); k < s && p != s; k += Team::threads) {
            const T l = a.at(s, k);
            a.at(s, k) = a.at(p, k);
            a.at(p, k) = l;
        }
        if (team.lane() == 0) {
            a.at(s, s) = d;
            a.order[s] = static_cast<unsigned char>(order_p);
            a.order[p] = static_cast<unsigned char>(order_s);
            m1[s] = second ? pair.used.e21 : T(0);
        }
    }

    /// Overwrites the matrix by L and D, in the order of the pivots. Element s + 1 of the pivot
    /// columns' vector is that of D in (s, s + 1). record.one(s, given, used) and record.two(s,
    /// given, used, inverse) see the pivots before and after the threshold tau.
    template <class T, class Team, class Record>
    static __device__ __forceinline__ void eliminate(const Team& team, const SymmetricMatrix<T>& a,
                                                     T tau, Record&& record) {
#pragma unroll 1
        for (int k = team.lane(); k < a.n; k += Team::threads) {
            a.order[k] = static_cast<unsigned char>(k);
            T largest = T(0);
#pragma unroll 1
            for (int j = 0; full && j < k; ++j) {
                const T size = fabs(a.at(k, j));
                largest = size > largest ? size : largest;
            }
            if (full) a.vectors[2 * a.n + k] = largest;
        }
        team.sync();
        Pair<T> pair;
#pragma unroll 1
        for (int s = 0; s < a.n; ++s) {
            const bool second = pair.pending;
            Pivot pivot = choose(team, a, s, tau, second || s + 1 >= a.n);
            if (second) pivot = {pair.second};
            T d = pair.used.e22;
            const T e11 = a.at(pivot.p, pivot.p);
            const Divisor<T> divisor(second || pivot.is_pair() ? T(1) : with_threshold(e11, tau));
            if (pivot.is_pair()) {
                const int p = pivot.p, q = pivot.q;
                const PivotPair<T> e{e11, a.between(p, q), a.at(q, q)};
                pair.used = tau > T(0) ? rare_threshold(e, tau) : e;
                pair.inverse = inverse(pair.used);
                pair.second = q == s ? p : q;
                d = pair.used.e11;
                record.two(s, e, pair.used, pair.inverse);
            } else if (!second) {
                d = divisor.d;
                record.one(s, e11, d);
            }
            pair.pending = pivot.is_pair();
            eliminate_column(team, a, s, pivot, divisor, d, second, pair);
            team.sync();
            // The second step of a 2 x 2 pivot has moved a row after the first one's update.
            update(team, a, s, second ? a.vectors + a.n : a.vectors, second ? pivot.p : -1,
                   !pair.pending);
            team.sync();
        }
    }
};

}  // namespace

}  // namespace tessera::cuda
