#pragma once

#include "tessera/context.hpp"

/// Vector operations of the library's own preconditioners and solvers; as in vector_ops.hpp.
namespace tessera {

/// The same as multiply_elementwise, and *xy = x^T y, in one pass; both to the last bit those of
/// multiply_elementwise and dot. No overlap.
template <class T>
TESSERA_API void multiply_elementwise_dot(const Context& context, Input<T> d, Input<T> x,
                                          std::span<std::type_identity_t<T>> y, T* xy);

/// *result = sum of (d_i x_i)^2, each product rounded to T.
template <class T>
TESSERA_API void scaled_square(const Context& context, Input<T> d, Input<T> x, T* result);

/// One step of a three-term recurrence for a polynomial of a matrix A, with q = A x:
///   next = product q + own x + before y + given r,
/// added in this order with fused operations where the instruction set has them.
template <class T>
struct RecurrenceStep {
    T product, own, before, given;
};
/// `next` may be any of the vectors.
template <class T>
TESSERA_API void recurrence_step(const Context& context,
                                 const RecurrenceStep<std::type_identity_t<T>>& step, Input<T> q,
                                 Input<T> x, Input<T> y, Input<T> r, std::span<T> next);

/// y_i = x_i, rounded to nearest.
template <class From, class To>
TESSERA_API void convert(const Context& context, std::span<const From> x, std::span<To> y);

/// y_i = d_i x_i / s rounded to nearest, s the power of two next below sqrt(*square) (1 where that
/// is no positive finite number), in the memory of `context`: with square = x^T x nothing under- or
/// overflows in y that matters. `widen` is the inverse, y_i = s d_i x_i. An empty d: ones.
template <class From, class To>
TESSERA_API void narrow(const Context& context, std::span<const From> d, std::span<const From> x,
                        const From* square, std::span<To> y);
template <class From, class To>
TESSERA_API void widen(const Context& context, std::span<const To> d, std::span<const From> x,
                       const To* square, std::span<To> y);

}  // namespace tessera
