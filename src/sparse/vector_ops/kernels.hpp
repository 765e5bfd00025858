#pragma once

#include "tessera/vector_ops.hpp"

namespace tessera {

/// Elements that one partial sum of a reduction covers, on every backend.
inline constexpr Offset reduction_chunk = 4096;

/// Vectors that `dots` and `combine` walk in one pass over y.
inline constexpr int vectors_a_pass = 8;

// The backends of vector_ops.hpp; n elements, checked by the public functions.
#define TESSERA_VECTOR_OPS                                                                         \
    template <class T>                                                                             \
    void fill(const Context& context, T value, T* x, Offset n);                                    \
    template <class T>                                                                             \
    void dots(const Context& context, int count, const T* x, const T* y, Offset n, T* results);    \
    template <class T>                                                                             \
    void axpbypcz(const Context& context, Scalar<T> alpha, const T* x, Scalar<T> beta, const T* y, \
                  Scalar<T> gamma, T* z, Offset n);                                                \
    template <class T>                                                                             \
    void combine(const Context& context, int count, const T* x, const T* coefficients,             \
                 Scalar<T> beta, T* y, Offset n);                                                  \
    template <class T>                                                                             \
    void axpy_pair_dot(const Context& context, Scalar<T> alpha, const T* p, const T* q, T* x,      \
                       T* r, T* rr, Offset n);                                                     \
    template <class T>                                                                             \
    void multiply_elementwise(const Context& context, const T* d, const T* x, T* y, Offset n);     \
    template <class T>                                                                             \
    void multiply_elementwise_dot(const Context& context, const T* d, const T* x, T* y, Offset n,  \
                                  T* xy);                                                          \
    template <class T>                                                                             \
    void scaled_square(const Context& context, const T* d, const T* x, Offset n, T* result);       \
    template <class T>                                                                             \
    void recurrence_step(const Context& context, const RecurrenceStep<T>& step, const T* q,        \
                         const T* x, const T* y, const T* r, T* next, Offset n);                   \
    template <class From, class To>                                                                \
    void convert(const Context& context, const From* x, To* y, Offset n);                          \
    template <class From, class To>                                                                \
    void narrow(const Context& context, const From* d, const From* x, const From* square, To* y,   \
                Offset n);                                                                         \
    template <class From, class To>                                                                \
    void widen(const Context& context, const To* d, const From* x, const To* square, To* y,        \
               Offset n);                                                                          \
    template <class T>                                                                             \
    void fill_uniform(const Context& context, std::uint64_t seed, T* x, Offset n);                 \
    template <class T>                                                                             \
    void fill_normal(const Context& context, std::uint64_t seed, T* x, Offset n);

namespace cpu {
TESSERA_VECTOR_OPS
}
namespace cuda {
TESSERA_VECTOR_OPS
}

#undef TESSERA_VECTOR_OPS

/// Explicit instantiations of both backends.
#define TESSERA_INSTANTIATE_VECTOR_OPS                                \
    TESSERA_INSTANTIATE(float)                                        \
    TESSERA_INSTANTIATE(double)                                       \
    template decltype(convert<double, float>) convert<double, float>; \
    template decltype(narrow<double, float>) narrow<double, float>;   \
    template decltype(widen<float, double>) widen<float, double>;
#define TESSERA_INSTANTIATE(T)                                                  \
    template decltype(fill<T>) fill<T>;                                         \
    template decltype(dots<T>) dots<T>;                                         \
    template decltype(axpbypcz<T>) axpbypcz<T>;                                 \
    template decltype(combine<T>) combine<T>;                                   \
    template decltype(axpy_pair_dot<T>) axpy_pair_dot<T>;                       \
    template decltype(multiply_elementwise<T>) multiply_elementwise<T>;         \
    template decltype(multiply_elementwise_dot<T>) multiply_elementwise_dot<T>; \
    template decltype(scaled_square<T>) scaled_square<T>;                       \
    template decltype(recurrence_step<T>) recurrence_step<T>;                   \
    template decltype(fill_uniform<T>) fill_uniform<T>;                         \
    template decltype(fill_normal<T>) fill_normal<T>;

}  // namespace tessera
