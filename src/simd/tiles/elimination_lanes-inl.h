// LDU and LL^T of equal-sized matrices interleaved across vector lanes. Included once for each
// instruction set (see simd/dispatch.hpp).
#if defined(TESSERA_SIMD_TILES_ELIMINATION_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_SIMD_TILES_ELIMINATION_LANES_INL_H_
#undef TESSERA_SIMD_TILES_ELIMINATION_LANES_INL_H_
#else
#define TESSERA_SIMD_TILES_ELIMINATION_LANES_INL_H_
#endif

#include "hwy/highway.h"
#include "simd/tiles/gauss_jordan-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Pivot records of the matrices in the lanes; positions as values of T, 0 for none.
template <class V>
struct LanePivots {
    V info, failed, perturbed, perturbation, smallest;
};

/// Static pivot perturbation: the pivots of step s, raised to the thresholds tau. 0 where the
/// reciprocal, returned in `reciprocal`, is not finite or a `positive` pivot is not positive.
template <bool positive, class D, class V = hn::Vec<D>>
HWY_INLINE V perturb_pivots(D d, V pivot, V tau, hn::TFromD<D> position, LanePivots<V>& record,
                            V& reciprocal) {
    using T = hn::TFromD<D>;
    const auto zero = hn::Zero(d);
    const auto one = hn::Set(d, T(1));
    auto size = hn::Abs(pivot);
    auto raised = hn::CopySign(tau, hn::IfThenElse(hn::Eq(pivot, zero), zero, pivot));
    auto low = hn::Lt(size, tau);
    if constexpr (positive) {
        size = pivot;
        raised = tau;
        low = hn::And(hn::And(hn::Lt(pivot, tau), hn::Gt(tau, zero)), hn::IsFinite(pivot));
    }
    record.smallest = hn::IfThenElse(hn::Lt(size, record.smallest), size, record.smallest);
    const auto change = hn::IfThenElseZero(low, hn::Abs(hn::Sub(raised, pivot)));
    record.perturbed = hn::Add(record.perturbed, hn::IfThenElseZero(low, one));
    record.perturbation = hn::Max(record.perturbation, change);
    const auto used = hn::IfThenElse(low, raised, pivot);
    reciprocal = hn::Div(one, used);
    const auto finite = hn::IsFinite(used);
    auto good = hn::And(finite, hn::IsFinite(reciprocal));
    if constexpr (positive) good = hn::And(good, hn::Gt(used, zero));
    const auto none = hn::Eq(record.info, zero);
    record.info = hn::IfThenElse(hn::AndNot(good, none), hn::Set(d, position + T(1)), record.info);
    record.failed = hn::IfThenElse(finite, record.failed, one);
    return hn::IfThenElseZero(hn::Or(good, hn::Not(finite)), used);
}

/// Factors Lanes(d) matrices of n rows in place: element (i, j) of matrix l is
/// a[(i + j n) lanes + l]; `partial`: with partial pivoting.
///   work   2 n vectors, aligned.
///   rows   n vectors, aligned: rows[s lanes + l] receives the row of matrix l in position s.
/// Lanes are independent, so a matrix's bits do not depend on its neighbours. Rows are swapped by
/// masks within the update. With `systems` right-hand sides follow as further columns, `columns` in
/// all, which become D^-1 L^-1 P times themselves, and L is left unfinished.
template <bool partial, bool systems = false, class D, class T = hn::TFromD<D>,
          class TI = hn::TFromD<hn::RebindToSigned<D>>>
