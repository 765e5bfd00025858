#pragma once

#include "tessera/context.hpp"
#include "tessera/detail/vector_steps.hpp"

namespace tessera {

// The vector operations of all Krylov methods. All vectors and pointers are in the memory
// of `context`; sizes must agree (InvalidArgument otherwise). None allocates after the first call
// with a given size. None blocks, except that a GPU context reads its events after every 4096 timed
// calls. Sums run over fixed chunks of 4096 elements in a fixed tree, so results are bitwise
// repeatable and independent of the number of threads.
// A Scalar is a number, or the address of one in the memory of `context`, read when work runs. A
// coefficient that is exactly 0 means that its vector is not read (as in BLAS).

/// x_i = value.
template <class T>
TESSERA_API void fill(const Context& context, std::type_identity_t<T> value, std::span<T> x);
TESSERA_ACCEPT_OWNERS(fill)

/// *result = x^T y. |error| <= gamma_m |x|^T |y| with m = 4096 + log2(n / 4096).
template <class T>
TESSERA_API void dot(const Context& context, Input<T> x, Input<T> y, T* result);
/// Without a place for the result: does not compile.
template <class X, class Y>
void dot(const Context&, std::span<X>, std::span<Y>) {
    static_assert(detail::never<X>,
                  "dot writes its result to the memory of the Context; dot_to_host(context, x, y) "
                  "waits for it and returns it");
}
TESSERA_ACCEPT_OWNERS(dot)
/// x^T y, as by dot. Blocks until the work is complete.
template <class T>
std::remove_const_t<T> dot_to_host(const Context& context, std::span<T> x,
                                   Input<std::remove_const_t<T>> y) {
    Buffer<std::remove_const_t<T>> result(context, 1);
    dot<std::remove_const_t<T>>(context, x, y, result.data());
    return copy_to_host(context, result).front();
}
TESSERA_ACCEPT_OWNERS(dot_to_host)

/// results[j] = X_j^T y for `count` vectors X_j = x + j * n stored one after the other; y is read
/// once for up to eight of them.
template <class T>
TESSERA_API void dots(const Context& context, int count, Input<T> x, Input<T> y, T* results);

/// y = alpha x + beta y. x may be y.
template <class T>
TESSERA_API void axpby(const Context& context, Scalar<std::type_identity_t<T>> alpha, Input<T> x,
                       Scalar<std::type_identity_t<T>> beta, std::span<T> y);
TESSERA_ACCEPT_OWNERS(axpby)

/// z = alpha x + beta y + gamma z. x and y may be z.
template <class T>
TESSERA_API void axpbypcz(const Context& context, Scalar<std::type_identity_t<T>> alpha, Input<T> x,
                          Scalar<std::type_identity_t<T>> beta, Input<T> y,
                          Scalar<std::type_identity_t<T>> gamma, std::span<T> z);
TESSERA_ACCEPT_OWNERS(axpbypcz)

/// y = beta y + sum_j coefficients[j] X_j, X_j = x + j * n as in dots, coefficients in the memory
/// of `context`; y is read and written once for up to eight vectors.
template <class T>
TESSERA_API void combine(const Context& context, int count, Input<T> x,
                         const std::type_identity_t<T>* coefficients,
                         Scalar<std::type_identity_t<T>> beta, std::span<T> y);

/// x += alpha p, r -= alpha q, *rr = r^T r: the update of conjugate gradients in one pass. The
/// vectors must not overlap.
template <class T>
TESSERA_API void axpy_pair_dot(const Context& context, Scalar<std::type_identity_t<T>> alpha,
                               Input<T> p, Input<T> q, std::span<std::type_identity_t<T>> x,
                               std::span<std::type_identity_t<T>> r, T* rr);

/// y_i = d_i x_i. x may be y.
template <class T>
TESSERA_API void multiply_elementwise(const Context& context, Input<T> d, Input<T> x,
                                      std::span<T> y);
TESSERA_ACCEPT_OWNERS(multiply_elementwise)

/// x_i uniform in [0, 1), and x_i standard normal (Box-Muller), from the counter-based generator
/// Philox 4x32-10 keyed by `seed`: element i depends on (seed, i) alone, and is the same on every
/// backend (the normal ones up to the last bits of log, sin and cos).
template <class T>
TESSERA_API void fill_uniform(const Context& context, std::uint64_t seed, std::span<T> x);
TESSERA_ACCEPT_OWNERS(fill_uniform)
template <class T>
TESSERA_API void fill_normal(const Context& context, std::uint64_t seed, std::span<T> x);
TESSERA_ACCEPT_OWNERS(fill_normal)

}  // namespace tessera
