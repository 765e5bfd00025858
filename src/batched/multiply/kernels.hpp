#pragma once

#include "base/dispatch.hpp"
#include "tessera/batched.hpp"

namespace tessera::batched {

/// y_b = alpha op(A_b) x_b + beta y_b for column-major matrices and all vectors of x; beta 0 does
/// not read y. `plan` is null for batches of one size. No wait.
TESSERA_BACKENDS(template <class T> void multiply(const Context& context, T alpha,
                                                  const BatchView<const T>& a, Transpose transpose,
                                                  const VectorsView<const T>& x, T beta,
                                                  const VectorsView<T>& y, const Plan* plan);)

namespace cuda {
/// One vector with each matrix where the matrices, of one size, at most 32, and not transposed, and
/// both vectors lie one behind the other from multiples of 16 bytes on; false, and nothing done,
/// where they do not, where there is no kernel of their size, or where there are 2^30 of them.
template <class T>
bool multiply_runs(const Context& context, T alpha, const BatchView<const T>& a,
                   const VectorsView<const T>& x, T beta, const VectorsView<T>& y);
}  // namespace cuda

}  // namespace tessera::batched
