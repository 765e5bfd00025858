#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "batched/ldu/ldu_cpu.cpp"
#include "batched/factor_sets.hpp"
#include "batched/ldu/kernels.hpp"
#include "batched/pivot_record.hpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "simd/dispatch.hpp"
#include "simd/tiles/elimination-inl.h"

// Below foreach_target.h, which includes this file again for every instruction set.
#include "batched/factor_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::batched::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace tessera::cpu::HWY_NAMESPACE;

/// Brings the pivot of step s to position s.
template <class D, class T>
HWY_INLINE void exchange_for_pivot(D d, const Square<T>& m, Pivoting pivoting, Index s, Index* p,
                                   Index* q) {
    if (pivoting == Pivoting::fixed) return;
    Index r = s;
    if (pivoting == Pivoting::full) {
        const auto found = largest_of_rest(d, m, s, true, p, q);
        r = found.row;
        exchange_columns(d, m, s, found.column);
        const Index column = q[s];
        q[s] = q[found.column];
        q[found.column] = column;
    } else {
        r = largest_in_column(d, m, s, s, -1, p).position;
    }
    exchange_rows(m, s, r);
    const Index row = p[s];
    p[s] = p[r];
    p[r] = row;
}

/// Scales the rows of U by the pivots and writes the factors.
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
                const auto quotient = hn::IfThenZeroElse(
                    hn::Eq(by, hn::Zero(d)), divide(v, by, hn::Load(d, reciprocals + i)));
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

/// Factors members first .. first + Lanes(d) - 1, one in each lane.
template <class T>
HWY_INLINE void ldu_lanes(const FactorSet<T>& set, Index first) {
    const hn::ScalableTag<T> d;
    using D = decltype(d);
    using TI = hn::TFromD<hn::RebindToSigned<D>>;
    const Index lanes = Index(hn::Lanes(d));
    const Index n = set.n;
    T* const a = set.scratch;
    T* const work = a + n * n * lanes;
    HWY_ALIGN TI rows[lane_rows * hn::MaxLanes(D())];
    interleave_matrices(d, n, set.a + first, set.a_leading_dimension, false, a);
    const auto tau = hn::Load(d, set.tau + first);
    const auto pivots = set.pivoting == Pivoting::fixed
                            ? ldu_interleaved<false>(d, n, a, tau, work, rows)
                            : ldu_interleaved<true>(d, n, a, tau, work, rows);
    store_lanes(d, set, first, pivots);
    for (Index k = first; k < set.count && k < first + lanes; ++k) {
        for (Index s = 0; s < n; ++s) set.rows[k][s] = Index(rows[s * lanes + k - first]);
    }
}

template <class T>
HWY_NOINLINE void ldu_set(const FactorSet<T>& set) {
    const hn::ScalableTag<T> d;
    if (set.n <= lane_rows && set.pivoting != Pivoting::full) {
        for (Index k = 0; k < set.count; k += Index(hn::Lanes(d))) ldu_lanes(set, k);
        return;
    }
    const Square<T> m = square_in(d, set.n, set.scratch);
    T* const l = m.work;
    T* const pivots = m.work + m.rows;
    for (Index k = 0; k < set.count; ++k) {
        load_square(d, m, set.a[k], set.a_leading_dimension, false);
        PivotRecord<T> record;
        for (Index s = 0; s < m.n; ++s) {
            exchange_for_pivot(d, m, set.pivoting, s, set.rows[k], set.columns[k]);
            const T pivot = used_pivot(m.at(s, s), set.tau[k], s, record);
            if (record.failed) break;
            divide_column(d, m, s, pivot, m.column(s), l);
            for (Index j = s + 1; j < m.n; ++j) update_column(d, m, j, s + 1, l, m.at(s, j));
            store_column(d, m, s, pivot, l, true);
            pivots[s] = pivot;
        }
        if (!record.failed) {
            store_factors(d, m, pivots, set.f[k], set.f_leading_dimension);
        }
        set.note(k, record);
    }
}

}  // namespace tessera::batched::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::batched::cpu {

template <class T>
void ldu(const Context& context, const FactorJob<T>& job) {
    factor_batch(context, job, Factorisation::ldu, TESSERA_SIMD(context, ldu_set<T>));
}

template void ldu<float>(const Context&, const FactorJob<float>&);
template void ldu<double>(const Context&, const FactorJob<double>&);

}  // namespace tessera::batched::cpu
#endif
