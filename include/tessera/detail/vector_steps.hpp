#pragma once

#include "tessera/context.hpp"

/// Vector operations of the library's own preconditioners and solvers; as in vector_ops.hpp.
namespace tessera {

/// A scalar argument: a number on the host, or one in the memory of a Context, read when work runs.
template <class T>
struct Scalar {
    T value{};
    const T* pointer = nullptr;
    Scalar(T number) : value(number) {}             // NOLINT(google-explicit-constructor)
    Scalar(const T* address) : pointer(address) {}  // NOLINT(google-explicit-constructor)
    Scalar(T* address) : pointer(address) {}        // NOLINT(google-explicit-constructor)
};

/// A number for each of several vectors, in the memory of a Context, `stride` bytes apart.
template <class T>
struct NumberPerVector {
    T* first = nullptr;
    Offset stride = 0;
};

// Operations on several vectors, each to the last bit as by the function for one; on a GPU one
// kernel for all.

/// *results[j] = x_j^T y_j.
template <class T>
TESSERA_API void dot_each(const Context& context, const Vectors<const T>& x,
                          const Vectors<const T>& y, const NumberPerVector<T>& results);
/// y_j = x_j + beta_j y_j. x may be y.
template <class T>
TESSERA_API void xpby_each(const Context& context, const Vectors<const T>& x,
                           const NumberPerVector<T>& beta, const Vectors<T>& y);
/// x_j += alpha_j p_j, r_j -= alpha_j q_j, *rr[j] = r_j^T r_j. No overlap.
template <class T>
TESSERA_API void axpy_pair_dot_each(const Context& context, const NumberPerVector<T>& alpha,
                                    const Vectors<const T>& p, const Vectors<const T>& q,
                                    const Vectors<T>& x, const Vectors<T>& r,
                                    const NumberPerVector<T>& rr);
/// y_j = diag(d) x_j. x may be y.
template <class T>
TESSERA_API void multiply_elementwise_each(const Context& context, Input<T> d,
                                           const Vectors<const T>& x, const Vectors<T>& y);

/// y_i = d_i x_i and *xy = x^T y in one pass, both bitwise equal to multiply_elementwise and dot.
/// No overlap.
template <class T>
TESSERA_API void multiply_elementwise_dot(const Context& context, Input<T> d, Input<T> x,
                                          std::span<std::type_identity_t<T>> y, T* xy);

/// One step of a three-term recurrence for a polynomial of a matrix A, with q = A x:
///   next = alpha q + beta x + gamma y + delta r,
/// added in this order with fused operations where the instruction set has them.
template <class T>
struct RecurrenceStep {
    T alpha, beta, gamma, delta;
};
/// `next` may be any of the vectors.
template <class T>
TESSERA_API void recurrence_step(const Context& context,
                                 const RecurrenceStep<std::type_identity_t<T>>& step, Input<T> q,
                                 Input<T> x, Input<T> y, Input<T> r, std::span<T> next);

/// y_i = x_i, rounded to nearest. With `square`, a number in the memory of `context`, scaled: to
/// float y_i = x_i / s, to double y_i = s x_i, s the power of two next below sqrt(*square), or 1 if
/// that is not positive and finite. With square = x^T x nothing overflows, and only negligible
/// values underflow.
template <class From, class To>
TESSERA_API void convert(const Context& context, std::span<const From> x, std::span<To> y,
                         const double* square = nullptr);

}  // namespace tessera
