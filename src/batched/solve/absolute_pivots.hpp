#pragma once

#include "base/for_each.hpp"
#include "base/pivot_pair.hpp"
#include "tessera/factor.hpp"

namespace tessera::batched {

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
