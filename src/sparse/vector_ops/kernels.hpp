#pragma once

#include "base/dispatch.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

/// Elements per partial sum of a reduction, on every backend.
inline constexpr Offset reduction_chunk = 4096;

/// Vectors that `dots` and `combine` process in one pass over y.
inline constexpr int vectors_per_pass = 8;

// The backends of vector_ops.hpp; n elements, checked by the public functions.
// clang-format off
TESSERA_BACKENDS(
    template <class T>
    void dots(const Context& context, int count, const T* x, const T* y, Offset n, T* results);
    template <class T>
    void axpbypcz(const Context& context, Scalar<T> alpha, const T* x, Scalar<T> beta, const T* y,
                  Scalar<T> gamma, T* z, Offset n);
    template <class T>
    void combine(const Context& context, int count, const T* x, const T* coefficients,
                 Scalar<T> beta, T* y, Offset n);
    template <class T>
    void axpy_pair_dot(const Context& context, Scalar<T> alpha, const T* p, const T* q, T* x, T* r,
                       T* rr, Offset n);
    template <class T>
    void multiply_elementwise(const Context& context, const T* d, const T* x, T* y, Offset n);
    template <class T>
    void multiply_elementwise_dot(const Context& context, const T* d, const T* x, T* y, Offset n,
                                  T* xy);
    template <class T>
    void recurrence_step(const Context& context, const RecurrenceStep<T>& step, const T* q,
                         const T* x, const T* y, const T* r, T* next, Offset n);)
// clang-format on

/// Explicit instantiations of both backends.
#define TESSERA_INSTANTIATE_VECTOR_OPS(T)                                       \
    template decltype(dots<T>) dots<T>;                                         \
    template decltype(axpbypcz<T>) axpbypcz<T>;                                 \
    template decltype(combine<T>) combine<T>;                                   \
    template decltype(axpy_pair_dot<T>) axpy_pair_dot<T>;                       \
    template decltype(multiply_elementwise<T>) multiply_elementwise<T>;         \
    template decltype(multiply_elementwise_dot<T>) multiply_elementwise_dot<T>; \
    template decltype(recurrence_step<T>) recurrence_step<T>;

}  // namespace tessera
