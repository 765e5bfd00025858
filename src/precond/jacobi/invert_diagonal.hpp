#pragma once

#include <cmath>
#include <limits>

#include "base/find_csr_entry.hpp"
#include "base/for_each.hpp"
#include "tessera/block_jacobi.hpp"

namespace tessera {

/// inverse_i = 1 / a_ii and info_i = 0. If a_ii is zero, missing or not finite, or has no finite
/// reciprocal, info_i = 1 and the policy gives the replacement of the reciprocal: NaN (stop), 1
/// (identity), 0 (generalised), or 1 / (a_ii + sqrt(eps)) (shift: such a value counts as norm 1, so
/// that k = 0 is always enough); NaN under every policy if a_ii itself is not finite.
template <class T>
struct InvertDiagonal {
    static constexpr int work = 8;
    CsrView<T> matrix;
    SingularPolicy policy;
    T* inverse;
    Index* info;

    static TESSERA_HOST_DEVICE bool is_finite(T x) {
        return std::abs(x) <= std::numeric_limits<T>::max();
    }
    TESSERA_HOST_DEVICE T replacement(T a) const {
        if (!is_finite(a) || policy == SingularPolicy::stop) {
            return std::numeric_limits<T>::quiet_NaN();
        }
        if (policy == SingularPolicy::generalised) return T(0);
        if (policy == SingularPolicy::identity) return T(1);
        return T(1) / (a + std::sqrt(std::numeric_limits<T>::epsilon()));
    }
    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const Offset position = find_csr_entry(matrix, Index(i), Index(i));
        const T a = position < 0 ? T(0) : matrix.values[position];
        const T reciprocal = T(1) / a;
        const bool usable = is_finite(a) && is_finite(reciprocal);
        inverse[i] = usable ? reciprocal : replacement(a);
        info[i] = usable ? 0 : 1;
    }
};

}  // namespace tessera
