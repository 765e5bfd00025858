#pragma once

#include <numeric>
#include <utility>

#include "batched/factor/factor_sets.hpp"
#include "tessera/factor.hpp"

// The factorisations in plain loops, for float, double and long double; `a` is column-major, and of
// symmetric matrices only the lower triangle is read. See tessera/factor.hpp for the definitions.

namespace tessera::reference {

/// The pivot of step s as (row, column) positions. NaN is never taken while there is another.
template <class T>
std::pair<Index, Index> ldu_pivot(Index n, batched::Pivoting pivoting, Index s, const T* a,
                                  const Index* p, const Index* q) {
    if (pivoting == batched::Pivoting::fixed) return {s, s};
    const Index columns = pivoting == batched::Pivoting::full ? n : s + 1;
    Index r = s, c = s;
    T largest = -1;
    for (Index j = s; j < columns; ++j) {
        for (Index i = s; i < n; ++i) {
            const T size = std::abs(a[i + j * n]);
            const bool earlier = p[i] < p[r] || (i == r && q[j] < q[c]);
            if (size > largest || (size == largest && earlier)) {
                largest = size;
                r = i;
                c = j;
            }
        }
    }
    return {r, c};
}

/// Overwrites `a` with its factors; p and q receive the permutations.
template <class T>
batched::PivotRecord<T> ldu(Index n, batched::Pivoting pivoting, T tau, T* a, Index* p, Index* q) {
    batched::PivotRecord<T> record;
    std::iota(p, p + n, 0);
    std::iota(q, q + n, 0);
    for (Index s = 0; s < n; ++s) {
        const auto [r, c] = ldu_pivot(n, pivoting, s, a, p, q);
        for (Index j = 0; j < n; ++j) std::swap(a[s + j * n], a[r + j * n]);
        for (Index i = 0; i < n; ++i) std::swap(a[i + s * n], a[i + c * n]);
        std::swap(p[s], p[r]);
        std::swap(q[s], q[c]);
        const T d = batched::pivot_after_threshold(a[s + s * n], tau, s, record);
        if (record.failed) break;
        a[s + s * n] = d;
        for (Index i = s + 1; i < n; ++i) {
            a[i + s * n] = d == 0 ? T(0) : a[i + s * n] / d;
            for (Index j = s + 1; j < n; ++j) a[i + j * n] -= a[i + s * n] * a[s + j * n];
        }
        for (Index j = s + 1; j < n; ++j) a[s + j * n] = d == 0 ? T(0) : a[s + j * n] / d;
    }
    if (record.failed) std::fill(a, a + n * n, std::numeric_limits<T>::quiet_NaN());
    return record;
}

/// Exchanges rows and columns s < r of a symmetric matrix of which the lower triangle is stored,
/// and rows s and r of the columns of L left of s.
template <class T>
void exchange_symmetric(Index n, Index s, Index r, T* a, Index* p) {
    if (s == r) return;
    const auto at = [&](Index i, Index j) -> T& { return a[i + j * n]; };
    for (Index j = 0; j < s; ++j) std::swap(at(s, j), at(r, j));
    for (Index i = s + 1; i < r; ++i) std::swap(at(i, s), at(r, i));
    for (Index i = r + 1; i < n; ++i) std::swap(at(i, s), at(i, r));
    std::swap(at(s, s), at(r, r));
    std::swap(p[s], p[r]);
}

/// Overwrites `a` with L; p receives the permutation.
template <class T>
batched::PivotRecord<T> llt(Index n, batched::Pivoting pivoting, T tau, T* a, Index* p) {
    batched::PivotRecord<T> record;
    std::iota(p, p + n, 0);
    const auto at = [&](Index i, Index j) -> T& { return a[i + j * n]; };
    for (Index s = 0; s < n; ++s) {
        Index r = s;
        for (Index i = s; pivoting == batched::Pivoting::full && i < n; ++i) {
            const bool earlier = at(i, i) == at(r, r) && p[i] < p[r];
            if (at(i, i) > at(r, r) || earlier || std::isnan(at(r, r))) r = i;
        }
        exchange_symmetric(n, s, r, a, p);
        const T d = batched::pivot_after_threshold(at(s, s), tau, s, record, true);
        if (record.failed) break;
        const T root = std::sqrt(d);
        at(s, s) = root;
        for (Index i = s + 1; i < n; ++i) at(i, s) = d == 0 ? T(0) : at(i, s) / root;
        for (Index j = s + 1; j < n; ++j) {
            for (Index i = j; i < n; ++i) at(i, j) -= at(i, s) * at(j, s);
            at(s, j) = 0;
        }
    }
    if (record.failed) std::fill(a, a + n * n, std::numeric_limits<T>::quiet_NaN());
    return record;
}

/// A symmetric matrix in its lower triangle, eliminated up to position s; p are original indices.
template <class T>
struct SymmetricRest {
    Index n;
    Index s;
    const T* a;
    const Index* p;

