#pragma once

#include "base/dispatch.hpp"
#include "base/host_device.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

/// Elements per partial sum of a reduction, on every backend.
inline constexpr Offset reduction_chunk = 4096;

/// Vectors that `dots` and `combine` process in one pass over y.
inline constexpr int vectors_per_pass = 8;

template <class T>
TESSERA_HOST_DEVICE T* number(const NumberPerVector<T>& numbers, int j) {
    return reinterpret_cast<T*>(reinterpret_cast<char*>(numbers.first) + j * numbers.stride);
}

/// From number `first` on.
template <class T>
NumberPerVector<T> part(const NumberPerVector<T>& numbers, int first) {
    return {number(numbers, first), numbers.stride};
}

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
    void dot_each(const Context& context, const Vectors<const T>& x, const Vectors<const T>& y,
                  const NumberPerVector<T>& results);
    template <class T>
    void xpby_each(const Context& context, const Vectors<const T>& x,
                   const NumberPerVector<T>& beta, const Vectors<T>& y);
    template <class T>
    void axpy_pair_dot(const Context& context, Scalar<T> alpha, const T* p, const T* q, T* x, T* r,
                       T* rr, Offset n);
    template <class T>
    void axpy_pair_dot_each(const Context& context, const NumberPerVector<T>& alpha,
                            const Vectors<const T>& p, const Vectors<const T>& q,
                            const Vectors<T>& x, const Vectors<T>& r,
                            const NumberPerVector<T>& rr);
    template <class T>
    void multiply_elementwise_each(const Context& context, const T* d, const Vectors<const T>& x,
                              const Vectors<T>& y);
    template <class T>
    void multiply_elementwise_dot(const Context& context, const T* d, const T* x, T* y, Offset n,
                                  T* xy);
    template <class T>
    void recurrence_step(const Context& context, const RecurrenceStep<T>& step, const T* q,
                         const T* x, const T* y, const T* r, T* next, Offset n);)
// clang-format on

/// Explicit instantiations of both backends.
#define TESSERA_INSTANTIATE_VECTOR_OPS(T)                                         \
    template decltype(dots<T>) dots<T>;                                           \
    template decltype(axpbypcz<T>) axpbypcz<T>;                                   \
    template decltype(combine<T>) combine<T>;                                     \
    template decltype(dot_each<T>) dot_each<T>;                                   \
    template decltype(xpby_each<T>) xpby_each<T>;                                 \
    template decltype(axpy_pair_dot<T>) axpy_pair_dot<T>;                         \
    template decltype(axpy_pair_dot_each<T>) axpy_pair_dot_each<T>;               \
    template decltype(multiply_elementwise_each<T>) multiply_elementwise_each<T>; \
    template decltype(multiply_elementwise_dot<T>) multiply_elementwise_dot<T>;   \
    template decltype(recurrence_step<T>) recurrence_step<T>;

}  // namespace tessera
