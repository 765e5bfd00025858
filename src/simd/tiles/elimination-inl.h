// Elimination in one small square matrix, vectors along its columns. Included once for each
// instruction set (see simd/dispatch.hpp).
#if defined(TESSERA_SIMD_TILES_ELIMINATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_SIMD_TILES_ELIMINATION_INL_H_
#undef TESSERA_SIMD_TILES_ELIMINATION_INL_H_
#else
#define TESSERA_SIMD_TILES_ELIMINATION_INL_H_
#endif

#include "hwy/highway.h"
#include "simd/tiles/gauss_jordan-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Working columns of a Square, besides its n columns and one vector per column.
inline constexpr Index square_work_columns = 3;

/// An n x n matrix in columns of `rows` values, whole vectors padded with zeros. All arrays are
/// aligned.
template <class T>
struct Square {
    Index n;
    Index rows;
    T* a;
    T* work;     ///< square_work_columns columns.
    T* largest;  ///< One vector per column.

    T* column(Index j) const { return a + j * rows; }
    T& at(Index i, Index j) const { return a[i + j * rows]; }
};

template <class D, class T>
HWY_INLINE Square<T> make_square(D d, Index n, T* scratch) {
    const Index lanes = Index(hn::Lanes(d));
    const Index rows = (n + lanes - 1) / lanes * lanes;
    T* const work = scratch + n * rows;
    return {n, rows, scratch, work, work + square_work_columns * rows};
}

/// Copies a matrix; if `symmetric`, from its lower triangle.
template <class D, class T>
HWY_INLINE void load_square(D d, const Square<T>& m, const T* from, Offset ld, bool symmetric) {
    const Index lanes = Index(hn::Lanes(d));
    for (Index j = 0; j < m.n; ++j) {
        T* HWY_RESTRICT to = m.column(j);
        const T* HWY_RESTRICT column = from + j * ld;
        if (symmetric) {
            for (Index i = j; i < m.n; ++i) to[i] = m.at(j, i) = column[i];
        } else {
            Index i = 0;
            for (; i + lanes <= m.n; i += lanes) hn::Store(hn::LoadU(d, column + i), d, to + i);
            for (; i < m.n; ++i) to[i] = column[i];
        }
        for (Index i = m.n; i < m.rows; ++i) to[i] = T(0);
    }
}

template <class T>
HWY_INLINE void swap_rows(const Square<T>& m, Index s, Index r) {
    if (s == r) return;
    for (Index j = 0; j < m.n; ++j) {
        T* const column = m.column(j);
        const T value = column[s];
        column[s] = column[r];
        column[r] = value;
    }
}

template <class D, class T>
HWY_INLINE void swap_columns(D d, const Square<T>& m, Index s, Index r) {
    if (s == r) return;
    T* const one = m.column(s);
    T* const other = m.column(r);
    for (Index i = 0; i < m.rows; i += Index(hn::Lanes(d))) {
        const auto v = hn::Load(d, one + i);
        hn::Store(hn::Load(d, other + i), d, one + i);
        hn::Store(v, d, other + i);
    }
}

/// Per lane the largest |a_ij| of column j in rows from s on except row `except`; -1 if there is
/// none. NaN is ignored.
template <class D, class T>
HWY_INLINE hn::Vec<D> largest_lanes(D d, const Square<T>& m, Index j, Index s, Index except) {
    const hn::RebindToSigned<D> di;
    using TI = hn::TFromD<decltype(di)>;
    const Index lanes = Index(hn::Lanes(d));
    auto largest = hn::Set(d, T(-1));
    const T* column = m.column(j);
    for (Index i = s / lanes * lanes; i < m.rows; i += lanes) {
        const auto row = hn::Iota(di, TI(i));
        const auto counts =
            hn::AndNot(hn::Eq(row, hn::Set(di, TI(except))), hn::Gt(row, hn::Set(di, TI(s - 1))));
        const auto size = hn::IfThenElse(hn::RebindMask(d, counts),
                                         hn::Abs(hn::Load(d, column + i)), hn::Set(d, T(-1)));
        largest = hn::IfThenElse(hn::Gt(size, largest), size, largest);
    }
    return largest;
}

/// A magnitude and the position of its element.
template <class T>
struct LargestAt {
    T size;
    Index position;
};

/// The largest magnitude of a column, the first in the order of `original` among equals.
template <class D, class T>
HWY_INLINE LargestAt<T> largest_in_column(D d, const Square<T>& m, Index j, Index s, Index except,
                                          const Index* original) {
    const Index lanes = Index(hn::Lanes(d));
    const T size = hn::GetLane(hn::MaxOfLanes(d, largest_lanes(d, m, j, s, except)));
    LargestAt<T> result{size, s};
    bool any = false;
    const T* column = m.column(j);
    for (Index i = s / lanes * lanes; i < m.n; i += lanes) {
        const auto equal = hn::Eq(hn::Abs(hn::Load(d, column + i)), hn::Set(d, size));
        if (hn::AllFalse(d, equal)) continue;
        const Index end = i + lanes < m.n ? i + lanes : m.n;
        for (Index k = i < s ? s : i; k < end; ++k) {
            const T value = column[k] < T(0) ? -column[k] : column[k];
            if (k == except || value != size) continue;
            if (any && original[k] > original[result.position]) continue;
            result.position = k;
            any = true;
        }
    }
    return result;
}

