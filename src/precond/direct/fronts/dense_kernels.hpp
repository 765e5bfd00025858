#pragma once

#include "tessera/context.hpp"

namespace tessera::direct {

/// Operations on dense column-major matrices for one instruction set.
template <class T>
struct DenseKernels {
    /// C -= A B; C is m x n, A m x k, B k x n. An entry of C depends on k, its row of A and its
    /// column of B alone, to the last bit: parts of C may be computed one by one.
    void (*subtract_product)(Offset m, Offset n, Offset k, const T* a, Offset lda, const T* b,
                             Offset ldb, T* c, Offset ldc);
    /// y -= A^T x; A is m x n.
    void (*subtract_transposed)(Offset m, Offset n, const T* a, Offset lda, const T* x, T* y);
    /// The largest |x_i|, 0 for none; NaN is ignored or returned.
    T (*max_abs)(Offset n, const T* x);
    /// x_i = x_i / divisor.
    void (*divide)(Offset n, T divisor, T* x);
};

template <class T>
DenseKernels<T> dense_kernels(const Context& context);

}  // namespace tessera::direct
