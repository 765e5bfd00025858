#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sparse/vector_ops/vector_ops_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "tessera/vector_ops.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The last n < lanes elements, padded with zeros: Highway's MaskedLoad may read past the end of an
/// array on SSE4, and scalar code would round differently.
template <class D, class T>
static HWY_INLINE hn::Vec<D> load_tail(D d, const T* from, Offset n) {
    HWY_ALIGN T padded[hn::MaxLanes(D())] = {};
    for (Offset k = 0; k < n; ++k) padded[k] = from[k];
    return hn::Load(d, padded);
}

template <class D, class T>
static HWY_INLINE void store_tail(hn::Vec<D> value, D d, T* to, Offset n) {
    HWY_ALIGN T padded[hn::MaxLanes(D())];
    hn::Store(value, d, padded);
    for (Offset k = 0; k < n; ++k) to[k] = padded[k];
}

/// x^T y in four vector accumulators; at most one chunk, so that the order depends on n only.
template <class T>
static T dot_chunk(const T* x, const T* y, Offset n) {
    const hn::ScalableTag<T> d;
    const Offset lanes = Offset(hn::Lanes(d));
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    Offset i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
        s0 = hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, y + i), s0);
        s1 = hn::MulAdd(hn::LoadU(d, x + i + lanes), hn::LoadU(d, y + i + lanes), s1);
        s2 = hn::MulAdd(hn::LoadU(d, x + i + 2 * lanes), hn::LoadU(d, y + i + 2 * lanes), s2);
        s3 = hn::MulAdd(hn::LoadU(d, x + i + 3 * lanes), hn::LoadU(d, y + i + 3 * lanes), s3);
    }
    for (; i + lanes <= n; i += lanes) {
        s0 = hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, y + i), s0);
    }
    if (i < n) {
        s1 = hn::MulAdd(load_tail(d, x + i, n - i), load_tail(d, y + i, n - i), s1);
    }
    return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
}

/// to_i = value(load) with load(x) for the elements of x.
template <class T, class F>
static HWY_INLINE void map_range(T* to, Offset n, F&& value) {
    const hn::ScalableTag<T> d;
    const Offset lanes = Offset(hn::Lanes(d));
    Offset i = 0;
    for (; i + lanes <= n; i += lanes) {
        hn::StoreU(value([&](const T* from) { return hn::LoadU(d, from + i); }), d, to + i);
    }
    if (i < n) {
        store_tail(value([&](const T* from) { return load_tail(d, from + i, n - i); }), d, to + i,
                   n - i);
    }
}

/// z = alpha x + beta y + gamma z; a vector whose coefficient is 0 is not read.
template <class T>
static void axpbypcz_range(T alpha, const T* x, T beta, const T* y, T gamma, T* z, Offset n) {
    if (alpha == T(0) && beta == T(0) && gamma == T(1)) return;
    const hn::ScalableTag<T> d;
    const auto va = hn::Set(d, alpha), vb = hn::Set(d, beta), vc = hn::Set(d, gamma);
    const bool with_x = alpha != T(0), with_y = beta != T(0), with_z = gamma != T(0);
    map_range(z, n, [&](auto load) {
        auto sum = hn::Zero(d);
        if (with_z) sum = gamma == T(1) ? load(z) : hn::Mul(vc, load(z));
        if (with_y) sum = hn::MulAdd(vb, load(y), sum);
        if (with_x) sum = hn::MulAdd(va, load(x), sum);
        return sum;
    });
}

template <class T>
static void multiply_range(const T* a, const T* x, T* y, Offset n) {
    map_range(y, n, [&](auto load) { return hn::Mul(load(a), load(x)); });
}

