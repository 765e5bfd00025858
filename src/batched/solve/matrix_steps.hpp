#pragma once

#include <limits>

#include "base/for_each.hpp"
#include "base/pivot_pair.hpp"
#include "tessera/factor.hpp"
#include "tessera/systems.hpp"

// Steps of solve and take_absolute_pivots, one matrix each.

namespace tessera::batched {

/// Sizes to a power, for the places of matrices of various sizes one after the other.
struct SizePower {
    const Index* sizes;
    int power;
    TESSERA_HOST_DEVICE Offset operator()(Offset b) const {
        return power == 1 ? sizes[b] : Offset(sizes[b]) * sizes[b];
    }
};

/// info := 0 for matrices without rows.
struct ClearEmptyInfo {
    static constexpr int work = 1;
    const Index* sizes;  ///< Null: all are without rows.
    Index* info;
    TESSERA_HOST_DEVICE void operator()(Offset b) const {
        if (sizes == nullptr || sizes[b] == 0) info[b] = 0;
    }
};

/// info := n + 1 where it is 0 and the smallest pivot is below n eps max |a_ij|.
template <class T>
struct MarkNearSingular {
    static constexpr int work = 1024;
    BatchView<const T> a;
    bool symmetric;  ///< The lower triangle is read.
    const T* smallest;
    Index* info;

    TESSERA_HOST_DEVICE void operator()(Offset b) const {
        if (info[b] != 0) return;
        const Index n = a.sizes != nullptr ? a.sizes[b] : a.size;
        const Offset ld = a.sizes != nullptr ? n : a.leading_dimension;
        const T* column = a.starts != nullptr
                              ? a.starts[b]
                              : a.values + (a.offsets ? a.offsets[b] : b * a.stride);
        T largest = T(0);
        for (Index j = 0; j < n; ++j, column += ld) {
            for (Index i = symmetric ? j : 0; i < n; ++i) {
                largest = std::fabs(column[i]) > largest ? T(std::fabs(column[i])) : largest;
            }
        }
        const T eps = std::numeric_limits<T>::epsilon();
        if (n > 0 && smallest[b] < T(n) * eps * largest) info[b] = n + 1;
    }
};

/// D := |D| in the factors of matrix b.
template <class T>
struct TakeAbsolutePivots {
    static constexpr int work = 64;
    BatchView<T> f;

    TESSERA_HOST_DEVICE void operator()(Offset b) const {
        const Index n = f.sizes != nullptr ? f.sizes[b] : f.size;
        const Offset ld = f.sizes != nullptr ? n : f.leading_dimension;
        T* pivot = f.starts != nullptr ? f.starts[b]
                                       : f.values + (f.offsets ? f.offsets[b] : b * f.stride);
        for (Index s = 0; s < n; ++s, pivot += ld + 1) {
            if (s + 1 == n || pivot[ld] == T(0)) {
                *pivot = std::fabs(*pivot);
                continue;
            }
            const PivotPair<T> e{pivot[0], pivot[ld], pivot[ld + 1]};
            const PivotEigen<T> v = eigenpairs(e);
            const PivotPair<T> positive =
                with_eigenvalues(e, v, T(std::fabs(v.first)), T(std::fabs(v.second)));
            pivot[0] = positive.e11;
            pivot[ld] = positive.e21;
            pivot[ld + 1] = positive.e22;
            ++s;
            pivot += ld + 1;
        }
    }
};

}  // namespace tessera::batched
