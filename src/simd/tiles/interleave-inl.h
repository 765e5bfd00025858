// Interleaves equal-sized matrices across vector lanes and back. Included once for each instruction
// set (see simd/dispatch.hpp).
#if defined(TESSERA_SIMD_TILES_INTERLEAVE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_SIMD_TILES_INTERLEAVE_INL_H_
#undef TESSERA_SIMD_TILES_INTERLEAVE_INL_H_
#else
#define TESSERA_SIMD_TILES_INTERLEAVE_INL_H_
#endif

#include "hwy/highway.h"
#include "simd/batch.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Transposes the square of Lanes(d) vectors at `v`: first within blocks of 16 bytes, then blocks.
template <class D>
HWY_INLINE void transpose_lanes(D d, hn::Vec<D>* HWY_RESTRICT v) {
    constexpr Index lanes = Index(hn::MaxLanes(D()));
    constexpr Index block = 16 / Index(sizeof(hn::TFromD<D>));
    if constexpr (block == 2) {
#pragma GCC unroll 16
        for (Index r = 0; r < lanes; r += 2) {
            const auto low = hn::InterleaveLower(d, v[r], v[r + 1]);
            v[r + 1] = hn::InterleaveUpper(d, v[r], v[r + 1]);
            v[r] = low;
        }
    } else {
        const hn::Repartition<double, D> pairs;
#pragma GCC unroll 16
        for (Index r = 0; r < lanes; r += 4) {
            const auto a = hn::BitCast(pairs, hn::InterleaveLower(d, v[r], v[r + 1]));
            const auto b = hn::BitCast(pairs, hn::InterleaveUpper(d, v[r], v[r + 1]));
            const auto e = hn::BitCast(pairs, hn::InterleaveLower(d, v[r + 2], v[r + 3]));
            const auto f = hn::BitCast(pairs, hn::InterleaveUpper(d, v[r + 2], v[r + 3]));
            v[r] = hn::BitCast(d, hn::InterleaveLower(pairs, a, e));
            v[r + 1] = hn::BitCast(d, hn::InterleaveUpper(pairs, a, e));
            v[r + 2] = hn::BitCast(d, hn::InterleaveLower(pairs, b, f));
            v[r + 3] = hn::BitCast(d, hn::InterleaveUpper(pairs, b, f));
        }
    }
    if constexpr (lanes == 4 * block) {
#pragma GCC unroll 16
        for (Index r = 0; r < lanes; ++r) {
            if ((r / block) % 2 != 0) continue;
            const auto a = v[r], b = v[r + block];
            v[r] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
            v[r + block] = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
        }
    }
    if constexpr (lanes >= 2 * block) {
#pragma GCC unroll 16
        for (Index r = 0; r < lanes / 2; ++r) {
            const auto a = v[r], b = v[r + lanes / 2];
            v[r] = hn::ConcatLowerLower(d, b, a);
            v[r + lanes / 2] = hn::ConcatUpperUpper(d, b, a);
        }
    }
}

/// to[e step + l] = from[l][e] for e < length, l < lanes, in squares of Lanes(d). The last square
/// of a line overlaps the previous one.
template <class D, class T>
HWY_INLINE void interleave_squares(D d, Index lanes, Index length, const T* const* from,
                                   Offset first, T* HWY_RESTRICT to, Index step) {
    constexpr Index width = Index(hn::MaxLanes(D()));
    for (Index start = 0; start < length; start += width) {
        const Index e = start + width <= length ? start : length - width;
        for (Index lane = 0; lane < lanes; lane += width) {
            hn::Vec<D> v[width];
#pragma GCC unroll 16
            for (Index l = 0; l < width; ++l) v[l] = hn::LoadU(d, from[lane + l] + first + e);
            transpose_lanes(d, v);
            T* HWY_RESTRICT corner = to + e * step + lane;
#pragma GCC unroll 16
            for (Index r = 0; r < width; ++r) hn::Store(v[r], d, corner + r * step);
        }
    }
}

/// to[e step + l] = from[l][first + e] for e < length and all Lanes(d) lanes l. `to` is aligned,
/// step a multiple of Lanes(d).
template <class D, class T>
HWY_INLINE void interleave(D d, Index length, const T* const* from, Offset first,
                           T* HWY_RESTRICT to, Index step) {
    constexpr Index lanes = Index(hn::MaxLanes(D()));
    constexpr Index block = 16 / Index(sizeof(T));
    if (length >= lanes) {
        interleave_squares(d, lanes, length, from, first, to, step);
    } else if (lanes > 2 * block && length >= 2 * block) {
        interleave_squares(hn::CappedTag<T, 2 * block>(), lanes, length, from, first, to, step);
    } else if (lanes > block && length >= block) {
        interleave_squares(hn::CappedTag<T, block>(), lanes, length, from, first, to, step);
    } else {
        for (Index l = 0; l < lanes; ++l) {
            for (Index e = 0; e < length; ++e) to[e * step + l] = from[l][first + e];
        }
    }
}