template <class T>
static void recurrence_range(const RecurrenceStep<T>& step, const T* q, const T* x, const T* y,
                             const T* r, T* next, Offset n) {
    const hn::ScalableTag<T> d;
    const auto alpha = hn::Set(d, step.alpha), beta = hn::Set(d, step.beta);
    const auto gamma = hn::Set(d, step.gamma), delta = hn::Set(d, step.delta);
    map_range(next, n, [&](auto load) {
        auto sum = hn::Mul(alpha, load(q));
        if (step.beta != T(0)) sum = hn::MulAdd(beta, load(x), sum);
        if (step.gamma != T(0)) sum = hn::MulAdd(gamma, load(y), sum);
        if (step.delta != T(0)) sum = hn::MulAdd(delta, load(r), sum);
        return sum;
    });
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>

#include "base/context_state.hpp"
#include "base/parallel.hpp"
#include "simd/dispatch.hpp"
#include "sparse/vector_ops/kernels.hpp"

namespace tessera::cpu {

namespace {

template <class T>
T value_of(const Scalar<T>& scalar) {
    return scalar.pointer != nullptr ? *scalar.pointer : scalar.value;
}

/// f(first, last) over 0..n in steps of whole chunks; each range is one chunk or less.
template <class F>
void for_chunks(const Context& context, Offset n, F&& f) {
    const Offset chunks = (n + reduction_chunk - 1) / reduction_chunk;
    parallel_ranges(
        context.threads(), chunks,
        [&](Offset first_chunk, Offset last_chunk) {
            for (Offset c = first_chunk; c < last_chunk; ++c) {
                f(c, c * reduction_chunk, std::min(n, (c + 1) * reduction_chunk));
            }
        },
        parallel_grain / reduction_chunk);
}

/// Sum of the partial sums in a binary tree over their positions.
template <class T>
T tree_sum(const T* partial, Offset count) {
    if (count == 0) return T(0);
    if (count == 1) return partial[0];
    const Offset half = (count + 1) / 2;
    return tree_sum(partial, half) + tree_sum(partial + half, count - half);
}

/// results[j] = the sum of part(j, first, last) over all chunks, for j < count.
template <class T, class F>
void sum_chunks(const Context& context, int count, Offset n, T* results, F&& part) {
    const Offset chunks = (n + reduction_chunk - 1) / reduction_chunk;
    T* partial =
        static_cast<T*>(reduction_scratch(context, Offset(sizeof(T)) * (chunks * count + 1)));
    for_chunks(context, n, [&](Offset c, Offset first, Offset last) {
        for (int j = 0; j < count; ++j) partial[j * chunks + c] = part(j, first, last);
    });
    for (int j = 0; j < count; ++j) results[j] = tree_sum(partial + j * chunks, chunks);
}

}  // namespace

template <class T>
void dots(const Context& context, int count, const T* x, const T* y, Offset n, T* results) {
    const auto dot_chunk = TESSERA_SIMD(context, dot_chunk<T>);
    sum_chunks(context, count, n, results, [&](int j, Offset first, Offset last) {
        return dot_chunk(x + j * n + first, y + first, last - first);
    });
}

template <class T>
void axpbypcz(const Context& context, Scalar<T> alpha, const T* x, Scalar<T> beta, const T* y,
              Scalar<T> gamma, T* z, Offset n) {
    const auto range = TESSERA_SIMD(context, axpbypcz_range<T>);
    const T a = value_of(alpha), b = value_of(beta), c = value_of(gamma);
    parallel_ranges(context.threads(), n, [&](Offset first, Offset last) {
        range(a, x + first, b, y + first, c, z + first, last - first);
    });
}

template <class T>
void combine(const Context& context, int count, const T* x, const T* coefficients, Scalar<T> beta,
             T* y, Offset n) {
    const auto range = TESSERA_SIMD(context, axpbypcz_range<T>);
    const T b = value_of(beta);
    for_chunks(context, n, [&](Offset, Offset first, Offset last) {
        T scale = b;
        if (count == 0) range(T(0), y, T(0), y, scale, y + first, last - first);
        for (int j = 0; j < count; ++j) {
            range(coefficients[j], x + j * n + first, T(0), y, scale, y + first, last - first);
            scale = T(1);
        }
    });
}

template <class T>
void axpy_pair_dot(const Context& context, Scalar<T> alpha, const T* p, const T* q, T* x, T* r,
                   T* rr, Offset n) {
    const auto range = TESSERA_SIMD(context, axpbypcz_range<T>);
    const auto dot_chunk = TESSERA_SIMD(context, dot_chunk<T>);
    const T a = value_of(alpha);
    sum_chunks(context, 1, n, rr, [&](int, Offset first, Offset last) {
        range(a, p + first, T(0), p, T(1), x + first, last - first);
        range(-a, q + first, T(0), q, T(1), r + first, last - first);
        return dot_chunk(r + first, r + first, last - first);
    });
}

template <class T>
void multiply_elementwise_each(const Context& context, const T* d, const Vectors<const T>& x,
                               const Vectors<T>& y) {
    const auto range = TESSERA_SIMD(context, multiply_range<T>);
    for (int j = 0; j < x.count; ++j) {
        parallel_ranges(context.threads(), x.size, [&](Offset first, Offset last) {
            range(d + first, x[j].data() + first, y[j].data() + first, last - first);
        });
    }
}

template <class T>
void dot_each(const Context& context, const Vectors<const T>& x, const Vectors<const T>& y,
              const NumberPerVector<T>& results) {
    for (int j = 0; j < x.count; ++j) {
        dots<T>(context, 1, x[j].data(), y[j].data(), x.size, number(results, j));
    }
}

template <class T>
void xpby_each(const Context& context, const Vectors<const T>& x, const NumberPerVector<T>& beta,
               const Vectors<T>& y) {
    for (int j = 0; j < x.count; ++j) {
        const T* const from = x[j].data();
        axpbypcz<T>(context, T(1), from, T(0), from, number(beta, j), y[j].data(), x.size);
    }
}

template <class T>
void axpy_pair_dot_each(const Context& context, const NumberPerVector<T>& alpha,
                        const Vectors<const T>& p, const Vectors<const T>& q, const Vectors<T>& x,
                        const Vectors<T>& r, const NumberPerVector<T>& rr) {
    for (int j = 0; j < x.count; ++j) {
        axpy_pair_dot<T>(context, number(alpha, j), p[j].data(), q[j].data(), x[j].data(),
                         r[j].data(), number(rr, j), x.size);
    }
}

template <class T>
void recurrence_step(const Context& context, const RecurrenceStep<T>& step, const T* q, const T* x,
                     const T* y, const T* r, T* next, Offset n) {
    const auto range = TESSERA_SIMD(context, recurrence_range<T>);
    parallel_ranges(context.threads(), n, [&](Offset first, Offset last) {
        range(step, q + first, x + first, y + first, r + first, next + first, last - first);
    });
}

template <class T>
void multiply_elementwise_dot(const Context& context, const T* d, const T* x, T* y, Offset n,
                              T* xy) {
    const auto range = TESSERA_SIMD(context, multiply_range<T>);
    const auto dot_chunk = TESSERA_SIMD(context, dot_chunk<T>);
    sum_chunks(context, 1, n, xy, [&](int, Offset first, Offset last) {
        range(d + first, x + first, y + first, last - first);
        return dot_chunk(x + first, y + first, last - first);
    });
}

TESSERA_INSTANTIATE_VECTOR_OPS(float)
TESSERA_INSTANTIATE_VECTOR_OPS(double)

}  // namespace tessera::cpu
#endif  // HWY_ONCE
