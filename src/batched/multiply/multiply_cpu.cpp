#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "batched/multiply/multiply_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "simd/batch.hpp"
#include "simd/dispatch.hpp"
#include "simd/tiles/interleave-inl.h"

#ifndef TESSERA_BATCHED_MULTIPLY_CPU_ONCE
#define TESSERA_BATCHED_MULTIPLY_CPU_ONCE
namespace tessera::batched::cpu {

/// Products with matrices of equal size. Addresses are repeated up to whole vectors of lanes.
template <class T>
struct SameSizeProducts {
    bool transpose;
    T alpha;
    T beta;
    Index vectors;
    Offset x_leading_dimension;
    Offset y_leading_dimension;
    T* panel;      ///< One interleaved panel of A.
    T* vectors_x;  ///< Interleaved x, vectors x n; the sums follow.
    Index n = 0;
    Index count = 0;
    Offset a_leading_dimension = 0;
    const T* a[max_set_size] = {};
    const T* x[max_set_size] = {};
    T* y[max_set_size] = {};
};

}  // namespace tessera::batched::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::batched::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace tessera::cpu::HWY_NAMESPACE;

/// sums_i += sum_j a_ij x_j over the columns of a panel, ascending; x points at the first of these.
template <class D, class T>
HWY_INLINE void add_columns(D d, Index n, Index columns, const T* HWY_RESTRICT panel,
                            const T* HWY_RESTRICT x, T* HWY_RESTRICT sums) {
    const Index lanes = Index(hn::Lanes(d));
    const Index column = n * lanes;
    for (Index j = 0; j < columns; ++j) {
        const auto x_j = hn::Load(d, x + j * lanes);
        for (Index i = 0; i < column; i += lanes) {
            const auto a_ij = hn::Load(d, panel + j * column + i);
            hn::Store(hn::MulAdd(a_ij, x_j, hn::Load(d, sums + i)), d, sums + i);
        }
    }
}

/// sums_j = sum_i a_ij x_i for the columns of a panel; sums points at the first of these.
template <class D, class T>
HWY_INLINE void add_rows(D d, Index n, Index columns, const T* HWY_RESTRICT panel,
                         const T* HWY_RESTRICT x, T* HWY_RESTRICT sums) {
    const Index lanes = Index(hn::Lanes(d));
    for (Index j = 0; j < columns; ++j) {
        auto sum = hn::Zero(d);
        for (Index i = 0; i < n; ++i) {
            sum = hn::MulAdd(hn::Load(d, panel + (i + j * n) * lanes), hn::Load(d, x + i * lanes),
                             sum);
        }
        hn::Store(sum, d, sums + j * lanes);
    }
}

/// y = alpha sums + beta y for the matrices first .. first + Lanes(d) - 1; `old` is scratch for n
/// vectors.
template <class D, class T>
HWY_INLINE void store_products(D d, const SameSizeProducts<T>& set, Index first, Index vector,
                               T* HWY_RESTRICT sums, T* HWY_RESTRICT old) {
    const Index lanes = Index(hn::Lanes(d));
    const Index count = set.count - first < lanes ? set.count - first : lanes;
    const Offset start = vector * set.y_leading_dimension;
    if (set.beta != T(0)) {
        interleave(d, set.n, const_cast<const T* const*>(set.y) + first, start, old, lanes);
    }
    const auto alpha = hn::Set(d, set.alpha), beta = hn::Set(d, set.beta);
    for (Index i = 0; i < set.n * lanes; i += lanes) {
        auto value = hn::Mul(alpha, hn::Load(d, sums + i));
        if (set.beta != T(0)) value = hn::MulAdd(beta, hn::Load(d, old + i), value);
        hn::Store(value, d, sums + i);
    }
    T* to[hn::MaxLanes(D())];
    for (Index lane = 0; lane < count; ++lane) to[lane] = set.y[first + lane] + start;
    deinterleave(d, count, set.n, sums, lanes, to);
}

/// Products with all matrices, one per lane.
template <class T>
void multiply_set(const SameSizeProducts<T>& set) {
    const hn::ScalableTag<T> d;
    const Index lanes = Index(hn::Lanes(d));
    const Index n = set.n;
    T* HWY_RESTRICT x = set.vectors_x;
    T* HWY_RESTRICT sums = x + set.vectors * n * lanes;
    for (Index b = 0; b < set.count; b += lanes) {
        for (Index v = 0; v < set.vectors; ++v) {
            interleave(d, n, set.x + b, v * set.x_leading_dimension, x + v * n * lanes, lanes);
        }
        for (Index i = 0; i < set.vectors * n; ++i) hn::Store(hn::Zero(d), d, sums + i * lanes);
        const auto add_panel = [&](Index first, Index columns) HWY_ATTR {
            for (Index v = 0; v < set.vectors; ++v) {
                const T* x_v = x + v * n * lanes;
                T* sums_v = sums + v * n * lanes;
                if (set.transpose) {
                    add_rows(d, n, columns, set.panel, x_v, sums_v + first * lanes);
                } else {
                    add_columns(d, n, columns, set.panel, x_v + first * lanes, sums_v);
                }
            }
        };
        for_panels(d, n, set.a + b, set.a_leading_dimension, set.panel, add_panel);
        for (Index v = 0; v < set.vectors; ++v) {
            store_products(d, set, b, v, sums + v * n * lanes, set.panel);
        }
    }
}

}  // namespace tessera::batched::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <vector>

#include "batched/multiply/kernels.hpp"

namespace tessera::batched::cpu {

template <class T>
void multiply(const Context& context, T alpha, const BatchView<const T>& a, Transpose transpose,
              const VectorsView<const T>& x, T beta, const VectorsView<T>& y, const Plan* plan) {
    const auto multiply_set = TESSERA_SIMD(context, multiply_set<T>);
    const Index largest = plan != nullptr ? plan->largest() : a.size;
    const auto work = [&](Index n) { return double(n) * (n + 4) * x.vectors + 4; };
    for_batch_parts(context, a, plan, work, [&](auto&& for_sets) {
        const Offset panel_vectors = std::max(panel_values, largest);
        std::vector<CacheLine> scratch(
            std::size_t(panel_vectors + 2 * Offset(x.vectors) * largest));
        T* const panel = reinterpret_cast<T*>(scratch.data());
        SameSizeProducts<T> equal{transpose == Transpose::yes,
                                  alpha,
                                  beta,
                                  x.vectors,
                                  x.leading_dimension,
                                  y.leading_dimension,
                                  panel,
                                  panel + panel_vectors * Offset(sizeof(CacheLine) / sizeof(T))};
        for_sets([&](const BatchSet& set) {
            if (set.n == 0) return;
            equal.n = set.n;
            equal.count = set.count;
            equal.a_leading_dimension = leading_dimension_of(a, set.n);
            gather_addresses(a, set, equal.a);
            gather_addresses(x, set, equal.x);
            gather_addresses(y, set, equal.y);
            multiply_set(equal);
        });
    });
}

template decltype(multiply<float>) multiply<float>;
template decltype(multiply<double>) multiply<double>;

}  // namespace tessera::batched::cpu
#endif