HWY_NOINLINE LanePivots<hn::Vec<D>> ldu_interleaved(D d, Index n, Index columns, T* HWY_RESTRICT a,
                                                    hn::Vec<D> tau, T* HWY_RESTRICT work,
                                                    TI* HWY_RESTRICT rows) {
    const hn::RebindToSigned<D> di;
    const Index lanes = Index(hn::Lanes(d));
    const auto zero = hn::Zero(d);
    T* const m = work;                  // Multipliers.
    T* const moved = work + n * lanes;  // Masks of the destination of row s.
    LanePivots<hn::Vec<D>> record{zero, zero, zero, zero, hn::Inf(d)};
    for (Index i = 0; i < n; ++i) hn::Store(hn::Set(di, TI(i)), di, rows + i * lanes);
    for (Index s = 0; s < n; ++s) {
        T* const column = a + s * n * lanes;
        auto pivot = hn::Load(d, column + s * lanes);
        auto pivot_position =
            hn::Set(di, TI(s * lanes));  // The position of the pivot, times lanes.
        if constexpr (partial) {
            auto largest = hn::Set(d, T(-1));
            auto original = hn::Load(di, rows + s * lanes);
            const auto first = original;
            for (Index i = s; i < n; ++i) {
                const auto element = hn::Load(d, column + i * lanes);
                const auto size = hn::Abs(element);
                const auto row = hn::Load(di, rows + i * lanes);
                const auto earlier =
                    hn::And(hn::Eq(size, largest), hn::RebindMask(d, hn::Lt(row, original)));
                const auto better = hn::Or(hn::Gt(size, largest), earlier);
                const auto better_i = hn::RebindMask(di, better);
                largest = hn::IfThenElse(better, size, largest);
                pivot = hn::IfThenElse(better, element, pivot);
                original = hn::IfThenElse(better_i, row, original);
                pivot_position =
                    hn::IfThenElse(better_i, hn::Set(di, TI(i * lanes)), pivot_position);
            }
            for (Index i = s + 1; i < n; ++i) {
                const auto is_match = hn::Eq(pivot_position, hn::Set(di, TI(i * lanes)));
                hn::Store(hn::VecFromMask(d, hn::RebindMask(d, is_match)), d, moved + i * lanes);
                const auto row = hn::Load(di, rows + i * lanes);
                hn::Store(hn::IfThenElse(is_match, first, row), di, rows + i * lanes);
            }
            hn::Store(original, di, rows + s * lanes);
        }
        auto reciprocal = zero;
        const auto used = perturb_pivots<false>(d, pivot, tau, T(s), record, reciprocal);
        const auto counts = hn::Ne(used, zero);
        const auto top = hn::Load(d, column + s * lanes);
        hn::Store(used, d, column + s * lanes);
        const auto below = [&](Index i, const T* from, auto old) HWY_ATTR {
            const auto v = hn::Load(d, from + i * lanes);
            if constexpr (!partial) return v;
            return hn::IfThenElse(hn::MaskFromVec(hn::Load(d, moved + i * lanes)), old, v);
        };
        for (Index i = s + 1; i < n; ++i) {
            const auto v = divide_by_reciprocal(below(i, column, top), used, reciprocal);
            if (!systems) hn::Store(hn::IfThenElseZero(counts, v), d, column + i * lanes);
            hn::Store(hn::IfThenElseZero(counts, v), d, m + i * lanes);
        }
        const auto index = hn::Add(pivot_position, hn::Iota(di, TI(0)));
        for (Index j = partial && !systems ? 0 : s + 1; j < columns; ++j) {
            if (j == s) continue;
            T* const other = a + j * n * lanes;
            const auto old = hn::Load(d, other + s * lanes);
            auto u = old;
            if constexpr (partial) u = hn::GatherIndex(d, other, index);
            if (j < s) {  // L: rows are only swapped.
                hn::Store(u, d, other + s * lanes);
                for (Index i = s + 1; i < n; ++i) {
                    hn::Store(below(i, other, old), d, other + i * lanes);
                }
                continue;
            }
            hn::Store(hn::IfThenElseZero(counts, divide_by_reciprocal(u, used, reciprocal)), d,
                      other + s * lanes);
            for (Index i = s + 1; i < n; ++i) {
                const auto v = below(i, other, old);
                const auto l = hn::Load(d, m + i * lanes);
                hn::Store(hn::NegMulAdd(l, u, v), d, other + i * lanes);
            }
        }
    }
    return record;
}

