#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "batched/invert/invert_cpu.cpp"
#include "batched/invert/kernels.hpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "simd/batch.hpp"
#include "simd/dispatch.hpp"
#include "simd/tiles/gauss_jordan-inl.h"
#include "simd/tiles/gauss_jordan_single-inl.h"
#include "simd/tiles/interleave-inl.h"

#ifndef TESSERA_BATCHED_INVERT_CPU_ONCE
#define TESSERA_BATCHED_INVERT_CPU_ONCE
namespace tessera::batched::cpu {

/// Matrices of up to this many rows are interleaved across vector lanes, one per lane; larger ones
/// are inverted one by one. Interleaved matrices take 0.6 of the time at 24 rows, 0.9 (double) and
/// 0.7 (float) at 28, 1.6 and 1.3 at 32 (AVX-512, first-level cache of 48 KiB).
inline constexpr Index max_interleaved_rows = 28;

/// Matrices of equal size, and their results. Addresses are repeated up to whole vectors of lanes.
template <class T>
struct SameSizeMatrices {
    const InvertJob<T>& job;
    T* scratch;
    Index n = 0;
    Index count = 0;
    Offset a_leading_dimension = 0;
    Offset x_leading_dimension = 0;
    const T* a[max_set_size] = {};
    T* x[max_set_size] = {};
    Index info[max_set_size] = {};
    alignas(
        64) T norm_a[max_set_size] = {};  ///< Infinity norms of A and of its inverse, if requested.
    alignas(64) T norm_x[max_set_size] = {};

    bool row_major() const { return job.a.layout == Layout::row_major; }
    bool wants_condition() const { return job.results.reciprocal_condition != nullptr; }
};

}  // namespace tessera::batched::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::batched::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace tessera::cpu::HWY_NAMESPACE;

/// to[k] = from[rows[k]] for k < n: one column of an inverse.
template <class D, class T, class TI>
HWY_INLINE void permute_column(D d, Index n, const T* HWY_RESTRICT from,
                               const TI* HWY_RESTRICT rows, T* HWY_RESTRICT to) {
    const hn::RebindToSigned<D> di;
    const Index lanes = Index(hn::Lanes(d));
    Index k = 0;
    for (; k + lanes <= n; k += lanes) {
        hn::StoreU(hn::GatherIndex(d, from, hn::LoadU(di, rows + k)), d, to + k);
    }
    for (; k < n; ++k) to[k] = from[rows[k]];
}

/// X(k, p_j) = D(p_k, j). D(i, j) is from[i lanes + j column]; rows[k] is p_k lanes.
template <class D, class T, class TI>
HWY_INLINE void store_inverse(D d, Index n, const T* HWY_RESTRICT from, Index column, Index lanes,
                              const TI* HWY_RESTRICT rows, T* HWY_RESTRICT x,
                              Offset leading_dimension, bool row_major) {
    for (Index j = 0; j < n; ++j) {
        const Index p = Index(rows[j]) / lanes;
        if (row_major) {
            T* to = x + p;
            for (Index k = 0; k < n; ++k) to[k * leading_dimension] = from[j * column + rows[k]];
        } else {
            permute_column(d, n, from + j * column, rows, x + p * leading_dimension);
        }
    }
}

template <class T>
HWY_INLINE void store_nan(Index n, T* x, Offset leading_dimension) {
    const T nan = hn::GetLane(hn::NaN(hn::ScalableTag<T>()));
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < n; ++i) x[i + j * leading_dimension] = nan;
    }
}

/// Inverts the matrices first .. first + Lanes(d) - 1, one in each lane.
template <class D, class T>
HWY_INLINE void invert_lanes(D d, SameSizeMatrices<T>& set, Index first) {
    using TI = hn::TFromD<hn::RebindToSigned<D>>;
    const Index lanes = Index(hn::Lanes(d));
    const Index n = set.n;
    const bool row_major = set.row_major();
    HWY_ALIGN TI steps[max_interleaved_rows * hn::MaxLanes(D())];
    HWY_ALIGN TI info[hn::MaxLanes(D())];
    T* HWY_RESTRICT a = set.scratch;
    interleave_matrices(d, n, set.a + first, set.a_leading_dimension, row_major, a);
    if (set.wants_condition()) hn::Store(row_sum_norm(d, n, n, a), d, set.norm_a + first);
    const bool in_registers = n <= max_register_rows;
    if (in_registers) {
        invert_registers(d, n, a, info);
    } else {
        invert_interleaved(d, n, a, a + n * n * lanes, steps, info);
    }
    if (set.wants_condition()) hn::Store(row_sum_norm(d, n, n, a), d, set.norm_x + first);
    const Index count = set.count - first < lanes ? set.count - first : lanes;
    const bool store = set.job.store;
    if (in_registers && store) {
        deinterleave_matrices(d, count, n, a, set.x_leading_dimension, row_major, set.x + first);
    }
    for (Index lane = 0; lane < count; ++lane) {
        set.info[first + lane] = Index(info[lane]);
        if (!store) continue;
        T* x = set.x[first + lane];
        if (info[lane] != 0) {
            store_nan(n, x, set.x_leading_dimension);
        } else if (!in_registers) {
            TI rows[max_interleaved_rows];
            for (Index k = 0; k < n; ++k) rows[k] = steps[k * lanes + lane];
            store_inverse(d, n, a + lane, n * lanes, lanes, rows, x, set.x_leading_dimension,
                          row_major);
        }
    }
}

