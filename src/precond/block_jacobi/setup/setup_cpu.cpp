#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "precond/block_jacobi/setup/setup_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "precond/block_jacobi/kernels.hpp"
#include "simd/batch.hpp"
#include "simd/dispatch.hpp"
#include "simd/tiles/gauss_jordan-inl.h"

#ifndef TESSERA_SETUP_CPU_ONCE
#define TESSERA_SETUP_CPU_ONCE
namespace tessera::cpu {
namespace {

/// Number of blocks that are sorted by size together: SIMD vectors take blocks of one size.
constexpr Index sort_window = 1024;

/// Larger blocks use vectors of at most 32 bytes: with 64-byte vectors they exceed an L1 cache of
/// 48 KiB. Bits do not depend on the width.
constexpr Index full_width_rows = 27;

/// Rows above this length are searched by bisection for the first column of the block.
constexpr Offset long_row = 32;

}  // namespace
}  // namespace tessera::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// visit(i, j, a_ij) for the stored entries of rows and columns first_row .. first_row + n - 1.
template <class T, class Visit>
HWY_INLINE void visit_block(const CsrView<T>& matrix, Index first_row, Index n, Visit&& visit) {
    for (Index i = 0; i < n; ++i) {
        Offset k = matrix.row_offsets[first_row + i];
        const Offset end = matrix.row_offsets[first_row + i + 1];
        for (Offset high = end; high - k > long_row;) {
            const Offset middle = k + (high - k) / 2;
            (matrix.column_indices[middle] < first_row ? k : high) = middle;
        }
        while (k < end && matrix.column_indices[k] < first_row) ++k;
        for (; k < end && matrix.column_indices[k] < first_row + n; ++k) {
            visit(i, matrix.column_indices[k] - first_row, matrix.values[k]);
        }
    }
}

/// Per lane 0 if the interleaved n x n block is exactly symmetric.
template <class D, class T>
HWY_INLINE hn::Vec<D> asymmetries(D d, Index n, const T* a) {
    const Index lanes = Index(hn::Lanes(d));
    const auto one = hn::Set(d, T(1));
    auto differs = hn::Zero(d);
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < i; ++j) {
            const auto lower = hn::Load(d, a + (i + j * n) * lanes);
            const auto upper = hn::Load(d, a + (j + i * n) * lanes);
            differs = hn::IfThenElse(hn::Eq(lower, upper), differs, one);
        }
    }
    return differs;
}

/// X = (X + X^T) / 2, rounded once.
template <class T>
void symmetrise(Index n, T* x) {
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < j; ++i) {
            T& upper = x[i + j * n];
            T& lower = x[j + i * n];
            upper = lower = std::fma(T(0.5), upper, T(0.5) * lower);
        }
    }
}

/// Largest row sum of magnitudes, and largest magnitude.
template <class T>
struct Magnitudes {
    T norm, largest;
};
template <class T>
Magnitudes<T> find_magnitudes(Index n, const T* x) {
    T sums[max_block_rows] = {}, largest[max_block_rows] = {};
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < n; ++i) {
            const T magnitude = std::abs(x[i + j * n]);
            sums[i] += magnitude;
            largest[i] = magnitude > largest[i] ? magnitude : largest[i];
        }
    }
    return {*std::max_element(sums, sums + n), *std::max_element(largest, largest + n)};
}

