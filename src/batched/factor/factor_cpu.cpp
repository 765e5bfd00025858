#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "batched/factor/factor_cpu.cpp"
#include "batched/factor/factor_sets.hpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "simd/dispatch.hpp"
#include "simd/tiles/elimination-inl.h"
#include "simd/tiles/elimination_lanes-inl.h"
#include "simd/tiles/interleave-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::batched::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace tessera::cpu::HWY_NAMESPACE;

/// Writes the factors and records of the matrices first .. first + Lanes(d) - 1 of a set, which are
/// interleaved in the scratch memory.
template <class D, class T>
HWY_INLINE void store_interleaved(D d, FactorSet<T>& set, Index first,
                                  const LanePivots<hn::Vec<D>>& pivots) {
    const Index lanes = Index(hn::Lanes(d));
    HWY_ALIGN T fields[5][hn::MaxLanes(D())];
    hn::Store(pivots.info, d, fields[0]);
    hn::Store(pivots.failed, d, fields[1]);
    hn::Store(pivots.perturbed, d, fields[2]);
    hn::Store(pivots.perturbation, d, fields[3]);
    hn::Store(pivots.smallest, d, fields[4]);
    const Index count = set.count - first < lanes ? set.count - first : lanes;
    deinterleave_matrices(d, count, set.n, set.scratch, set.f_leading_dimension, false,
                          set.f + first);
    for (Index lane = 0; lane < count; ++lane) {
        PivotRecord<T> record;
        record.info = Index(fields[0][lane]);
        if (fields[1][lane] != T(0)) {
            record.fail(record.info - 1);
        } else {
            record.perturbed = Index(fields[2][lane]);
            record.perturbation = fields[3][lane];
            record.smallest = fields[4][lane];
        }
        set.record(first + lane, record);
    }
}

/// Chooses the pivot of step s and exchanges it to position s.
template <class D, class T>
HWY_INLINE void swap_in_pivot(D d, const Square<T>& m, Pivoting pivoting, Index s, Index* p,
                              Index* q) {
    if (pivoting == Pivoting::fixed) return;
    Index r = s;
    if (pivoting == Pivoting::full) {
        const auto largest = largest_of_rest(d, m, s, true, p, q);
        r = largest.row;
        swap_columns(d, m, s, largest.column);
        const Index column = q[s];
        q[s] = q[largest.column];
        q[largest.column] = column;
    } else {
        r = largest_in_column(d, m, s, s, -1, p).position;
    }
    swap_rows(m, s, r);
    const Index row = p[s];
    p[s] = p[r];
    p[r] = row;
}

/// Divides the rows of U by the pivots and writes the factors.
template <class D, class T>
HWY_INLINE void store_factors(D d, const Square<T>& m, T* pivots, T* f, Offset ld) {
    const hn::RebindToSigned<D> di;
    using TI = hn::TFromD<decltype(di)>;
    const Index lanes = Index(hn::Lanes(d));
    T* const reciprocals = m.work;
    for (Index i = m.n; i < m.rows; ++i) pivots[i] = T(1);
    for (Index i = 0; i < m.rows; i += lanes) {
        hn::Store(hn::Div(hn::Set(d, T(1)), hn::Load(d, pivots + i)), d, reciprocals + i);
    }
    for (Index j = 0; j < m.n; ++j) {
        T* HWY_RESTRICT to = f + j * ld;
        Index i = 0;
        for (; i < m.rows; i += lanes) {
            auto v = hn::Load(d, m.column(j) + i);
            if (i < j) {
                const auto by = hn::Load(d, pivots + i);
                const auto above = hn::Lt(hn::Iota(di, TI(i)), hn::Set(di, TI(j)));
                const auto quotient =
                    hn::IfThenZeroElse(hn::Eq(by, hn::Zero(d)),
                                       divide_by_reciprocal(v, by, hn::Load(d, reciprocals + i)));
                v = hn::IfThenElse(hn::RebindMask(d, above), quotient, v);
            }
            if (i + lanes <= m.n) {
                hn::StoreU(v, d, to + i);
                continue;
            }
            hn::Store(v, d, m.largest);
            for (Index k = i; k < m.n; ++k) to[k] = m.largest[k - i];
        }
    }
}

