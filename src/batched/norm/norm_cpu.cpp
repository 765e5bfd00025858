#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "batched/norm/norm_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "simd/dispatch.hpp"
#include "simd/tiles/interleave-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::batched::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace tessera::cpu::HWY_NAMESPACE;

/// The maximum of `sum` and `largest`; NaN if one of them is NaN.
template <class D>
HWY_INLINE hn::Vec<D> larger(D /* d */, hn::Vec<D> sum, hn::Vec<D> largest) {
    return hn::IfThenElse(hn::Or(hn::Gt(sum, largest), hn::IsNaN(sum)), sum, largest);
}

/// Norms of `count` matrices of n rows, one per lane. `a` holds their addresses, repeated up to
/// whole vectors of lanes; `scratch` holds n vectors and one panel.
template <class T>
void norms_of_set(bool rows, Index n, Index count, const T* const* a, Offset leading_dimension,
                  T* HWY_RESTRICT scratch, T* HWY_RESTRICT norms) {
    const hn::ScalableTag<T> d;
    const Index lanes = Index(hn::Lanes(d));
    T* HWY_RESTRICT sums = scratch;
    T* HWY_RESTRICT panel = scratch + n * lanes;
    for (Index b = 0; b < count; b += lanes) {
        auto norm = hn::Zero(d);
        for_panels(d, n, a + b, leading_dimension, panel, [&](Index first, Index columns) HWY_ATTR {
            for (Index i = 0; rows && i < n; ++i) {
                auto sum = first == 0 ? hn::Zero(d) : hn::Load(d, sums + i * lanes);
                for (Index j = 0; j < columns; ++j) {
                    sum = hn::Add(sum, hn::Abs(hn::Load(d, panel + (i + j * n) * lanes)));
                }
                hn::Store(sum, d, sums + i * lanes);
            }
            for (Index j = 0; !rows && j < columns; ++j) {
                auto sum = hn::Zero(d);
                for (Index i = 0; i < n; ++i) {
                    sum = hn::Add(sum, hn::Abs(hn::Load(d, panel + (i + j * n) * lanes)));
                }
                norm = larger(d, sum, norm);
            }
        });
        for (Index i = 0; rows && i < n; ++i) {
            norm = larger(d, hn::Load(d, sums + i * lanes), norm);
        }
        hn::Store(norm, d, norms + b);
    }
}

}  // namespace tessera::batched::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "batched/norm/kernels.hpp"

namespace tessera::batched::cpu {

template <class T>
void norm(const Context& context, Sums sums, const BatchView<const T>& a, T* norms,
          const Plan* plan) {
    const auto norms_of_set = TESSERA_SIMD(context, norms_of_set<T>);
    const auto work = [](Index n) { return double(n) * n + 4; };
    for_batch_parts(context, a, plan, work, [&](auto&& for_sets) {
        constexpr Index vectors = largest_size + panel_values;
        alignas(64) T scratch[vectors * lane_alignment];
        alignas(64) T results[max_set_size];
        const T* starts[max_set_size];
        for_sets([&](const BatchSet& set) {
            std::fill(results, results + set.count, T(0));
            if (set.n > 0) {
                gather_addresses(a, set, starts);
                norms_of_set(sums == Sums::rows, set.n, set.count, starts,
                             leading_dimension_of(a, set.n), scratch, results);
            }
            for (Index k = 0; k < set.count; ++k) norms[set.members[k]] = results[k];
        });
    });
}

template decltype(norm<float>) norm<float>;
template decltype(norm<double>) norm<double>;

}  // namespace tessera::batched::cpu
#endif
