// Gauss-Jordan inversion of one matrix, its rows in the lanes of vectors. Included once for each
// instruction set (see simd/dispatch.hpp).
#if defined(TESSERA_SIMD_TILES_GAUSS_JORDAN_SINGLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_SIMD_TILES_GAUSS_JORDAN_SINGLE_INL_H_
#undef TESSERA_SIMD_TILES_GAUSS_JORDAN_SINGLE_INL_H_
#else
#define TESSERA_SIMD_TILES_GAUSS_JORDAN_SINGLE_INL_H_
#endif

#include "hwy/highway.h"
#include "simd/tiles/gauss_jordan-inl.h"
#include "tessera/types.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Columns of a panel, whose steps are applied to the other columns together.
inline constexpr Index panel_width = 8;
/// Columns that are updated together; divides panel_width.
inline constexpr Index panel_columns = 4;

/// Storage of one matrix of n rows. `rows` and `columns` are n, rounded up to whole vectors
/// and to a multiple of panel_columns; columns lie `rows` values apart and are padded with zeros.
template <class T>
struct SingleMatrix {
    Index n;
    Index rows;
    Index columns;
    T* a;            ///< rows x columns values, aligned.
    T* multipliers;  ///< rows x panel_width values, aligned: -a_ik / d, and 1 / d in the pivot row.
    T* pivot_rows;   ///< columns x panel_width values, aligned: u_kj for each column j.
    T* pivoted;      ///< rows values: the sign bit is set in rows that were pivot rows.
    T* mask;         ///< rows values: all ones, or zeros in the pivot row.
};

/// Columns of `rows` values that SingleMatrix needs besides `a`.
inline constexpr Index single_work_columns = 2 * panel_width + 2;

/// The row of the first largest magnitude among rows not yet pivoted, or -1 if all are zero or NaN.
template <class D, class T>
HWY_INLINE Index find_pivot(D d, const SingleMatrix<T>& m, const T* HWY_RESTRICT column) {
    const Index lanes = Index(hn::Lanes(d));
    auto largest = hn::Zero(d);
    auto start = hn::Zero(d);  // First row of the vector that has a lane's largest value.
    for (Index i = 0; i < m.rows; i += lanes) {
        const auto size = hn::Or(hn::Abs(hn::Load(d, column + i)), hn::Load(d, m.pivoted + i));
        const auto larger = hn::Gt(size, largest);
        largest = hn::IfThenElse(larger, size, largest);
        start = hn::IfThenElse(larger, hn::Set(d, T(i)), start);
    }
    const auto overall = hn::MaxOfLanes(d, largest);
    if (!(hn::GetLane(overall) > T(0))) return -1;
    const auto row = hn::Add(start, hn::Iota(d, T(0)));
    const auto none = hn::Set(d, T(m.rows));
    const auto first = hn::IfThenElse(hn::Eq(largest, overall), row, none);
    return Index(hn::GetLane(hn::MinOfLanes(d, first)));
}

/// One step of elimination in the columns first .. last-1 of a panel, with the pivot row `row`.
/// Single values are replaced in registers: a vector load after a store to one of its values
/// stalls.
template <class D, class T>
HWY_INLINE void eliminate_in_panel(D d, const SingleMatrix<T>& m, Index first, Index last, Index k,
                                   Index row) {
    const Index lanes = Index(hn::Lanes(d));
    T* HWY_RESTRICT multipliers = m.multipliers + (k - first) * m.rows;
    T* HWY_RESTRICT column = m.a + k * m.rows;
    const auto pivot = hn::Set(d, column[row]);
    const auto reciprocal = hn::Div(hn::Set(d, T(1)), pivot);
    const auto ones = hn::BitCast(d, hn::Set(hn::RebindToSigned<D>(), -1));
    const auto pivot_row = hn::Set(d, T(row));
    auto row_of_lane = hn::Iota(d, T(0));
    for (Index i = 0; i < m.rows; i += lanes) {
        const auto is_pivot = hn::Eq(row_of_lane, pivot_row);
        row_of_lane = hn::Add(row_of_lane, hn::Set(d, T(lanes)));
        const auto quotient =
            hn::Neg(divide_by_reciprocal(hn::Load(d, column + i), pivot, reciprocal));
        const auto multiplier = hn::IfThenElse(is_pivot, reciprocal, quotient);
        hn::Store(multiplier, d, multipliers + i);
        hn::Store(multiplier, d, column + i);
        hn::Store(hn::IfThenZeroElse(is_pivot, ones), d, m.mask + i);
        const auto pivoted = hn::Load(d, m.pivoted + i);
        hn::Store(hn::IfThenElse(is_pivot, hn::Set(d, T(-0.0)), pivoted), d, m.pivoted + i);
    }
    const auto eliminate = [&](Index j) HWY_ATTR {
        T* HWY_RESTRICT to = m.a + j * m.rows;
        const auto u = hn::Set(d, to[row]);
        for (Index i = 0; i < m.rows; i += lanes) {
            const auto old = hn::And(hn::Load(d, m.mask + i), hn::Load(d, to + i));
            hn::Store(hn::MulAdd(hn::Load(d, multipliers + i), u, old), d, to + i);
        }
    };
    for (Index j = k + 1; j < last; ++j) eliminate(j);
    for (Index j = first; j < k; ++j) eliminate(j);
}