/// LDU of the matrices first .. first + Lanes(d) - 1, one per SIMD lane.
template <class T>
HWY_INLINE void ldu_interleaved_set(FactorSet<T>& set, Index first) {
    const hn::ScalableTag<T> d;
    using D = decltype(d);
    using TI = hn::TFromD<hn::RebindToSigned<D>>;
    const Index lanes = Index(hn::Lanes(d));
    const Index n = set.n;
    T* const a = set.scratch;
    T* const work = a + n * n * lanes;
    HWY_ALIGN TI rows[max_interleaved_rows * hn::MaxLanes(D())];
    interleave_matrices(d, n, set.a + first, set.a_leading_dimension, false, a);
    const auto tau = hn::Load(d, set.tau + first);
    const auto pivots = set.pivoting == Pivoting::fixed
                            ? ldu_interleaved<false>(d, n, n, a, tau, work, rows)
                            : ldu_interleaved<true>(d, n, n, a, tau, work, rows);
    store_interleaved(d, set, first, pivots);
    for (Index k = first; k < set.count && k < first + lanes; ++k) {
        for (Index s = 0; s < n; ++s) set.rows[k][s] = Index(rows[s * lanes + k - first]);
    }
}

template <class T>
HWY_NOINLINE void ldu_set(FactorSet<T>& set) {
    const hn::ScalableTag<T> d;
    if (set.n <= max_interleaved_rows && set.pivoting != Pivoting::full) {
        for (Index k = 0; k < set.count; k += Index(hn::Lanes(d))) ldu_interleaved_set(set, k);
        return;
    }
    const Square<T> m = make_square(d, set.n, set.scratch);
    T* const l = m.work;
    T* const pivots = m.work + m.rows;
    for (Index k = 0; k < set.count; ++k) {
        load_square(d, m, set.a[k], set.a_leading_dimension, false);
        PivotRecord<T> record;
        for (Index s = 0; s < m.n; ++s) {
            swap_in_pivot(d, m, set.pivoting, s, set.rows[k], set.columns[k]);
            const T pivot = pivot_after_threshold(m.at(s, s), set.tau[k], s, record);
            if (record.failed) break;
            divide_column(d, m, s, pivot, m.column(s), l);
            for (Index j = s + 1; j < m.n; ++j) update_column(d, m, j, s + 1, l, m.at(s, j));
            store_column(d, m, s, pivot, l, true);
            pivots[s] = pivot;
        }
        if (!record.failed) {
            store_factors(d, m, pivots, set.f[k], set.f_leading_dimension);
        }
        set.record(k, record);
    }
}

/// The position of the largest diagonal element; s if all are NaN.
template <class T>
HWY_INLINE Index largest_diagonal(const Square<T>& m, Index s, const Index* original) {
    Index r = s;
    for (Index i = s + 1; i < m.n; ++i) {
        const T best = m.at(r, r);
        const T value = m.at(i, i);
        const bool earlier = value == best && original[i] < original[r];
        if (value > best || earlier || best != best) r = i;
    }
    return r;
}

template <class T>
HWY_NOINLINE void llt_set(FactorSet<T>& set) {
    const hn::ScalableTag<T> d;
    if (set.n <= max_interleaved_rows && set.pivoting == Pivoting::fixed) {
        for (Index k = 0; k < set.count; k += Index(hn::Lanes(d))) {
            interleave_matrices(d, set.n, set.a + k, set.a_leading_dimension, false, set.scratch);
            const auto tau = hn::Load(d, set.tau + k);
            store_interleaved(d, set, k, llt_interleaved(d, set.n, set.scratch, tau));
        }
        return;
    }
    const Square<T> m = make_square(d, set.n, set.scratch);
    T* const l = m.work;
    for (Index k = 0; k < set.count; ++k) {
        load_square(d, m, set.a[k], set.a_leading_dimension, true);
        PivotRecord<T> record;
        for (Index s = 0; s < m.n; ++s) {
            if (set.pivoting == Pivoting::full) {
                swap_symmetric(d, m, s, largest_diagonal(m, s, set.rows[k]), set.rows[k]);
            }
            const T pivot = pivot_after_threshold(m.at(s, s), set.tau[k], s, record, true);
            if (record.failed) break;
            const T root = square_root(d, pivot);
            divide_column(d, m, s, root, m.column(s), l);
            for (Index j = s + 1; j < m.n; ++j) update_column(d, m, j, s + 1, l, l[j]);
            store_column(d, m, s, root, l, false);
        }
        if (!record.failed) store_square(d, m, set.f[k], set.f_leading_dimension);
        set.record(k, record);
    }
}

