#pragma once

#include "tessera/precond.hpp"

namespace tessera {

/// inverse_i = 1 / a_ii for every row i; info_i = 0, or 1 where a_ii or its reciprocal is zero or
/// not finite, or a_ii is not stored. Such a row is treated as block Jacobi treats a singular block
/// of one row (see precond/block_jacobi/kernels.hpp). No wait.
namespace cuda {
template <class T>
void inverse_diagonal(const Context& context, const CsrView<T>& matrix, SingularPolicy policy,
                      T* inverse, Index* info);
}  // namespace cuda

}  // namespace tessera