    T at(Index i, Index j) const { return i >= j ? a[i + j * n] : a[j + i * n]; }
    T diagonal(Index i) const { return std::abs(at(i, i)); }
    struct Largest {
        T size;
        Index position;
    };
    /// The largest element of column j off the diagonal; NaN is never taken.
    Largest off_diagonal(Index j) const {
        Largest found{T(-1), j};
        for (Index i = s; i < n; ++i) {
            const T size = std::abs(at(i, j));
            if (i == j || !(size >= found.size)) continue;
            if (size > found.size || p[i] < p[found.position]) found = {size, i};
        }
        return found;
    }
};

/// A pivot in position `first`, or a 2 x 2 one in both.
struct PivotChoice {
    Index first;
    Index second = -1;
};

template <class T>
PivotChoice choose_complete(const SymmetricRest<T>& m, T tau) {
    Index r = m.s;
    T mu1 = -1;
    for (Index i = m.s; i < m.n; ++i) {
        const T size = m.diagonal(i);
        if (size > mu1 || (size == mu1 && m.p[i] < m.p[r])) {
            mu1 = size;
            r = i;
        }
    }
    T mu0 = -1;
    Index first = m.s, second = m.s;
    for (Index i = m.s; i < m.n; ++i) {  // The smaller row of a pair comes first.
        const auto [size, j] = m.off_diagonal(i);
        if (size > mu0 || (size == mu0 && m.p[i] < m.p[first])) {
            mu0 = size;
            first = i;
            second = j;
        }
    }
    const bool one = !(mu1 < batched::pivot_alpha<T> * mu0) || std::max(mu0, mu1) < tau ||
                     !std::isfinite(1 / mu0);
    return one ? PivotChoice{r} : PivotChoice{first, second};
}

template <class T>
PivotChoice choose_static(const SymmetricRest<T>& m, T tau) {
    if (m.s + 1 == m.n) return {m.s};
    const T below = m.off_diagonal(m.s).size;
    if (std::max(m.diagonal(m.s), below) < tau) return {m.s};
    const batched::PivotPair<T> e{m.at(m.s, m.s), m.at(m.s + 1, m.s), m.at(m.s + 1, m.s + 1)};
    return batched::is_pair_pivot(e, below) ? PivotChoice{m.s, m.s + 1} : PivotChoice{m.s};
}

/// Bunch-Kaufman (Higham, Algorithm 11.2) and rook (Algorithm 11.5) pivoting.
template <class T>
PivotChoice choose_by_search(const SymmetricRest<T>& m, bool rook, T tau) {
    const T alpha = batched::pivot_alpha<T>;
    Index p = m.s;
    auto [lambda, r] = m.off_diagonal(p);
    const T w = m.diagonal(p);
    if (!(w < alpha * lambda) || std::max(w, lambda) < tau || !std::isfinite(1 / lambda)) {
        return {p};
    }
    for (;;) {
        const auto [sigma, t] = m.off_diagonal(r);
        if (!rook && w >= alpha * lambda * (lambda / sigma)) return {p};
        if (!(m.diagonal(r) < alpha * sigma)) return {r};
        if (!rook || !(sigma > lambda)) return {p, r};
        p = r;
        lambda = sigma;
        r = t;
    }
}

template <class T>
PivotChoice choose_pivot(const SymmetricRest<T>& m, batched::Pivoting pivoting, T tau) {
    switch (pivoting) {
        case batched::Pivoting::full:
            return choose_complete(m, tau);
        case batched::Pivoting::rook:
            return choose_by_search(m, true, tau);
        case batched::Pivoting::bunch_kaufman:
            return choose_by_search(m, false, tau);
        default:
            return choose_static(m, tau);
    }
}

/// Overwrites `a` with its factors; p receives the permutation.
template <class T>
batched::PivotRecord<T> ldlt(Index n, batched::Pivoting pivoting, T tau, T* a, Index* p) {
    batched::PivotRecord<T> record;
    std::iota(p, p + n, 0);
    const auto at = [&](Index i, Index j) -> T& { return a[i + j * n]; };
    for (Index s = 0; s < n && !record.failed;) {
        const PivotChoice choice = choose_pivot(SymmetricRest<T>{n, s, a, p}, pivoting, tau);
        exchange_symmetric(n, s, choice.first, a, p);
        if (choice.second < 0) {
            const T d = batched::pivot_after_threshold(at(s, s), tau, s, record);
            at(s, s) = d;
            for (Index j = s + 1; j < n; ++j) {
                const T l = d == 0 ? T(0) : at(j, s) / d;
                for (Index i = j; i < n; ++i) at(i, j) -= at(i, s) * l;
                at(s, j) = 0;
            }
            for (Index i = s + 1; i < n; ++i) at(i, s) = d == 0 ? T(0) : at(i, s) / d;
            ++s;
            continue;
        }
        // The former contents of position s are now where the first pivot was.
        exchange_symmetric(n, s + 1, choice.second == s ? choice.first : choice.second, a, p);
        const batched::PivotPair<T> given{at(s, s), at(s + 1, s), at(s + 1, s + 1)};
        const batched::PivotPair<T> e = batched::pivot_after_threshold(given, tau, s, record);
        const batched::PivotPair<T> g = batched::inverse(e);
        for (Index j = s + 2; j < n; ++j) {
            const T l1 = g.e11 * at(j, s) + g.e21 * at(j, s + 1);
            const T l2 = g.e21 * at(j, s) + g.e22 * at(j, s + 1);
            for (Index i = j; i < n; ++i) at(i, j) -= at(i, s) * l1 + at(i, s + 1) * l2;
            at(s, j) = l1;
            at(s + 1, j) = l2;
        }
        for (Index i = s + 2; i < n; ++i) {
            at(i, s) = std::exchange(at(s, i), T(0));
            at(i, s + 1) = std::exchange(at(s + 1, i), T(0));
        }
        at(s, s) = e.e11;
        at(s, s + 1) = e.e21;
        at(s + 1, s) = 0;
        at(s + 1, s + 1) = e.e22;
        s += 2;
    }
    if (record.failed) std::fill(a, a + n * n, std::numeric_limits<T>::quiet_NaN());
    return record;
}

}  // namespace tessera::reference
