#pragma once

#include <numeric>
#include <utility>

#include "batched/pivot_record.hpp"
#include "tessera/factor.hpp"

// A(p, p) = L L^T in plain loops, for float, double and long double; a is column-major and only its
// lower triangle is read. See tessera/factor.hpp for what is computed.

namespace tessera::reference {

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
        const T d = batched::used_pivot(at(s, s), tau, s, record, true);
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

}  // namespace tessera::reference
