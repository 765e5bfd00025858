// Gauss-Jordan inversion of very small matrices interleaved across vector lanes, in registers.
// Included once for each instruction set (see simd/dispatch.hpp).
#if defined(TESSERA_SIMD_TILES_GAUSS_JORDAN_REGISTERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_SIMD_TILES_GAUSS_JORDAN_REGISTERS_INL_H_
#undef TESSERA_SIMD_TILES_GAUSS_JORDAN_REGISTERS_INL_H_
#else
#define TESSERA_SIMD_TILES_GAUSS_JORDAN_REGISTERS_INL_H_
#endif

#include "hwy/highway.h"
#include "simd/tiles/gauss_jordan-inl.h"
#include "tessera/types.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Exchanges two values in the lanes of a mask.
template <class M, class V>
HWY_INLINE void exchange(M where, V& a, V& b) {
    const V old = a;
    a = hn::IfThenElse(where, b, a);
    b = hn::IfThenElse(where, old, b);
}

/// Inverts Lanes(d) matrices of n rows in place by Gauss-Jordan elimination with partial pivoting
/// among rows. Element (i, j) of matrix l is a[(i + j n) lanes + l]. Rows are exchanged in the
/// lanes that need it, with each larger element below the diagonal in turn, and columns of the
/// inverse back again in the opposite order. `info` and `largest_met` are those of
/// invert_interleaved.
template <Index n, class D, class T = hn::TFromD<D>, class DI = hn::RebindToSigned<D>,
          class TI = hn::TFromD<DI>>
HWY_NOINLINE void invert_registers(D d, T* HWY_RESTRICT matrices, TI* HWY_RESTRICT info,
                                   T* HWY_RESTRICT largest_met) {
    const DI di;
    using V = hn::Vec<D>;
    const Index lanes = Index(hn::Lanes(d));
    const V one = hn::Set(d, T(1));
    V a[n * n];
    hn::Mask<D> exchanged[n * n];  // Of row k with row i: number i + k n.
#pragma GCC unroll 64
    for (Index e = 0; e < n * n; ++e) a[e] = hn::Load(d, matrices + e * lanes);
    auto first_bad = hn::Zero(di);
    V met = hn::Zero(d);

#pragma GCC unroll 8
    for (Index k = 0; k < n; ++k) {
#pragma GCC unroll 8
        for (Index i = k + 1; i < n; ++i) {
            const auto larger = hn::Gt(hn::Abs(a[i + k * n]), hn::Abs(a[k + k * n]));
            exchanged[i + k * n] = larger;
#pragma GCC unroll 8
            for (Index j = 0; j < n; ++j) exchange(larger, a[k + j * n], a[i + j * n]);
        }
        const V pivot = a[k + k * n];
        const V reciprocal = hn::Div(one, pivot);
        const auto good = hn::And(hn::IsFinite(pivot), hn::IsFinite(reciprocal));
        const auto newly_bad =
            hn::AndNot(hn::RebindMask(di, good), hn::Eq(first_bad, hn::Zero(di)));
        first_bad = hn::IfThenElse(newly_bad, hn::Set(di, TI(k + 1)), first_bad);
        if (largest_met != nullptr) {
#pragma GCC unroll 8
            for (Index j = k + 1; j < n; ++j) met = hn::Max(met, hn::Abs(a[k + j * n]));
        }
#pragma GCC unroll 8
        for (Index i = 0; i < n; ++i) {
            if (i == k) continue;
            const V multiplier = hn::Neg(divide(a[i + k * n], pivot, reciprocal));
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
                exchange(exchanged[i + k * n], a[row + k * n], a[row + i * n]);
            }
        }
    }
    V check = hn::Zero(d);
#pragma GCC unroll 64
    for (Index e = 0; e < n * n; ++e) {
        check = hn::MulAdd(a[e], hn::Zero(d), check);
        hn::Store(a[e], d, matrices + e * lanes);
    }
    if (largest_met != nullptr) hn::Store(met, d, largest_met);
    const auto finite = hn::RebindMask(di, hn::Eq(check, hn::Zero(d)));
    const auto overflow = hn::AndNot(finite, hn::Eq(first_bad, hn::Zero(di)));
    hn::Store(hn::IfThenElse(overflow, hn::Set(di, TI(n)), first_bad), di, info);
}

/// Largest n of invert_registers.
inline constexpr Index register_rows = 6;

/// invert_registers for n = 1..register_rows.
template <class D, class T = hn::TFromD<D>, class TI = hn::TFromD<hn::RebindToSigned<D>>>
HWY_INLINE void invert_registers(D d, Index n, T* a, TI* info, T* largest_met) {
    switch (n) {
        case 1:
            return invert_registers<1>(d, a, info, largest_met);
        case 2:
            return invert_registers<2>(d, a, info, largest_met);
        case 3:
            return invert_registers<3>(d, a, info, largest_met);
        case 4:
            return invert_registers<4>(d, a, info, largest_met);
        case 5:
            return invert_registers<5>(d, a, info, largest_met);
        default:
            return invert_registers<6>(d, a, info, largest_met);
    }
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
