#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "batched/llt/llt_cpu.cpp"
#include "batched/factor_sets.hpp"
#include "batched/llt/kernels.hpp"
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

/// The position of the largest diagonal element; s where there are only NaN.
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
HWY_NOINLINE void llt_set(const FactorSet<T>& set) {
    const hn::ScalableTag<T> d;
    if (set.n <= lane_rows && set.pivoting == Pivoting::fixed) {
        for (Index k = 0; k < set.count; k += Index(hn::Lanes(d))) {
            interleave_matrices(d, set.n, set.a + k, set.a_leading_dimension, false, set.scratch);
            const auto tau = hn::Load(d, set.tau + k);
            store_lanes(d, set, k, llt_interleaved(d, set.n, set.scratch, tau));
        }
        return;
    }
    const Square<T> m = square_in(d, set.n, set.scratch);
    T* const l = m.work;
    for (Index k = 0; k < set.count; ++k) {
        load_square(d, m, set.a[k], set.a_leading_dimension, true);
        PivotRecord<T> record;
        for (Index s = 0; s < m.n; ++s) {
            if (set.pivoting == Pivoting::full) {
                exchange_symmetric(d, m, s, largest_diagonal(m, s, set.rows[k]), set.rows[k]);
            }
            const T pivot = used_pivot(m.at(s, s), set.tau[k], s, record, true);
            if (record.failed) break;
            const T root = square_root(d, pivot);
            divide_column(d, m, s, root, m.column(s), l);
            for (Index j = s + 1; j < m.n; ++j) update_column(d, m, j, s + 1, l, l[j]);
            store_column(d, m, s, root, l, false);
        }
        if (!record.failed) store_square(d, m, set.f[k], set.f_leading_dimension);
        set.note(k, record);
    }
}

}  // namespace tessera::batched::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::batched::cpu {

template <class T>
void llt(const Context& context, const FactorJob<T>& job) {
    factor_batch(context, job, Factorisation::llt, TESSERA_SIMD(context, llt_set<T>));
}

template void llt<float>(const Context&, const FactorJob<float>&);
template void llt<double>(const Context&, const FactorJob<double>&);

}  // namespace tessera::batched::cpu
#endif