/// Gathers the pivot rows of a panel in all columns, with the values they had when chosen, and sets
/// them to zero in the matrix outside the panel. Results for columns of the panel are undefined.
/// pivot_multipliers[k panel_width + l] is the multiplier of step l in pivot row k.
template <class D, class T>
HWY_INLINE void gather_pivot_rows(D d, const SingleMatrix<T>& m, Index first, Index last,
                                  const Index* pivot_row, const T* pivot_multipliers) {
    const hn::RebindToSigned<D> di;
    using TI = hn::TFromD<decltype(di)>;
    const Index lanes = Index(hn::Lanes(d));
    const Index steps = last - first;
    const auto column = hn::Mul(hn::Iota(di, 0), hn::Set(di, TI(m.rows)));
    for (Index k = 0; k < steps; ++k) {
        for (Index j = 0; j < m.columns; j += lanes) {
            auto u = hn::GatherIndex(d, m.a + j * m.rows + pivot_row[k], column);
            for (Index l = 0; l < k; ++l) {
                const auto u_l = hn::Load(d, m.pivot_rows + l * m.columns + j);
                u = hn::MulAdd(hn::Set(d, pivot_multipliers[k * panel_width + l]), u_l, u);
            }
            hn::Store(u, d, m.pivot_rows + k * m.columns + j);
        }
    }
    for (Index j = 0; j < m.n; ++j) {
        if (j >= first && j < last) continue;
        for (Index k = 0; k < steps; ++k) m.a[j * m.rows + pivot_row[k]] = T(0);
    }
}

/// Applies all steps of a panel, in order, to columns j .. j + panel_columns - 1 of `vectors`
/// vectors of rows from row i on.
template <Index vectors, class D, class T>
HWY_INLINE void apply_steps(D d, const SingleMatrix<T>& m, Index steps, Index i, Index j) {
    const Index lanes = Index(hn::Lanes(d));
    T* HWY_RESTRICT to = m.a + j * m.rows + i;
    hn::Vec<D> sum[vectors * panel_columns];
#pragma GCC unroll 16
    for (Index e = 0; e < vectors * panel_columns; ++e) {
        sum[e] = hn::Load(d, to + e / vectors * m.rows + e % vectors * lanes);
    }
    const T* HWY_RESTRICT multiplier = m.multipliers + i;
    const T* HWY_RESTRICT u = m.pivot_rows + j;
    for (Index k = 0; k < steps; ++k, multiplier += m.rows, u += m.columns) {
        hn::Vec<D> by[vectors];
#pragma GCC unroll 16
        for (Index v = 0; v < vectors; ++v) by[v] = hn::Load(d, multiplier + v * lanes);
#pragma GCC unroll 16
        for (Index c = 0; c < panel_columns; ++c) {
            const auto u_kj = hn::Set(d, u[c]);
#pragma GCC unroll 16
            for (Index v = 0; v < vectors; ++v) {
                sum[c * vectors + v] = hn::MulAdd(by[v], u_kj, sum[c * vectors + v]);
            }
        }
    }
#pragma GCC unroll 16
    for (Index e = 0; e < vectors * panel_columns; ++e) {
        hn::Store(sum[e], d, to + e / vectors * m.rows + e % vectors * lanes);
    }
}

/// Inverts a matrix by Gauss-Jordan elimination with implicit partial pivoting among rows (Anzt et
/// al., Fig. 2). Blocked, right-looking: every element sees the same operations in the same order
/// as in Fig. 2, delayed until a panel is complete for the columns outside it.
///   steps  steps[k] receives the pivot row p_k of step k; the inverse is X(k, p_j) = A(p_k, j)
///          with the final A.
/// Returns 0, or k where the k-th pivot (1-based), or its reciprocal, is zero or not finite, or n
/// where only an element of the inverse is not finite; A is then undefined.
template <class D, class T = hn::TFromD<D>>
HWY_NOINLINE Index invert_single(D d, const SingleMatrix<T>& m, Index* HWY_RESTRICT steps) {
    const Index lanes = Index(hn::Lanes(d));
    const Index n = m.n;
    for (Index i = 0; i < m.rows; ++i) m.pivoted[i] = i < n ? T(0) : T(-0.0);
    for (Index first = 0; first < n; first += panel_width) {
        const Index last = first + panel_width < n ? first + panel_width : n;
        T pivot_multipliers[panel_width * panel_width];
        for (Index k = first; k < last; ++k) {
            const T* column = m.a + k * m.rows;
            const Index row = find_pivot(d, m, column);
            if (row < 0) return k + 1;
            const T pivot = column[row];
            if (!(pivot * T(0) == T(0)) || !(T(1) / pivot * T(0) == T(0))) return k + 1;
            steps[k] = row;
            eliminate_in_panel(d, m, first, last, k, row);
        }
        // Pivot row k is recomputed from zero: earlier steps must not contribute.
        for (Index k = 0; k < last - first; ++k) {
            for (Index l = 0; l < k; ++l) {
                T& multiplier = m.multipliers[l * m.rows + steps[first + k]];
                pivot_multipliers[k * panel_width + l] = multiplier;
                multiplier = T(0);
            }
        }
        gather_pivot_rows(d, m, first, last, steps + first, pivot_multipliers);
        for (Index j = 0; j < m.columns; j += panel_columns) {
            if (j >= first && j < last) continue;
            Index i = 0;
            for (; i + 2 * lanes <= m.rows; i += 2 * lanes)
                apply_steps<2>(d, m, last - first, i, j);
            if (i < m.rows) apply_steps<1>(d, m, last - first, i, j);
        }
    }
    const auto check = check_finite(d, m.rows / lanes * n, m.a);
    return hn::AllTrue(d, hn::Eq(check, hn::Zero(d))) ? 0 : n;
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