template <class T>
HWY_INLINE T magnitude(T value) {
    return value < T(0) ? -value : value;
}
template <class T>
HWY_INLINE bool has_reciprocal(T size) {
    return T(1) / size - T(1) / size == T(0);
}

/// The position of a pivot, or both positions of a 2 x 2 pivot.
struct PivotChoice {
    Index first;
    Index second = -1;
};

template <class D, class T>
HWY_INLINE PivotChoice choose_complete(D d, const Square<T>& m, Index s, T tau, const Index* p) {
    T mu1 = T(-1);
    Index r = s;
    for (Index i = s; i < m.n; ++i) {
        const T size = magnitude(m.at(i, i));
        if (size > mu1 || (size == mu1 && p[i] < p[r])) {
            mu1 = size;
            r = i;
        }
    }
    if (s + 1 == m.n) return {r};
    const auto largest = largest_of_rest(d, m, s, false, p, p);
    const T mu0 = largest.size;
    const bool pair = mu1 < pivot_alpha<T> * mu0 && (mu0 >= tau || mu1 >= tau) &&
                      has_reciprocal(mu0) && largest.row != largest.column;
    return pair ? PivotChoice{largest.row, largest.column} : PivotChoice{r};
}

template <class D, class T>
HWY_INLINE PivotChoice choose_static(D d, const Square<T>& m, Index s, T tau) {
    if (s + 1 == m.n) return {s};
    const T below = hn::GetLane(hn::MaxOfLanes(d, largest_lanes(d, m, s, s, s)));
    if (magnitude(m.at(s, s)) < tau && below < tau) return {s};
    const PivotPair<T> e{m.at(s, s), m.at(s + 1, s), m.at(s + 1, s + 1)};
    return is_pair_pivot(e, below) ? PivotChoice{s, s + 1} : PivotChoice{s};
}

/// Bunch-Kaufman (Higham, Algorithm 11.2) and rook (Algorithm 11.5) pivoting.
template <class D, class T>
HWY_INLINE PivotChoice choose_by_search(D d, const Square<T>& m, Index s, bool rook, T tau,
                                        const Index* original) {
    const T alpha = pivot_alpha<T>;
    Index p = s;
    auto [lambda, r] = largest_in_column(d, m, p, s, p, original);
    const T w = magnitude(m.at(p, p));
    if (!(w < alpha * lambda) || (w < tau && lambda < tau) || !has_reciprocal(lambda)) return {p};
    for (;;) {
        const auto [sigma, t] = largest_in_column(d, m, r, s, r, original);
        if (!rook && w >= alpha * lambda * (lambda / sigma)) return {p};
        if (!(magnitude(m.at(r, r)) < alpha * sigma)) return {r};
        if (!rook || !(sigma > lambda)) return {p, r};
        p = r;
        lambda = sigma;
        r = t;
    }
}

template <class D, class T>
HWY_INLINE PivotChoice choose_pivot(D d, const Square<T>& m, Pivoting pivoting, Index s, T tau,
                                    const Index* p) {
    switch (pivoting) {
        case Pivoting::full:
            return choose_complete(d, m, s, tau, p);
        case Pivoting::rook:
            return choose_by_search(d, m, s, true, tau, p);
        case Pivoting::bunch_kaufman:
            return choose_by_search(d, m, s, false, tau, p);
        default:
            return choose_static(d, m, s, tau);
    }
}

template <class D, class T>
HWY_INLINE void eliminate_1x1(D d, const Square<T>& m, Index s, T pivot) {
    T* const l = m.work;
    const T* const c = m.column(s);
    divide_column(d, m, s, pivot, c, l);
    const Index last = pivot == T(0) ? s : m.n;
    for (Index j = s + 1; j < last; ++j) update_column(d, m, j, s + 1, l, c[j]);
    store_column(d, m, s, pivot, l, false);
}

/// The off-diagonal element of a 2 x 2 pivot. Its two copies differ by rounding errors; the larger
/// one bounds all elements that full pivoting compared it with.
template <class T>
HWY_INLINE T off_diagonal(const Square<T>& m, Index s) {
    const T lower = m.at(s + 1, s);
    const T upper = m.at(s, s + 1);
    return magnitude(upper) > magnitude(lower) ? upper : lower;
}