/// Copies a matrix; the padding becomes zero.
template <class D, class T>
HWY_INLINE void load_single(D d, const SingleMatrix<T>& m, const T* from, Offset leading_dimension,
                            bool row_major) {
    const Index lanes = Index(hn::Lanes(d));
    for (Index j = 0; j < m.columns; ++j) {
        T* HWY_RESTRICT to = m.a + j * m.rows;
        Index i = 0;
        if (j < m.n && row_major) {
            for (; i < m.n; ++i) to[i] = from[i * leading_dimension + j];
        } else if (j < m.n) {
            const T* HWY_RESTRICT column = from + j * leading_dimension;
            for (; i + lanes <= m.n; i += lanes) hn::Store(hn::LoadU(d, column + i), d, to + i);
            for (; i < m.n; ++i) to[i] = column[i];
        }
        for (; i < m.rows; ++i) to[i] = T(0);
    }
}

template <class T>
HWY_INLINE void invert_one(SameSizeMatrices<T>& set, Index b) {
    const hn::ScalableTag<T> d;
    using TI = hn::TFromD<hn::RebindToSigned<decltype(d)>>;
    const Index lanes = Index(hn::Lanes(d));
    const Index n = set.n;
    const Index rows = (n + lanes - 1) / lanes * lanes;
    const Index columns = (rows + panel_columns - 1) / panel_columns * panel_columns;
    T* next_free = set.scratch;
    SingleMatrix<T> m{n, rows, columns, next_free, nullptr, nullptr, nullptr, nullptr};
    m.multipliers = (next_free += rows * columns);
    m.pivoted = (next_free += rows * panel_width);
    m.mask = (next_free += rows);
    m.pivot_rows = next_free + rows;
    load_single(d, m, set.a[b], set.a_leading_dimension, set.row_major());
    const auto norm = [&]() HWY_ATTR {
        return hn::GetLane(hn::MaxOfLanes(d, row_sum_norm(d, rows / lanes, n, m.a)));
    };
    if (set.wants_condition()) set.norm_a[b] = norm();
    Index steps[largest_size];
    set.info[b] = invert_single(d, m, steps);
    if (set.info[b] != 0) {
        if (set.job.store) store_nan(n, set.x[b], set.x_leading_dimension);
        return;
    }
    if (set.wants_condition()) set.norm_x[b] = norm();
    if (!set.job.store) return;
    TI row_of_step[largest_size];
    for (Index k = 0; k < n; ++k) row_of_step[k] = steps[k];
    store_inverse(d, n, m.a, rows, 1, row_of_step, set.x[b], set.x_leading_dimension,
                  set.row_major());
}

template <class T>
void invert_set(SameSizeMatrices<T>& set) {
    if (set.n > max_interleaved_rows) {
        for (Index b = 0; b < set.count; ++b) invert_one(set, b);
        return;
    }
    const hn::ScalableTag<T> d;
    for (Index b = 0; b < set.count; b += Index(hn::Lanes(d))) invert_lanes(d, set, b);
}

}  // namespace tessera::batched::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <vector>

namespace tessera::batched::cpu {

namespace {

/// Cache lines of scratch for matrices of up to n rows, enough for every instruction set.
template <class T>
Offset scratch_lines(Index n) {
    const Index small = std::min(n, max_interleaved_rows);
    const Offset interleaved = Offset(small) * (small + HWY_NAMESPACE::gauss_jordan_work_vectors);
    const Index lanes = Index(sizeof(CacheLine) / sizeof(T));
    const Offset rows = (n + lanes - 1) / lanes * lanes;
    const Offset single = rows * (rows + HWY_NAMESPACE::single_work_columns) / lanes;
    return std::max(interleaved, n > max_interleaved_rows ? single : 0);
}

/// Cost of a matrix of n rows, in operations on values: elimination and copies.
double work(Index n) { return double(n) * n * (n + 4) + 4; }

}  // namespace

template <class T>
void invert(const Context& context, const InvertJob<T>& job) {
    const auto invert_set = TESSERA_SIMD(context, invert_set<T>);
    const Index largest = job.plan != nullptr ? job.plan->largest() : job.a.size;
    for_batch_parts(context, job.a, job.plan, work, [&](auto&& for_sets) {
        std::vector<CacheLine> scratch(std::size_t(scratch_lines<T>(largest)));
        SameSizeMatrices<T> equal{job, reinterpret_cast<T*>(scratch.data())};
        for_sets([&](const BatchSet& set) {
            equal.n = set.n;
            equal.count = set.count;
            equal.a_leading_dimension = leading_dimension_of(job.a, set.n);
            equal.x_leading_dimension = leading_dimension_of(job.x, set.n);
            gather_addresses(job.a, set, equal.a);
            if (job.store) gather_addresses(job.x, set, equal.x);
            if (set.n > 0) invert_set(equal);
            for (Index k = 0; k < set.count; ++k) {
                if (set.n > 0) {
                    write_results(job.results, set.members[k], equal.info[k], equal.norm_a[k],
                                  equal.norm_x[k]);
                } else {
                    write_results(job.results, set.members[k], 0, T(1), T(1));
                }
            }
        });
    });
}

template decltype(invert<float>) invert<float>;
template decltype(invert<double>) invert<double>;

}  // namespace tessera::batched::cpu
#endif