/// The columns first .. first + columns - 1 of n x n column-major matrices: element (i, first + j)
/// goes to to[(i + j n) lanes + l].
template <class D, class T>
HWY_INLINE void interleave_columns(D d, Index n, Index first, Index columns, const T* const* from,
                                   Offset leading_dimension, T* HWY_RESTRICT to) {
    const Index lanes = Index(hn::Lanes(d));
    if (leading_dimension == n) {
        interleave(d, columns * n, from, Offset(first) * n, to, lanes);
        return;
    }
    for (Index j = 0; j < columns; ++j) {
        interleave(d, n, from, (first + j) * leading_dimension, to + j * n * lanes, lanes);
    }
}

/// Element (i, j) of the n x n matrix from[l] goes to to[(i + j n) lanes + l]. Element (i, j) lies
/// at i + j leading_dimension, or at i leading_dimension + j where `row_major`.
template <class D, class T>
HWY_INLINE void interleave_matrices(D d, Index n, const T* const* from, Offset leading_dimension,
                                    bool row_major, T* HWY_RESTRICT to) {
    const Index lanes = Index(hn::Lanes(d));
    if (!row_major) return interleave_columns(d, n, 0, n, from, leading_dimension, to);
    for (Index row = 0; row < n; ++row) {
        interleave(d, n, from, row * leading_dimension, to + row * lanes, n * lanes);
    }
}

/// f(first, columns) for panels that cover all columns, once columns first .. first + columns - 1
/// of n x n column-major matrices are in `panel` (at least panel_values and n vectors).
template <class D, class T, class F>
HWY_INLINE void for_panels(D d, Index n, const T* const* from, Offset leading_dimension,
                           T* HWY_RESTRICT panel, F&& f) {
    const Index wide = n < panel_values ? panel_values / n : 1;
    for (Index first = 0; first < n; first += wide) {
        const Index columns = n - first < wide ? n - first : wide;
        interleave_columns(d, n, first, columns, from, leading_dimension, panel);
        f(first, columns);
    }
}

/// to[l][e] = from[e step + l] for e < length, in squares of Lanes(d).
template <class D, class T>
HWY_INLINE void deinterleave_squares(D d, Index count, Index length, const T* HWY_RESTRICT from,
                                     Index step, T* const* to) {
    constexpr Index width = Index(hn::MaxLanes(D()));
    for (Index start = 0; start < length; start += width) {
        const Index e = start + width <= length ? start : length - width;
        for (Index lane = 0; lane < count; lane += width) {
            hn::Vec<D> v[width];
            const T* HWY_RESTRICT corner = from + e * step + lane;
#pragma GCC unroll 16
            for (Index r = 0; r < width; ++r) v[r] = hn::Load(d, corner + r * step);
            transpose_lanes(d, v);
            if (lane + width <= count) {
#pragma GCC unroll 16
                for (Index l = 0; l < width; ++l) hn::StoreU(v[l], d, to[lane + l] + e);
                continue;
            }
            HWY_ALIGN T square[width * width];
            for (Index l = 0; l < width; ++l) hn::Store(v[l], d, square + l * width);
            for (Index l = 0; l < count - lane; ++l) {
                hn::StoreU(hn::Load(d, square + l * width), d, to[lane + l] + e);
            }
        }
    }
}

/// Inverse of interleave: to[l][e] = from[e step + l] for e < length and the first `count` lanes.
template <class D, class T>
HWY_INLINE void deinterleave(D d, Index count, Index length, const T* HWY_RESTRICT from, Index step,
                             T* const* to) {
    constexpr Index lanes = Index(hn::MaxLanes(D()));
    constexpr Index block = 16 / Index(sizeof(T));
    if (length >= lanes) {
        deinterleave_squares(d, count, length, from, step, to);
    } else if (lanes > 2 * block && length >= 2 * block) {
        deinterleave_squares(hn::CappedTag<T, 2 * block>(), count, length, from, step, to);
    } else if (lanes > block && length >= block) {
        deinterleave_squares(hn::CappedTag<T, block>(), count, length, from, step, to);
    } else {
        for (Index l = 0; l < count; ++l) {
            for (Index e = 0; e < length; ++e) to[l][e] = from[e * step + l];
        }
    }
}

/// Inverse of interleave_matrices for the first `count` lanes.
template <class D, class T>
HWY_INLINE void deinterleave_matrices(D d, Index count, Index n, const T* HWY_RESTRICT from,
                                      Offset leading_dimension, bool row_major, T* const* to) {
    const Index lanes = Index(hn::Lanes(d));
    if (leading_dimension == n && !row_major) {
        deinterleave(d, count, n * n, from, lanes, to);
        return;
    }
    for (Index line = 0; line < n; ++line) {
        T* lines[hn::MaxLanes(D())] = {};
        for (Index l = 0; l < count; ++l) lines[l] = to[l] + line * leading_dimension;
        const T* first = from + (row_major ? line : line * n) * lanes;
        deinterleave(d, count, n, first, row_major ? n * lanes : lanes, lines);
    }
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
