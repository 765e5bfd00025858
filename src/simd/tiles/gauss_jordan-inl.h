// Gauss-Jordan inversion of equal-sized blocks interleaved across vector lanes. Included once for
// each instruction set (see simd/dispatch.hpp).
#if defined(TESSERA_SIMD_TILES_GAUSS_JORDAN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_SIMD_TILES_GAUSS_JORDAN_INL_H_
#undef TESSERA_SIMD_TILES_GAUSS_JORDAN_INL_H_
#else
#define TESSERA_SIMD_TILES_GAUSS_JORDAN_INL_H_
#endif

#include "hwy/highway.h"
#include "tessera/types.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// a / d for |a| <= |d| from the reciprocal r of d: with FMA one correction of the product a r
/// gives the rounded quotient (Markstein), exact if the quotient is representable, much faster than
/// a division. The product alone is not sufficient: 49 * (1 / 49) is not 1, equal rows would not
/// cancel, and singular blocks would pass.
template <class V>
HWY_INLINE V divide_by_reciprocal(V a, V d, V r) {
#if HWY_NATIVE_FMA
    const V q = hn::Mul(a, r);
    return hn::MulAdd(hn::NegMulAdd(q, d, a), r, q);
#else
    static_cast<void>(r);
    return hn::Div(a, d);
#endif
}

/// Columns j .. j + columns - 1 of the rank-1 update: a_ij = mask_i a_ij + m_i p_j.
template <int columns, class D, class T>
HWY_INLINE void update_columns(D d, Index n, const T* mask, const T* m, const T* pivot_row, T* a) {
    const Index lanes = Index(hn::Lanes(d));
    const Index column = n * lanes;
    auto p0 = hn::Load(d, pivot_row);
    auto p1 = p0, p2 = p0, p3 = p0;
    if constexpr (columns == 4) {
        p1 = hn::Load(d, pivot_row + lanes);
        p2 = hn::Load(d, pivot_row + 2 * lanes);
        p3 = hn::Load(d, pivot_row + 3 * lanes);
    }
    for (Index i = 0; i < n; ++i) {
        const auto mask_i = hn::Load(d, mask + i * lanes);
        const auto m_i = hn::Load(d, m + i * lanes);
        const auto update = [&](T* element, auto p) HWY_ATTR {
            hn::Store(hn::MulAdd(m_i, p, hn::And(mask_i, hn::Load(d, element))), d, element);
        };
        T* row = a + i * lanes;
        update(row, p0);
        if constexpr (columns == 4) {
            update(row + column, p1);
            update(row + 2 * column, p2);
            update(row + 3 * column, p3);
        }
    }
}

/// Zero in the lanes whose values in all `count` vectors at `a` are finite, NaN in the others.
template <class D, class T>
HWY_INLINE hn::Vec<D> check_finite(D d, Index count, const T* a) {
    const Index lanes = Index(hn::Lanes(d));
    const auto zero = hn::Zero(d);
    auto check0 = zero, check1 = zero, check2 = zero, check3 = zero;
    Index e = 0;
    for (; e + 4 <= count; e += 4) {
        const T* from = a + e * lanes;
        check0 = hn::MulAdd(hn::Load(d, from), zero, check0);
        check1 = hn::MulAdd(hn::Load(d, from + lanes), zero, check1);
        check2 = hn::MulAdd(hn::Load(d, from + 2 * lanes), zero, check2);
        check3 = hn::MulAdd(hn::Load(d, from + 3 * lanes), zero, check3);
    }
    for (; e < count; ++e) check0 = hn::MulAdd(hn::Load(d, a + e * lanes), zero, check0);
    return hn::Add(hn::Add(check0, check1), hn::Add(check2, check3));
}

/// Sets `first_failed` to k + 1 in the lanes where it is 0 and the pivot of step k, or its
/// reciprocal, is not finite.
template <class D, class V = hn::Vec<D>, class I>
HWY_INLINE void check_pivot(D, V pivot, V reciprocal, Index k, I& first_failed) {
    const hn::RebindToSigned<D> di;
    const auto good = hn::And(hn::IsFinite(pivot), hn::IsFinite(reciprocal));
    const auto newly_failed =
        hn::AndNot(hn::RebindMask(di, good), hn::Eq(first_failed, hn::Zero(di)));
    first_failed =
        hn::IfThenElse(newly_failed, hn::Set(di, hn::TFromD<decltype(di)>(k + 1)), first_failed);
}

/// Stores first_failed, or n in the lanes where it is 0 but `check` of the inverse is NaN.
template <class D, class V = hn::Vec<D>, class I, class TI>
HWY_INLINE void store_info(D d, V check, Index n, I first_failed, TI* info) {
    const hn::RebindToSigned<D> di;
    const auto finite = hn::RebindMask(di, hn::Eq(check, hn::Zero(d)));
    const auto overflow = hn::AndNot(finite, hn::Eq(first_failed, hn::Zero(di)));
    hn::Store(hn::IfThenElse(overflow, hn::Set(di, TI(n)), first_failed), di, info);
}