/// (l1, l2) = (c1, c2) E^-1 below the pivot, 0 down to it; then a_ij -= c1_i l1_j + c2_i l2_j.
template <class D, class T>
HWY_INLINE void eliminate_2x2(D d, const Square<T>& m, Index s, const PivotPair<T>& e) {
    const hn::RebindToSigned<D> di;
    using TI = hn::TFromD<decltype(di)>;
    const Index lanes = Index(hn::Lanes(d));
    T* const l1 = m.work;
    T* const l2 = m.work + m.rows;
    T* const c1 = m.column(s);
    T* const c2 = m.column(s + 1);
    const PivotPair<T> g = inverse(e);
    const auto g11 = hn::Set(d, g.e11);
    const auto g21 = hn::Set(d, g.e21);
    const auto g22 = hn::Set(d, g.e22);
    for (Index i = 0; i < m.rows; i += lanes) {
        const auto below = hn::RebindMask(d, hn::Gt(hn::Iota(di, TI(i)), hn::Set(di, TI(s + 1))));
        const auto x1 = hn::Load(d, c1 + i);
        const auto x2 = hn::Load(d, c2 + i);
        hn::Store(hn::IfThenElseZero(below, hn::MulAdd(g11, x1, hn::Mul(g21, x2))), d, l1 + i);
        hn::Store(hn::IfThenElseZero(below, hn::MulAdd(g21, x1, hn::Mul(g22, x2))), d, l2 + i);
    }
    const Index first = (s + 2) / lanes * lanes;
    for (Index j = s + 2; j < m.n; ++j) {
        T* HWY_RESTRICT column = m.column(j);
        const auto u1 = hn::Set(d, c1[j]);
        const auto u2 = hn::Set(d, c2[j]);
        for (Index i = first; i < m.rows; i += lanes) {
            const auto v = hn::NegMulAdd(hn::Load(d, l1 + i), u1, hn::Load(d, column + i));
            hn::Store(hn::NegMulAdd(hn::Load(d, l2 + i), u2, v), d, column + i);
        }
    }
    store_column(d, m, s, e.e11, l1, false);
    store_column(d, m, s + 1, e.e22, l2, false);
    m.at(s, s + 1) = e.e21;
}

template <class T>
HWY_NOINLINE void ldlt_set(FactorSet<T>& set) {
    const hn::ScalableTag<T> d;
    const Square<T> m = make_square(d, set.n, set.scratch);
    for (Index k = 0; k < set.count; ++k) {
        Index* const p = set.rows[k];
        const T tau = set.tau[k];
        load_square(d, m, set.a[k], set.a_leading_dimension, true);
        PivotRecord<T> record;
        for (Index s = 0; s < m.n;) {
            const PivotChoice choice = choose_pivot(d, m, set.pivoting, s, tau, p);
            swap_symmetric(d, m, s, choice.first, p);
            if (choice.second < 0) {
                const T pivot = pivot_after_threshold(m.at(s, s), tau, s, record);
                if (record.failed) break;
                eliminate_1x1(d, m, s, pivot);
                ++s;
                continue;
            }
            // The row from position s is now where the first pivot row was.
            swap_symmetric(d, m, s + 1, choice.second == s ? choice.first : choice.second, p);
            const PivotPair<T> given{m.at(s, s), off_diagonal(m, s), m.at(s + 1, s + 1)};
            const PivotPair<T> e = pivot_after_threshold(given, tau, s, record);
            if (record.failed) break;
            eliminate_2x2(d, m, s, e);
            s += 2;
        }
        if (!record.failed) store_square(d, m, set.f[k], set.f_leading_dimension);
        set.record(k, record);
    }
}

}  // namespace tessera::batched::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::batched::cpu {

template <class T>
void factorise(const Context& context, const FactorJob<T>& job) {
    factor_batch(context, job,
                 job.factorisation == Factorisation::ldu   ? TESSERA_SIMD(context, ldu_set<T>)
                 : job.factorisation == Factorisation::llt ? TESSERA_SIMD(context, llt_set<T>)
                                                           : TESSERA_SIMD(context, ldlt_set<T>));
}

template decltype(factorise<float>) factorise<float>;
template decltype(factorise<double>) factorise<double>;

}  // namespace tessera::batched::cpu
#endif
