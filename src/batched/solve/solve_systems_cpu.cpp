#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "batched/solve/solve_systems_cpu.cpp"
#include "batched/solve/kernels.hpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "simd/batch.hpp"
#include "simd/dispatch.hpp"
#include "simd/tiles/elimination_lanes-inl.h"
#include "simd/tiles/interleave-inl.h"

#ifndef TESSERA_BATCHED_SOLVE_SYSTEMS_CPU_ONCE
#define TESSERA_BATCHED_SOLVE_SYSTEMS_CPU_ONCE
namespace tessera::batched::cpu {

/// Right-hand sides that are eliminated at once; more take several passes.
inline constexpr Index vectors_per_pass = 16;

/// Systems of n equations. Addresses are repeated up to whole vectors of lanes.
template <class T>
struct SystemSet {
    const SystemJob<T>& job;
    T* scratch;  ///< Vectors: n^2 for matrices, n for each right-hand side, 2 n of work, n of rows.
    Index n = 0;
    Index count = 0;
    Offset leading_dimension = 0;
    const T* a[max_set_size] = {};
    const T* b[max_set_size] = {};
    T* x[max_set_size] = {};
    Index info[max_set_size] = {};
};

}  // namespace tessera::batched::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::batched::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace tessera::cpu::HWY_NAMESPACE;

/// The largest magnitude of the matrices in the lanes; of a symmetric one below the diagonal.
template <class D, class T>
HWY_INLINE hn::Vec<D> largest_entries(D d, Index n, bool symmetric, const T* HWY_RESTRICT a) {
    const Index lanes = Index(hn::Lanes(d));
    auto largest = hn::Zero(d);
    for (Index j = 0; j < n; ++j) {
        for (Index i = symmetric ? j : 0; i < n; ++i) {
            largest = hn::Max(largest, hn::Abs(hn::Load(d, a + (i + j * n) * lanes)));
        }
    }
    return largest;
}

/// Solves the systems first .. first + Lanes(d) - 1, one in each lane, for the `vectors` right-hand
/// sides from v0 on.
template <class D, class T>
HWY_INLINE void solve_lanes(D d, SystemSet<T>& set, Index first, Index v0, Index vectors) {
    using TI = hn::TFromD<hn::RebindToSigned<D>>;
    const Index lanes = Index(hn::Lanes(d));
    const Index n = set.n;
    const bool pivoting = set.job.pivoting();
    const bool row_major = pivoting && set.job.a.layout == Layout::row_major;
    T* HWY_RESTRICT a = set.scratch;
    T* HWY_RESTRICT work = a + n * (n + vectors) * lanes;
    TI* HWY_RESTRICT rows = reinterpret_cast<TI*>(work + 2 * n * lanes);
    const auto vector = [&](Index v) HWY_ATTR { return a + n * (n + v) * lanes; };
    interleave_matrices(d, n, set.a + first, set.leading_dimension, row_major, a);
    for (Index v = 0; v < vectors; ++v) {
        interleave(d, n, set.b + first, (v0 + v) * set.job.b.leading_dimension, vector(v), lanes);
    }
    const auto largest = largest_entries(d, n, !pivoting, a);
    const auto none = hn::Zero(d);
    const auto record = pivoting
                            ? ldu_interleaved<true, true>(d, n, n + vectors, a, none, work, rows)
                            : llt_interleaved(d, n, a, none);
    const auto bound = hn::Mul(largest, hn::Set(d, T(n) * hwy::Epsilon<T>()));
    const auto failed = hn::Ne(record.info, none);
    const auto near_singular = hn::AndNot(failed, hn::Lt(record.smallest, bound));
    HWY_ALIGN T info[hn::MaxLanes(D())];
    hn::Store(hn::IfThenElse(near_singular, hn::Set(d, T(n + 1)), record.info), d, info);
    const Index count = set.count - first < lanes ? set.count - first : lanes;
    for (Index lane = 0; lane < count; ++lane) set.info[first + lane] = Index(info[lane]);
    for (Index v = 0; v < vectors; ++v) {
        T* HWY_RESTRICT y = vector(v);
        pivoting ? substitute_ldu(d, n, a, y) : substitute_llt(d, n, a, y);
        for (Index i = 0; i < n; ++i) {
            const auto value = hn::Load(d, y + i * lanes);
            hn::Store(hn::IfThenElse(failed, hn::NaN(d), value), d, y + i * lanes);
        }
        T* to[hn::MaxLanes(D())] = {};
        for (Index l = 0; l < count; ++l) {
            to[l] = set.x[first + l] + (v0 + v) * set.job.x.leading_dimension;
        }
        deinterleave(d, count, n, y, lanes, to);
    }
}

template <class T>
void solve_set(SystemSet<T>& set) {
    const hn::ScalableTag<T> d;
    for (Index k = 0; k < set.count; k += Index(hn::Lanes(d))) {
        Index v = 0;
        do {  // Once at least, for the info.
            const Index left = set.job.b.vectors - v;
            solve_lanes(d, set, k, v, left < vectors_per_pass ? left : vectors_per_pass);
            v += vectors_per_pass;
        } while (v < set.job.b.vectors);
    }
}

}  // namespace tessera::batched::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <vector>

namespace tessera::batched::cpu {

template <class T>
void solve_systems(const Context& context, const SystemJob<T>& job) {
    const auto solve_set = TESSERA_SIMD(context, solve_set<T>);
    const Index largest = job.plan != nullptr ? job.plan->largest() : job.a.size;
    const auto cost = [&](Index n) { return double(n) * n * (n + 4 + 2 * job.b.vectors) + 4; };
    for_batch_parts(context, job.a, job.plan, cost, [&](auto&& for_sets) {
        std::vector<CacheLine> scratch(
            std::size_t(largest * (largest + 3 + std::min(job.b.vectors, vectors_per_pass))));
        SystemSet<T> equal{job, reinterpret_cast<T*>(scratch.data())};
        for_sets([&](const BatchSet& set) {
            if (set.n == 0) return;
            equal.n = set.n;
            equal.count = set.count;
            equal.leading_dimension = leading_dimension_of(job.a, set.n);
            gather_addresses(job.a, set, equal.a);
            gather_addresses(job.b, set, equal.b);
            gather_addresses(job.x, set, equal.x);
            solve_set(equal);
            for (Index k = 0; k < set.count && job.info != nullptr; ++k) {
                job.info[set.members[k]] = equal.info[k];
            }
        });
    });
}

template decltype(solve_systems<float>) solve_systems<float>;
template decltype(solve_systems<double>) solve_systems<double>;

}  // namespace tessera::batched::cpu
#endif
