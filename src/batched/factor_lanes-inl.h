// What the factorisations with a matrix in each lane share. Included once for each instruction set
// (see simd/dispatch.hpp).
#if defined(TESSERA_BATCHED_FACTOR_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_BATCHED_FACTOR_LANES_INL_H_
#undef TESSERA_BATCHED_FACTOR_LANES_INL_H_
#else
#define TESSERA_BATCHED_FACTOR_LANES_INL_H_
#endif

#include "batched/factor_sets.hpp"
#include "hwy/highway.h"
#include "simd/tiles/elimination_lanes-inl.h"
#include "simd/tiles/interleave-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::batched::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace tessera::cpu::HWY_NAMESPACE;

/// Writes the factors of members first .. first + Lanes(d) - 1 of a set, one in each lane of the
/// scratch, and notes their pivots.
template <class D, class T>
HWY_INLINE void store_lanes(D d, const FactorSet<T>& set, Index first,
                            const LanePivots<hn::Vec<D>>& pivots) {
    const Index lanes = Index(hn::Lanes(d));
    HWY_ALIGN T told[5][hn::MaxLanes(D())];
    hn::Store(pivots.info, d, told[0]);
    hn::Store(pivots.failed, d, told[1]);
    hn::Store(pivots.perturbed, d, told[2]);
    hn::Store(pivots.perturbation, d, told[3]);
    hn::Store(pivots.smallest, d, told[4]);
    const Index count = set.count - first < lanes ? set.count - first : lanes;
    separate_matrices(d, count, set.n, set.scratch, set.f_leading_dimension, false, set.f + first);
    for (Index lane = 0; lane < count; ++lane) {
        PivotRecord<T> record;
        record.info = Index(told[0][lane]);
        if (told[1][lane] != T(0)) {
            record.fail(record.info - 1);
        } else {
            record.perturbed = Index(told[2][lane]);
            record.perturbation = told[3][lane];
            record.smallest = told[4][lane];
        }
        set.note(first + lane, record);
    }
}

}  // namespace tessera::batched::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