/// Inverts `count` <= lanes blocks of n rows together; identities fill the other lanes.
template <class D, class T>
void invert_group(D d, const SetupJob<T>& job, Index n, const Index* group, Index count,
                  T* scratch) {
    const CsrView<T>& matrix = job.matrix;
    const PackedBlocks<T>& blocks = job.blocks;
    const SetupResults<T>& results = job.results;
    using TI = hn::TFromD<hn::RebindToSigned<decltype(d)>>;
    const Index lanes = Index(hn::Lanes(d));
    HWY_ALIGN TI steps[max_block_rows * hn::MaxLanes(d)];
    HWY_ALIGN T norms[hn::MaxLanes(d)];
    HWY_ALIGN T asymmetric[hn::MaxLanes(d)];
    HWY_ALIGN TI info[hn::MaxLanes(d)];

    const auto zero = hn::Zero(d);
    for (Index e = 0; e < n * n; ++e) hn::Store(zero, d, scratch + e * lanes);
    for (Index lane = 0; lane < count; ++lane) {
        visit_block(matrix, blocks.block_offsets[group[lane]], n, [&](Index i, Index j, T value) {
            scratch[(i + j * n) * lanes + lane] = value;
        });
    }
    for (Index lane = count; lane < lanes; ++lane) {
        for (Index i = 0; i < n; ++i) scratch[(i + i * n) * lanes + lane] = T(1);
    }
    hn::Store(row_sum_norm(d, n, n, scratch), d, norms);
    hn::Store(asymmetries(d, n, scratch), d, asymmetric);
    invert_interleaved(d, n, scratch, scratch + n * n * lanes, steps, info);
    for (Index lane = 0; lane < count; ++lane) {
        const Index block = group[lane];
        T* inverse = job.inverses + blocks.entry_offsets[block];
        results.info[block] = Index(info[lane]);
        if (info[lane] != 0) {
            std::fill(inverse, inverse + n * n, std::numeric_limits<T>::quiet_NaN());
            results.reciprocal_condition[block] = 0;
            if (results.largest != nullptr) results.largest[block] = 0;
            continue;
        }
        for (Index j = 0; j < n; ++j) {
            T* to = inverse + Index(steps[j * lanes + lane]) / lanes * n;
            const T* from = scratch + j * n * lanes + lane;
            for (Index k = 0; k < n; ++k) to[k] = from[steps[k * lanes + lane]];
        }
        if (asymmetric[lane] == T(0)) symmetrise(n, inverse);
        const Magnitudes<T> of_inverse = find_magnitudes(n, inverse);
        results.reciprocal_condition[block] = T(1) / norms[lane] / of_inverse.norm;
        if (results.largest != nullptr) results.largest[block] = of_inverse.largest;
    }
}

/// Inverts blocks first .. last-1.
template <class T>
void invert_blocks(const SetupJob<T>& job, Index first, Index last, T* scratch) {
    const auto invert_sorted = [&](auto d, Index n, const Index* order, Index count) HWY_ATTR {
        const Index lanes = Index(hn::Lanes(d));
        for (Index start = 0; start < count; start += lanes) {
            const Index left = count - start;
            invert_group(d, job, n, order + start, left < lanes ? left : lanes, scratch);
        }
    };
    for (Index begin = first, end = first; begin < last; begin = end) {
        end = last - begin > sort_window ? begin + sort_window : last;
        const Index* offsets = job.blocks.block_offsets;
        Index order[sort_window];
        Index start[max_block_rows + 2] = {};  // start[n]: first position of size n.
        for (Index b = begin; b < end; ++b) ++start[offsets[b + 1] - offsets[b] + 1];
        for (Index n = 1; n <= max_block_rows + 1; ++n) start[n] += start[n - 1];
        for (Index b = begin; b < end; ++b) order[start[offsets[b + 1] - offsets[b]]++] = b;
        // start[n] is now the end of size n.
        for (Index n = 1; n <= max_block_rows; ++n) {
            const Index count = start[n] - start[n - 1];
            if (n <= full_width_rows) {
                invert_sorted(hn::ScalableTag<T>(), n, order + start[n - 1], count);
            } else {
                invert_sorted(hn::CappedTag<T, 32 / sizeof(T)>(), n, order + start[n - 1], count);
            }
        }
    }
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <vector>

#include "precond/block_jacobi/block_ranges.hpp"
#include "precond/block_jacobi/storage/block_formats.hpp"

namespace tessera::cpu {

namespace {

template <class T>
void count_blocks(const SetupResults<T>& results) {
    for (Index b = 0; b < results.count; ++b) {
        results.summary->singular += results.info[b] != 0;
        results.summary->misfits +=
            results.formats != nullptr &&
            !still_fits_format<T>(results.formats[b], double(results.reciprocal_condition[b]),
                                  double(results.largest[b]), results.accuracy);
    }
}

}  // namespace

template <class T>
void setup(const Context& context, const SetupJob<T>& job) {
    const auto invert_range = TESSERA_SIMD(context, invert_blocks<T>);
    const PackedBlocks<T>& blocks = job.blocks;
    for_block_ranges(context, blocks.count, blocks.entry_offsets, 8, [&](Index first, Index last) {
        const Index n = blocks.largest;
        std::vector<CacheLine> scratch(std::size_t(n * (n + HWY_NAMESPACE::gauss_jordan_work_vectors)));
        invert_range(job, first, last, reinterpret_cast<T*>(scratch.data()));
    });
    count_blocks(job.results);
}

template decltype(setup<float>) setup<float>;
template decltype(setup<double>) setup<double>;

}  // namespace tessera::cpu
#endif