/// Working vectors of invert_interleaved, besides the blocks: 4 n vectors.
inline constexpr Index gauss_jordan_work_vectors = 4;

/// Inverts Lanes(d) blocks of n rows by Gauss-Jordan elimination with implicit partial pivoting
/// among rows (Anzt et al., Fig. 2). Element (i, j) of block l is a[(i + j n) lanes + l].
///   work    gauss_jordan_work_vectors * n vectors, aligned.
///   steps   steps[k lanes + l] receives lanes times the pivot row p_k of block l in step k; the
///           inverse is X(k, p_j) = A(p_k, j) with the final A.
///   info    per lane 0, or k where the k-th pivot (1-based), or its reciprocal, is zero or not
///           finite, or n if only an entry of the inverse is not finite; A is then undefined,
///           steps are still rows.
/// The pivot row is not swapped but part of the rank-1 update: with its old content masked out and
/// the multiplier 1/d it becomes pivot_row / d. Lanes are independent, so a block's bits do not
/// depend on its neighbours.
template <class D, class T = hn::TFromD<D>, class DI = hn::RebindToSigned<D>,
          class TI = hn::TFromD<DI>>
HWY_NOINLINE void invert_interleaved(D d, Index n, T* HWY_RESTRICT a, T* HWY_RESTRICT work,
                                     TI* HWY_RESTRICT steps, TI* HWY_RESTRICT info) {
    const DI di;
    const Index lanes = Index(hn::Lanes(d));
    T* mask = work;                       // All ones, or zeros in the pivot row.
    T* m = work + n * lanes;              // Multipliers; column k of the inverse.
    T* pivot_row = work + 2 * n * lanes;  // The pivot row before its scaling.
    T* pivoted = work + 3 * n * lanes;    // Sign bit set in rows that were pivot rows.
    const auto zero = hn::Zero(d);
    const auto one = hn::Set(d, T(1));
    const auto sign = hn::Set(d, T(-0.0));
    const auto ones = hn::BitCast(d, hn::Set(di, TI(-1)));
    const auto lane = hn::Iota(di, 0);
    for (Index i = 0; i < n; ++i) hn::Store(zero, d, pivoted + i * lanes);
    auto first_failed = hn::Zero(di);

    for (Index k = 0; k < n; ++k) {
        // The first largest magnitude; former pivot rows count as negative. The pivot stays 0 if
        // there is none.
        const T* column = a + k * n * lanes;
        auto largest = zero;
        auto pivot = zero;
        auto row = hn::Zero(di);
        for (Index i = 0; i < n; ++i) {
            const auto element = hn::Load(d, column + i * lanes);
            const auto size = hn::Or(hn::Abs(element), hn::Load(d, pivoted + i * lanes));
            const auto larger = hn::Gt(size, largest);
            largest = hn::IfThenElse(larger, size, largest);
            pivot = hn::IfThenElse(larger, element, pivot);
            row = hn::IfThenElse(hn::RebindMask(di, larger), hn::Set(di, TI(i * lanes)), row);
        }
        hn::Store(row, di, steps + k * lanes);
        const auto reciprocal = hn::Div(one, pivot);
        check_pivot(d, pivot, reciprocal, k, first_failed);

        for (Index i = 0; i < n; ++i) {
            const auto is_pivot = hn::RebindMask(d, hn::Eq(row, hn::Set(di, TI(i * lanes))));
            const auto multiplier =
                hn::Neg(divide_by_reciprocal(hn::Load(d, column + i * lanes), pivot, reciprocal));
            hn::Store(hn::IfThenElse(is_pivot, reciprocal, multiplier), d, m + i * lanes);
            hn::Store(hn::IfThenZeroElse(is_pivot, ones), d, mask + i * lanes);
            const auto was_pivoted = hn::Load(d, pivoted + i * lanes);
            hn::Store(hn::IfThenElse(is_pivot, sign, was_pivoted), d, pivoted + i * lanes);
        }
        const auto offsets = hn::Add(row, lane);
        for (Index j = 0; j < n; ++j) {
            hn::Store(hn::GatherIndex(d, a + j * n * lanes, offsets), d, pivot_row + j * lanes);
        }
        Index j = 0;
        for (; j + 4 <= n; j += 4) {
            update_columns<4>(d, n, mask, m, pivot_row + j * lanes, a + j * n * lanes);
        }
        for (; j < n; ++j) {
            update_columns<1>(d, n, mask, m, pivot_row + j * lanes, a + j * n * lanes);
        }
        for (Index i = 0; i < n; ++i) {
            hn::Store(hn::Load(d, m + i * lanes), d, a + (k * n + i) * lanes);
        }
    }
    store_info(d, check_finite(d, n * n, a), n, first_failed, info);
}