/// The largest element of all columns and rows from s on, with or without the diagonal; among equal
/// ones the element with the smallest original row, then column.
template <class T>
struct LargestOfRest {
    T size;
    Index row;
    Index column;
};
template <class D, class T>
HWY_INLINE LargestOfRest<T> largest_of_rest(D d, const Square<T>& m, Index s, bool diagonal,
                                            const Index* rows, const Index* columns) {
    const Index lanes = Index(hn::Lanes(d));
    auto largest = hn::Set(d, T(-1));
    for (Index j = s; j < m.n; ++j) {
        const auto v = largest_lanes(d, m, j, s, diagonal ? -1 : j);
        hn::Store(v, d, m.largest + j * lanes);
        largest = hn::IfThenElse(hn::Gt(v, largest), v, largest);
    }
    const T size = hn::GetLane(hn::MaxOfLanes(d, largest));
    LargestOfRest<T> result{size, s, s};
    bool any = false;
    for (Index j = s; j < m.n; ++j) {
        const auto equal = hn::Eq(hn::Load(d, m.largest + j * lanes), hn::Set(d, size));
        if (hn::AllFalse(d, equal)) continue;
        const Index i = largest_in_column(d, m, j, s, diagonal ? -1 : j, rows).position;
        const bool earlier =
            rows[i] < rows[result.row] || (i == result.row && columns[j] < columns[result.column]);
        if (any && !earlier) continue;
        result.row = i;
        result.column = j;
        any = true;
    }
    return result;
}

/// l = c / pivot below row s, 0 elsewhere; 0 for a zero pivot. c and l may be equal.
template <class D, class T>
HWY_INLINE void divide_column(D d, const Square<T>& m, Index s, T pivot, const T* c, T* l) {
    const hn::RebindToSigned<D> di;
    using TI = hn::TFromD<decltype(di)>;
    const auto by = hn::Set(d, pivot);
    const auto reciprocal = hn::Div(hn::Set(d, T(1)), by);
    const auto used = hn::RebindMask(di, hn::Ne(by, hn::Zero(d)));
    for (Index i = 0; i < m.rows; i += Index(hn::Lanes(d))) {
        const auto below = hn::Gt(hn::Iota(di, TI(i)), hn::Set(di, TI(s)));
        const auto quotient = divide_by_reciprocal(hn::Load(d, c + i), by, reciprocal);
        const auto counts = hn::RebindMask(d, hn::And(below, used));
        hn::Store(hn::IfThenElseZero(counts, quotient), d, l + i);
    }
}

/// a_ij -= l_i u for column j, from the vector that contains row `first` on.
template <class D, class T>
HWY_INLINE void update_column(D d, const Square<T>& m, Index j, Index first,
                              const T* HWY_RESTRICT l, T u) {
    const Index lanes = Index(hn::Lanes(d));
    T* HWY_RESTRICT column = m.column(j);
    const auto factor = hn::Set(d, u);
    for (Index i = first / lanes * lanes; i < m.rows; i += lanes) {
        hn::Store(hn::NegMulAdd(hn::Load(d, l + i), factor, hn::Load(d, column + i)), d,
                  column + i);
    }
}

/// Swaps rows and columns s and r, and their original indices.
template <class D, class T>
HWY_INLINE void swap_symmetric(D d, const Square<T>& m, Index s, Index r, Index* original) {
    if (s == r) return;
    swap_columns(d, m, s, r);
    swap_rows(m, s, r);
    const Index index = original[s];
    original[s] = original[r];
    original[r] = index;
}

/// Stores an eliminated column: the pivot, l below it, and above it zeros or the old values.
template <class D, class T>
HWY_INLINE void store_column(D d, const Square<T>& m, Index s, T pivot, const T* l,
                             bool keep_above) {
    const hn::RebindToSigned<D> di;
    using TI = hn::TFromD<decltype(di)>;
    T* const column = m.column(s);
    for (Index i = 0; i < m.rows; i += Index(hn::Lanes(d))) {
        const auto row = hn::Iota(di, TI(i));
        const auto on = hn::RebindMask(d, hn::Eq(row, hn::Set(di, TI(s))));
        auto v = hn::IfThenElse(on, hn::Set(d, pivot), hn::Load(d, l + i));
        if (keep_above && i < s) {
            const auto above = hn::RebindMask(d, hn::Lt(row, hn::Set(di, TI(s))));
            v = hn::IfThenElse(above, hn::Load(d, column + i), v);
        }
        hn::Store(v, d, column + i);
    }
}

template <class D, class T>
HWY_INLINE void store_square(D d, const Square<T>& m, T* to, Offset ld) {
    const Index lanes = Index(hn::Lanes(d));
    for (Index j = 0; j < m.n; ++j) {
        Index i = 0;
        for (; i + lanes <= m.n; i += lanes) {
            hn::StoreU(hn::Load(d, m.column(j) + i), d, to + j * ld + i);
        }
        for (; i < m.n; ++i) to[j * ld + i] = m.at(i, j);
    }
}

template <class D, class T>
HWY_INLINE T square_root(D d, T value) {
    return hn::GetLane(hn::Sqrt(hn::Set(d, value)));
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
