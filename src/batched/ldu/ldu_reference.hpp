#pragma once

#include <numeric>
#include <utility>

#include "batched/pivot_record.hpp"
#include "tessera/factor.hpp"

// A(p, q) = L D U in plain loops, for float, double and long double; a is column-major. See
// tessera/factor.hpp for what is computed.

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
        const T d = batched::used_pivot(a[s + s * n], tau, s, record);
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

}  // namespace tessera::reference
