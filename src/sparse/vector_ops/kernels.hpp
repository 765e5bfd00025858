#pragma once

#include "sparse/power_below_root.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

/// Elements that one partial sum of a reduction covers, on every backend.
inline constexpr Offset reduction_chunk = 4096;

/// Vectors that `dots` and `combine` walk in one pass over y.
inline constexpr int vectors_a_pass = 8;

// The entries behind vector_ops.hpp; n elements, checked by the public functions.
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

#define TESSERA_INSTANTIATE_CONVERSIONS                                                            \
    template void convert<double, float>(const Context&, const double*, float*, Offset);           \
    template void convert<float, double>(const Context&, const float*, double*, Offset);           \
    template void narrow<double, float>(const Context&, const double*, const double*,              \
                                        const double*, float*, Offset);                            \
    template void widen<float, double>(const Context&, const double*, const float*, const double*, \
                                       double*, Offset);                                           \
    template void widen<double, double>(const Context&, const double*, const double*,              \
                                        const double*, double*, Offset);

}  // namespace tessera