/// Replaces the lower triangles of Lanes(d) matrices of n rows by their Cholesky factors, and the
/// upper ones by 0; element (i, j) of matrix l is a[(i + j n) lanes + l].
template <class D, class T = hn::TFromD<D>>
HWY_NOINLINE LanePivots<hn::Vec<D>> llt_interleaved(D d, Index n, T* HWY_RESTRICT a,
                                                    hn::Vec<D> tau) {
    const Index lanes = Index(hn::Lanes(d));
    const auto zero = hn::Zero(d);
    LanePivots<hn::Vec<D>> record{zero, zero, zero, zero, hn::Inf(d)};
    for (Index s = 0; s < n; ++s) {
        T* const column = a + s * n * lanes;
        auto reciprocal = zero;
        const auto pivot = hn::Load(d, column + s * lanes);
        const auto used = perturb_pivots<true>(d, pivot, tau, T(s), record, reciprocal);
        const auto counts = hn::Ne(used, zero);
        const auto root = hn::Sqrt(used);
        reciprocal = hn::Div(hn::Set(d, T(1)), root);
        for (Index i = 0; i < s; ++i) hn::Store(zero, d, column + i * lanes);
        hn::Store(root, d, column + s * lanes);
        for (Index i = s + 1; i < n; ++i) {
            const auto l = divide_by_reciprocal(hn::Load(d, column + i * lanes), root, reciprocal);
            hn::Store(hn::IfThenElseZero(counts, l), d, column + i * lanes);
        }
        for (Index j = s + 1; j < n; ++j) {
            T* const other = a + j * n * lanes;
            const auto u = hn::Load(d, column + j * lanes);
            for (Index i = j; i < n; ++i) {
                const auto l = hn::Load(d, column + i * lanes);
                hn::Store(hn::NegMulAdd(l, u, hn::Load(d, other + i * lanes)), d,
                          other + i * lanes);
            }
        }
    }
    return record;
}

/// y := U^-1 y with the unit triangle of ldu_interleaved; element i of the vector of lane l is
/// y[i lanes + l].
template <class D, class T = hn::TFromD<D>>
HWY_NOINLINE void substitute_ldu(D d, Index n, const T* HWY_RESTRICT a, T* HWY_RESTRICT y) {
    const Index lanes = Index(hn::Lanes(d));
    for (Index j = n - 1; j > 0; --j) {
        const auto value = hn::Load(d, y + j * lanes);
        for (Index i = 0; i < j; ++i) {
            const auto entry = hn::Load(d, a + (i + j * n) * lanes);
            hn::Store(hn::NegMulAdd(entry, value, hn::Load(d, y + i * lanes)), d, y + i * lanes);
        }
    }
}

/// y := A^-1 y with the factors of llt_interleaved.
template <class D, class T = hn::TFromD<D>>
HWY_NOINLINE void substitute_llt(D d, Index n, const T* HWY_RESTRICT a, T* HWY_RESTRICT y) {
    const Index lanes = Index(hn::Lanes(d));
    for (Index j = 0; j < n; ++j) {
        const T* HWY_RESTRICT column = a + j * n * lanes;
        const auto value = hn::Div(hn::Load(d, y + j * lanes), hn::Load(d, column + j * lanes));
        hn::Store(value, d, y + j * lanes);
        for (Index i = j + 1; i < n; ++i) {
            const auto entry = hn::Load(d, column + i * lanes);
            hn::Store(hn::NegMulAdd(entry, value, hn::Load(d, y + i * lanes)), d, y + i * lanes);
        }
    }
    for (Index j = n - 1; j >= 0; --j) {
        const T* HWY_RESTRICT column = a + j * n * lanes;
        auto sum = hn::Load(d, y + j * lanes);
        for (Index i = j + 1; i < n; ++i) {
            const auto entry = hn::Load(d, column + i * lanes);
            sum = hn::NegMulAdd(entry, hn::Load(d, y + i * lanes), sum);
        }
        hn::Store(hn::Div(sum, hn::Load(d, column + j * lanes)), d, y + j * lanes);
    }
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