/// Swaps two values in the lanes of a mask.
template <class M, class V>
HWY_INLINE void swap_where(M where, V& a, V& b) {
    const V old = a;
    a = hn::IfThenElse(where, b, a);
    b = hn::IfThenElse(where, old, b);
}

/// Inverts Lanes(d) matrices of n rows in place by Gauss-Jordan elimination with partial pivoting
/// among rows. Element (i, j) of matrix l is a[(i + j n) lanes + l]. In each
/// lane row k is swapped with every row of a larger element in turn; the columns of the inverse are
/// swapped back in reverse order. `info` as in invert_interleaved.
template <Index n, class D, class T = hn::TFromD<D>, class DI = hn::RebindToSigned<D>,
          class TI = hn::TFromD<DI>>
HWY_NOINLINE void invert_registers(D d, T* HWY_RESTRICT matrices, TI* HWY_RESTRICT info) {
    const DI di;
    using V = hn::Vec<D>;
    const Index lanes = Index(hn::Lanes(d));
    const V one = hn::Set(d, T(1));
    V a[n * n];
    hn::Mask<D> swapped[n * n];  // Whether rows k and i were swapped, at i + k n.
#pragma GCC unroll 64
    for (Index e = 0; e < n * n; ++e) a[e] = hn::Load(d, matrices + e * lanes);
    auto first_failed = hn::Zero(di);

#pragma GCC unroll 8
    for (Index k = 0; k < n; ++k) {
#pragma GCC unroll 8
        for (Index i = k + 1; i < n; ++i) {
            const auto larger = hn::Gt(hn::Abs(a[i + k * n]), hn::Abs(a[k + k * n]));
            swapped[i + k * n] = larger;
#pragma GCC unroll 8
            for (Index j = 0; j < n; ++j) swap_where(larger, a[k + j * n], a[i + j * n]);
        }
        const V pivot = a[k + k * n];
        const V reciprocal = hn::Div(one, pivot);
        check_pivot(d, pivot, reciprocal, k, first_failed);
#pragma GCC unroll 8
        for (Index i = 0; i < n; ++i) {
            if (i == k) continue;
            const V multiplier = hn::Neg(divide_by_reciprocal(a[i + k * n], pivot, reciprocal));
            a[i + k * n] = multiplier;
#pragma GCC unroll 8
            for (Index j = 0; j < n; ++j) {
                if (j != k) a[i + j * n] = hn::MulAdd(multiplier, a[k + j * n], a[i + j * n]);
            }
        }
#pragma GCC unroll 8
        for (Index j = 0; j < n; ++j) {
            a[k + j * n] = j == k ? reciprocal : hn::Mul(a[k + j * n], reciprocal);
        }
    }
#pragma GCC unroll 8
    for (Index k = n - 1; k >= 0; --k) {
#pragma GCC unroll 8
        for (Index i = n - 1; i > k; --i) {
#pragma GCC unroll 8
            for (Index row = 0; row < n; ++row) {
                swap_where(swapped[i + k * n], a[row + k * n], a[row + i * n]);
            }
        }
    }
    V check = hn::Zero(d);
#pragma GCC unroll 64
    for (Index e = 0; e < n * n; ++e) {
        check = hn::MulAdd(a[e], hn::Zero(d), check);
        hn::Store(a[e], d, matrices + e * lanes);
    }
    store_info(d, check, n, first_failed, info);
}

/// Largest n of invert_registers.
inline constexpr Index max_register_rows = 6;

/// invert_registers for n = 1..max_register_rows, known at run time.
template <Index rows = 1, class D, class T = hn::TFromD<D>,
          class TI = hn::TFromD<hn::RebindToSigned<D>>>
HWY_INLINE void invert_registers(D d, Index n, T* a, TI* info) {
    if constexpr (rows < max_register_rows) {
        if (n > rows) return invert_registers<rows + 1>(d, n, a, info);
    }
    invert_registers<rows>(d, a, info);
}

/// max_i sum_j |a_ij| in each lane, of n columns of `rows` vectors each; sums in ascending order of
/// the columns.
template <class D, class T>
HWY_INLINE hn::Vec<D> row_sum_norm(D d, Index rows, Index n, const T* HWY_RESTRICT a) {
    const Index lanes = Index(hn::Lanes(d));
    auto norm = hn::Zero(d);
    for (Index i = 0; i < rows; ++i) {
        auto sum = hn::Zero(d);
        for (Index j = 0; j < n; ++j) {
            sum = hn::Add(sum, hn::Abs(hn::Load(d, a + (i + j * rows) * lanes)));
        }
        norm = hn::Max(norm, sum);
    }
    return norm;
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
