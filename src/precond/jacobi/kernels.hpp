#pragma once

#include "tessera/precond.hpp"

namespace tessera {

/// inverse_i = 1 / a_ii and info_i = 0. A row whose diagonal entry is zero, missing or not finite,
/// or has no finite reciprocal, gets info_i = 1 and
///   stop      NaN,
///   identity  1,
///   shift     1 / (a_ii + sqrt(eps)): what is too small to invert counts as norm 1, so that the
///             shift of k = 0 always does;
/// where a_ii itself is not finite, NaN under every policy. No wait.
namespace cpu {
template <class T>
void inverse_diagonal(const Context& context, const CsrView<T>& matrix, SingularPolicy policy,
                      T* inverse, Index* info);
}  // namespace cpu
namespace cuda {
template <class T>
void inverse_diagonal(const Context& context, const CsrView<T>& matrix, SingularPolicy policy,
                      T* inverse, Index* info);
}  // namespace cuda

}  // namespace tessera
