#pragma once

#include <cmath>

#include "base/host_device.hpp"

// Symmetric 2 x 2 pivots with e11 e22 < e21^2 / 2, on both backends: the eigenvalues have opposite
// signs, so that the formulas below, scaled by e21, have no cancellation.

namespace tessera::batched {

/// [e11 e21; e21 e22]; two 1 x 1 pivots if e21 = 0.
template <class T>
struct PivotPair {
    T e11;
    T e21;
    T e22;
};

/// Eigenvalues, and the rotation of the eigenvectors (c, -s) and (s, c).
template <class T>
struct PivotEigen {
    T first;
    T second;
    T c;
    T s;
};

/// (1 + sqrt 17) / 8: equal bounds on element growth for two 1 x 1 pivots and one 2 x 2 pivot.
template <class T>
inline constexpr T pivot_alpha = T(0.6403882032022076);

/// One Jacobi rotation; e21 is not 0.
template <class T>
TESSERA_HOST_DEVICE PivotEigen<T> eigenpairs(const PivotPair<T>& e) {
    const T theta = (e.e22 / e.e21 - e.e11 / e.e21) / T(2);
    const T size = std::fabs(theta);
    const T root = size < T(1e9) ? std::sqrt(T(1) + size * size) : size;
    const T t = std::copysign(T(1) / (size + root), theta);
    const T c = T(1) / std::sqrt(T(1) + t * t);
    return {e.e11 - t * e.e21, e.e22 + t * e.e21, c, t * c};
}

/// The pivot with the eigenvectors of `v` and the eigenvalues `first` and `second`; e21 becomes 0
/// where it is below the rounding errors of e11 and e22.
template <class T>
TESSERA_HOST_DEVICE PivotPair<T> with_eigenvalues(const PivotPair<T>& e, const PivotEigen<T>& v,
                                                  T first, T second) {
    const T d1 = first - v.first;
    const T d2 = second - v.second;
    const T cc = v.c * v.c;
    const T ss = v.s * v.s;
    PivotPair<T> changed = {e.e11 + (cc * d1 + ss * d2), e.e21 + v.c * v.s * (d2 - d1),
                            e.e22 + (ss * d1 + cc * d2)};
    const T eps = sizeof(T) == 4 ? T(0x1p-24) : T(0x1p-53);
    const T size = std::fabs(changed.e21);
    if (size < eps * std::fabs(changed.e11) && size < eps * std::fabs(changed.e22)) {
        changed.e21 = T(0);
    }
    return changed;
}

/// The inverse of the pivot; of its diagonal if e21 is 0.
template <class T>
TESSERA_HOST_DEVICE PivotPair<T> inverse(const PivotPair<T>& e) {
    if (e.e21 == T(0)) return {T(1) / e.e11, T(0), T(1) / e.e22};
    const T f1 = e.e11 / e.e21;
    const T f2 = e.e22 / e.e21;
    const T scale = T(1) / ((f1 * f2 - T(1)) * e.e21);
    return {f2 * scale, -scale, f1 * scale};
}

/// Whether static pivoting uses e as a 2 x 2 pivot; `below` is max |a_i1| below e11.
template <class T>
TESSERA_HOST_DEVICE bool is_pair_pivot(const PivotPair<T>& e, T below) {
    if (!(std::fabs(e.e11) < pivot_alpha<T> * below)) return false;
    const T f1 = e.e11 / e.e21;
    const T f2 = e.e22 / e.e21;
    const T a1 = std::fabs(f1);
    const T a2 = std::fabs(f2);
    // ||E^-1|| = ||E|| / |det E|; false where a quotient is not finite.
    return std::fabs(f1 * f2 - T(1)) > a1 * ((a1 > a2 ? a1 : a2) + T(1)) &&
           std::fabs(T(1) / e.e21) * T(0) == T(0);
}

}  // namespace tessera::batched
