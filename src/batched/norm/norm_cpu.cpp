#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "batched/norm/norm_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "simd/dispatch.hpp"
#include "simd/tiles/interleave-inl.h"

#ifndef TESSERA_BATCHED_NORM_CPU_ONCE
#define TESSERA_BATCHED_NORM_CPU_ONCE
namespace tessera::batched::cpu {

/// Values of each matrix that are in the lanes of vectors at a time, or one column.
inline constexpr Index panel_values = 256;

}  // namespace tessera::batched::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::batched::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace tessera::cpu::HWY_NAMESPACE;

/// The larger one, or NaN where one of them is.
template <class D>
HWY_INLINE hn::Vec<D> larger(D /* d */, hn::Vec<D> sum, hn::Vec<D> largest) {
    return hn::IfThenElse(hn::Or(hn::Gt(sum, largest), hn::IsNaN(sum)), sum, largest);
}

/// Norms of `count` matrices of n rows, one in each lane. `a` holds their starts, repeated up to
/// whole vectors of lanes; `scratch` takes n vectors, and those of one panel.
template <class T>
void norms_of_equal(bool rows, Index n, Index count, const T* const* a, Offset leading_dimension,
                    T* HWY_RESTRICT scratch, T* HWY_RESTRICT norms) {
    const hn::ScalableTag<T> d;
    const Index lanes = Index(hn::Lanes(d));
    const Index wide = n < panel_values ? panel_values / n : 1;
    T* HWY_RESTRICT sums = scratch;
    T* HWY_RESTRICT panel = scratch + n * lanes;
    for (Index b = 0; b < count; b += lanes) {
        auto norm = hn::Zero(d);
        for (Index first = 0; first < n; first += wide) {
            const Index columns = n - first < wide ? n - first : wide;
            interleave_columns(d, n, first, columns, a + b, leading_dimension, panel);
            if (rows) {
                for (Index i = 0; i < n; ++i) {
                    auto sum = first == 0 ? hn::Zero(d) : hn::Load(d, sums + i * lanes);
                    for (Index j = 0; j < columns; ++j) {
                        sum = hn::Add(sum, hn::Abs(hn::Load(d, panel + (i + j * n) * lanes)));
                    }
                    hn::Store(sum, d, sums + i * lanes);
                }
                continue;
            }
            for (Index j = 0; j < columns; ++j) {
                auto sum = hn::Zero(d);
                for (Index i = 0; i < n; ++i) {
                    sum = hn::Add(sum, hn::Abs(hn::Load(d, panel + (i + j * n) * lanes)));
                }
                norm = larger(d, sum, norm);
            }
        }
        if (rows) {
            for (Index i = 0; i < n; ++i) norm = larger(d, hn::Load(d, sums + i * lanes), norm);
        }
        hn::Store(norm, d, norms + b);
    }
}

}  // namespace tessera::batched::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "batched/norm/kernels.hpp"
#include "simd/batch.hpp"

namespace tessera::batched::cpu {

namespace {

double work(Index n) { return double(n) * n + 4; }

}  // namespace

template <class T>
void norm(const Context& context, Sums sums, const BatchView<const T>& a, T* norms,
          const Plan* plan) {
    const auto norms_of_equal = TESSERA_SIMD(context, norms_of_equal<T>);
    for_batch_parts(context, a, plan, work, [&](auto&& for_sets) {
        constexpr Index vectors = largest_size + panel_values;
        alignas(64) T scratch[vectors * batch_lanes];
        alignas(64) T found[batch_set];
        const T* starts[batch_set];
        for_sets([&](const BatchSet& set) {
            std::fill(found, found + set.count, T(0));
            if (set.n > 0) {
                list_starts(a, set, starts);
                norms_of_equal(sums == Sums::rows, set.n, set.count, starts,
                               a.sizes != nullptr ? set.n : a.leading_dimension, scratch, found);
            }
            for (Index k = 0; k < set.count; ++k) norms[set.members[k]] = found[k];
        });
    });
}

template decltype(norm<float>) norm<float>;
template decltype(norm<double>) norm<double>;

}  // namespace tessera::batched::cpu
#endif
