#pragma once

#include "base/dispatch.hpp"
#include "tessera/batched.hpp"

namespace tessera::batched {

/// y_b = alpha op(A_b) x_b + beta y_b for column-major matrices and all vectors of x; beta 0 does
/// not read y. `plan` is null for batches of one size. Asynchronous.
TESSERA_BACKENDS(template <class T> void multiply(const Context& context, T alpha,
                                                  const BatchView<const T>& a, Transpose transpose,
                                                  const VectorsView<const T>& x, T beta,
                                                  const VectorsView<T>& y, const Plan* plan);)

namespace cuda {
/// One vector per matrix; matrices of one size, at most 32 rows, not transposed; all arrays
/// contiguous and aligned to 16 bytes. Returns false, without work, for other arguments, sizes
/// without a compiled kernel, and 2^30 matrices or more.
template <class T>
bool multiply_pipelined(const Context& context, T alpha, const BatchView<const T>& a,
                        const VectorsView<const T>& x, T beta, const VectorsView<T>& y);
}  // namespace cuda

}  // namespace tessera::batched
