// Products of sliced matrices, block rows side by side in vectors. Included once for each
// instruction set (see simd/dispatch.hpp) by a file for each type of vectors.
#if defined(TESSERA_SPARSE_SPMV_SLICED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_SPARSE_SPMV_SLICED_INL_H_
#undef TESSERA_SPARSE_SPMV_SLICED_INL_H_
#else
#define TESSERA_SPARSE_SPMV_SLICED_INL_H_
#endif

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "sparse/slice_chunks.hpp"
#include "sparse/spmv_sliced/kernels.hpp"
#include "sparse/stored_value.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Numbers of T in a cache line: lanes of a slice that are processed together.
template <class T>
inline constexpr Index line_lanes = Index(64 / sizeof(T));

/// Indices as wide as T.
template <class D, class Column>
static HWY_INLINE hn::Vec<hn::RebindToSigned<D>> load_indices(D, const Column* from) {
    const hn::RebindToSigned<D> di;
    const hn::Rebind<Column, decltype(di)> narrow;
    if constexpr (sizeof(hn::TFromD<D>) == sizeof(Column)) {
        return hn::LoadU(di, from);
    } else if constexpr (sizeof(hn::TFromD<D>) == 2 * sizeof(Column)) {
        return hn::PromoteTo(di, hn::LoadU(narrow, from));
    } else {
        const hn::Rebind<Index, decltype(di)> single;
        return hn::PromoteTo(di, hn::PromoteTo(single, hn::LoadU(narrow, from)));
    }
}

/// Stored values as vectors of T.
template <class D, class Stored>
static HWY_INLINE hn::Vec<D> load_values(D d, const Stored* from) {
    using T = hn::TFromD<D>;
    if constexpr (std::is_same_v<Stored, T>) {
        return hn::LoadU(d, from);
    } else if constexpr (std::is_same_v<Stored, float>) {
        return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), from));
    } else {
        const hn::Rebind<float, D> single;
        using Half =
            std::conditional_t<std::is_same_v<Stored, f16>, hwy::float16_t, hwy::bfloat16_t>;
        const hn::Rebind<Half, D> half;
        const auto wide =
            hn::PromoteTo(single, hn::LoadU(half, reinterpret_cast<const Half*>(from)));
        if constexpr (sizeof(T) == 4) {
            return wide;
        } else {
            return hn::PromoteTo(d, wide);
        }
    }
}

/// Software prefetch of values and columns 4 KB ahead of those of a block of a cache line of lanes;
/// the hardware prefetcher alone does not saturate memory.
template <int B, class T, class Stored, class Column>
static HWY_INLINE void prefetch_ahead(const Stored* values, const Column* columns) {
    constexpr Offset size = Offset(B) * B * line_lanes<T>;
    constexpr Offset blocks = 4096 / (size * Offset(sizeof(Stored))) + 1;
    for (Offset k = 0; k < size; k += Offset(64 / sizeof(Stored))) {
        hwy::Prefetch(values + blocks * size + k);
    }
    hwy::Prefetch(columns + blocks * line_lanes<T>);
}

/// Whether gathers are used: indices as wide as f64 cost more without AVX-512 than loads one by
/// one.
template <class T>
inline constexpr bool gathers = HWY_TARGET <= HWY_AVX3 || sizeof(T) == 4;

/// from[0][c], from[1][c], ..., loaded one by one.
template <class D, class T = hn::TFromD<D>>
static HWY_INLINE hn::Vec<D> load_each(D d, const T* const* from, int c) {
    constexpr std::size_t lanes = hn::MaxLanes(D());
    if constexpr (lanes == 1) {
        return hn::LoadU(d, from[0] + c);
    } else {
        const hn::Half<D> half;
        return hn::Combine(d, load_each(half, from + lanes / 2, c), load_each(half, from, c));
    }
}

/// Whether the columns of the lanes of d follow each other.
template <class D, class Column>
static HWY_INLINE bool is_consecutive(D d, const Column* columns) {
    if constexpr (gathers<hn::TFromD<D>>) {
        const hn::RebindToSigned<D> di;
        using Signed = hn::TFromD<decltype(di)>;
        return hn::AllTrue(di, hn::Eq(load_indices(d, columns), hn::Iota(di, Signed(columns[0]))));
    } else {
        bool run = true;
        for (Index i = 1; i < Index(hn::MaxLanes(d)); ++i) run &= columns[i] == columns[0] + i;
        return run;
    }
}

/// to[c], c < B: entry c of each block of x that `columns` name; for a column past `last`, that of
/// the last one.
template <int B, class D, class Column, class T = hn::TFromD<D>>
static HWY_INLINE void gather_blocks(D d, const Column* columns, Index last, const T* x,
                                     hn::Vec<D>* to) {
    if constexpr (gathers<T>) {
        const hn::RebindToSigned<D> di;
        using Signed = hn::TFromD<decltype(di)>;
        const auto first = hn::Mul(load_indices(d, columns), hn::Set(di, Signed(B)));
        for (int c = 0; c < B; ++c) {
            const auto indices =
                hn::Min(hn::Add(first, hn::Set(di, Signed(c))), hn::Set(di, Signed(last)));
            to[c] = hn::GatherIndex(d, x, indices);
        }
    } else {
        constexpr Index lanes = Index(hn::MaxLanes(D()));
        const T* from[lanes];
        bool whole = true;
        for (Index i = 0; i < lanes; ++i) {
            const Offset first = Offset(columns[i]) * B;
            from[i] = x + first;
            if constexpr (B > 1) whole &= first + B <= Offset(last) + 1;
        }
        if (HWY_LIKELY(whole)) {
            for (int c = 0; c < B; ++c) to[c] = load_each(d, from, c);
            return;
        }
        for (int c = 0; c < B; ++c) {
            for (Index i = 0; i < lanes; ++i) {
                const Offset index = Offset(columns[i]) * B + c;
                from[i] = x + (index < last ? index : last);
            }
            to[c] = load_each(d, from, 0);
        }
    }
}

/// As gather_blocks. Consecutive blocks are read contiguously, which is fastest. Columns past the
/// matrix have zero values; so they may read the last one.
template <int B, class D, class Column, class T = hn::TFromD<D>>
static HWY_INLINE void load_blocks(D d, const Column* columns, Index last, const T* x,
                                   hn::Vec<D>* to) {
    if constexpr (B <= 4) {
        const bool whole = (columns[0] + Offset(hn::Lanes(d))) * B <= Offset(last) + 1;
        if (whole && is_consecutive(d, columns)) {
            const T* const from = x + Offset(columns[0]) * B;
            if constexpr (B == 1) to[0] = hn::LoadU(d, from);
            if constexpr (B == 2) hn::LoadInterleaved2(d, from, to[0], to[1]);
            if constexpr (B == 3) hn::LoadInterleaved3(d, from, to[0], to[1], to[2]);
            if constexpr (B == 4) hn::LoadInterleaved4(d, from, to[0], to[1], to[2], to[3]);
            return;
        }
    }
    gather_blocks<B>(d, columns, last, x, to);
}

/// The end of a product for the block row at position p, from the sums of its rows, `stride` apart.
/// One lane rounds as the vectors of recurrence_step do.
template <int B, class T>
static HWY_INLINE void store_block_row(const SlicedPattern& a, Offset p, const T* sums,
                                       Index stride, const T* x,
                                       const ProductEpilogue<T>& epilogue) {
    const hn::CappedTag<T, 1> d;
    const RecurrenceStep<T>& step = epilogue.step;
    const Offset first = a.block_row(p) * B;
    const Offset rows = a.rows - first < B ? a.rows - first : B;
    for (Offset r = 0; r < rows; ++r) {
        const Offset i = first + r;
        auto value = hn::Mul(hn::Set(d, step.alpha), hn::Set(d, sums[r * stride]));
        if (step.beta != T(0)) value = hn::MulAdd(hn::Set(d, step.beta), hn::Set(d, x[i]), value);
        if (step.gamma != T(0)) {
            value = hn::MulAdd(hn::Set(d, step.gamma), hn::Set(d, epilogue.y[i]), value);
        }
        if (step.delta != T(0)) {
            value = hn::MulAdd(hn::Set(d, step.delta), hn::Set(d, epilogue.r[i]), value);
        }
        epilogue.next[i] = hn::GetLane(value);
    }
}

static HWY_INLINE Offset first_column(const SlicedPattern& a, Index slice) {
    return a.first_columns == nullptr ? 0 : Offset(a.first_columns[slice]) * a.block;
}

/// The block rows in a cache line of lanes of a slice, side by side in vectors. Whole: that is the
/// whole slice, so that strides are known at compile time.
template <int B, bool Whole, class Column, class Stored, class T>
static HWY_INLINE void multiply_line(const SlicedPattern& a, Index slice, Index lane,
                                     const Stored* all_values, const T* x,
                                     const ProductEpilogue<T>& epilogue) {
    const hn::ScalableTag<T> d;
    const hn::RebindToSigned<decltype(d)> di;
    using Signed = hn::TFromD<decltype(di)>;
    constexpr Index lanes = Index(hn::MaxLanes(hn::ScalableTag<T>()));
    constexpr Index vectors = line_lanes<T> / lanes;
    const Offset height = Whole ? line_lanes<T> : a.slice_height;
    const Offset p = slice * height + lane;
    const Offset start = a.slice_offsets[slice];
    const Index* const lengths = a.row_lengths + p;
    Index shortest = lengths[0], longest = lengths[0];
    for (Index i = 1; i < line_lanes<T>; ++i) {
        shortest = lengths[i] < shortest ? lengths[i] : shortest;
        longest = lengths[i] > longest ? lengths[i] : longest;
    }
    const Offset first = first_column(a, slice);
    const Index last = Index(a.columns - 1 - first);
    hn::Vec<decltype(d)> sums[vectors * B];
    for (auto& sum : sums) sum = hn::Zero(d);
    for (Index k = 0; k < longest; ++k) {
        const Column* const columns = stored_columns<Column>(a) + start + k * height + lane;
        const Stored* const values = all_values + (start + k * height) * (B * B) + lane;
        if constexpr (Whole) prefetch_ahead<B, T>(values, columns);
#pragma GCC unroll 4
        for (Index v = 0; v < vectors; ++v) {
            hn::Vec<decltype(d)> blocks[B];
            load_blocks<B>(d, columns + v * lanes, last, x + first, blocks);
            if (k >= shortest) {
                const auto inside = hn::RebindMask(
                    d, hn::Gt(load_indices(d, lengths + v * lanes), hn::Set(di, Signed(k))));
                for (auto& block : blocks) block = hn::IfThenElseZero(inside, block);
            }
#pragma GCC unroll 6
            for (int c = 0; c < B; ++c) {
#pragma GCC unroll 6
                for (int r = 0; r < B; ++r) {
                    const auto value = load_values(d, values + (r * B + c) * height + v * lanes);
                    sums[v * B + r] = hn::MulAdd(value, blocks[c], sums[v * B + r]);
                }
            }
        }
    }
    HWY_ALIGN T rows[B * line_lanes<T>];
    for (int r = 0; r < B; ++r) {
        for (Index v = 0; v < vectors; ++v) {
            hn::Store(sums[v * B + r], d, rows + r * line_lanes<T> + v * lanes);
        }
    }
    for (Index i = 0; i < line_lanes<T>; ++i) {
        store_block_row<B>(a, p + i, rows + i, line_lanes<T>, x, epilogue);
    }
}

/// One block row, in slices that are no whole cache lines of lanes.
template <int B, class Stored, class T>
static HWY_INLINE void multiply_lane(const SlicedPattern& a, Index slice, Index lane,
                                     const Stored* all_values, const T* x,
                                     const ProductEpilogue<T>& epilogue) {
    const Offset p = Offset(slice) * a.slice_height + lane;
    const Offset start = a.slice_offsets[slice], height = a.slice_height;
    const hn::CappedTag<T, 1> d;  // Rounds as multiply_line does.
    hn::Vec<decltype(d)> sums[B];
    for (auto& sum : sums) sum = hn::Zero(d);
    for (Index k = 0; k < a.row_lengths[p]; ++k) {
        const Offset first = Offset(a.block_column(slice, start + k * height + lane)) * B;
        const Stored* const values = all_values + (start + k * height) * (B * B) + lane;
        const Offset last = a.columns - 1;  // Columns past the matrix have zero values.
#pragma GCC unroll 6
        for (int c = 0; c < B; ++c) {
            const auto x_c = hn::Set(d, x[first + c < last ? first + c : last]);
#pragma GCC unroll 6
            for (int r = 0; r < B; ++r) {
                const auto value = hn::Set(d, widen_to<T>(values[(r * B + c) * height]));
                sums[r] = hn::MulAdd(value, x_c, sums[r]);
            }
        }
    }
    T rows[B];
    for (int r = 0; r < B; ++r) rows[r] = hn::GetLane(sums[r]);
    store_block_row<B>(a, p, rows, 1, x, epilogue);
}

/// One block row for `count` vectors; x holds element i of vector j at i * W + j, and the epilogue
/// reads it in own[j]. Each sum is that of multiply_line to the last bit.
template <int B, int W, class Stored, class T>
static HWY_INLINE void multiply_lane_together(const SlicedPattern& a, Index slice, Index lane,
                                              const Stored* all_values, const T* x, int count,
                                              const T* const* own,
                                              const ProductEpilogue<T>* epilogues) {
    const hn::CappedTag<T, std::size_t(W)> d;
    constexpr int lanes = int(hn::MaxLanes(d));
    constexpr int vectors = W / lanes;
    const Offset p = Offset(slice) * a.slice_height + lane;
    const Offset start = a.slice_offsets[slice], height = a.slice_height;
    hn::Vec<decltype(d)> sums[B * vectors];
    for (auto& sum : sums) sum = hn::Zero(d);
    for (Index k = 0; k < a.row_lengths[p]; ++k) {
        const Offset first = Offset(a.block_column(slice, start + k * height + lane)) * B;
        const Stored* const values = all_values + (start + k * height) * (B * B) + lane;
        const Offset last = a.columns - 1;
#pragma GCC unroll 6
        for (int c = 0; c < B; ++c) {
            const T* const from = x + (first + c < last ? first + c : last) * W;
#pragma GCC unroll 6
            for (int r = 0; r < B; ++r) {
                const auto value = hn::Set(d, widen_to<T>(values[(r * B + c) * height]));
#pragma GCC unroll 4
                for (int v = 0; v < vectors; ++v) {
                    sums[r * vectors + v] =
                        hn::MulAdd(value, hn::LoadU(d, from + v * lanes), sums[r * vectors + v]);
                }
            }
        }
    }
    HWY_ALIGN T rows[B * W];
    for (int k = 0; k < B * vectors; ++k) hn::Store(sums[k], d, rows + k * lanes);
    for (int j = 0; j < count; ++j) store_block_row<B>(a, p, rows + j, W, own[j], epilogues[j]);
}

template <int B, int W, class Stored, class T>
static void multiply_chunk_together(const SlicedPattern& a, SliceChunk chunk,
                                    const void* all_values, const T* x, int count,
                                    const T* const* own, const ProductEpilogue<T>* epilogues) {
    for (Index lane = chunk.first; lane < chunk.last; ++lane) {
        multiply_lane_together<B, W>(a, chunk.slice, lane, static_cast<const Stored*>(all_values),
                                     x, count, own, epilogues);
    }
}

template <int B, class Column, class Stored, class T>
static void multiply_chunk(const SlicedPattern& a, SliceChunk chunk, const void* all_values,
                           const T* x, const ProductEpilogue<T>& epilogue) {
    const Stored* const values = static_cast<const Stored*>(all_values);
    if (a.slice_height == line_lanes<T>) {
        multiply_line<B, true, Column>(a, chunk.slice, 0, values, x, epilogue);
        return;
    }
    Index lane = chunk.first;
    if constexpr (std::is_same_v<Stored, T>) {  // Other formats use the chosen slice heights only.
        for (; lane + line_lanes<T> <= chunk.last; lane += line_lanes<T>) {
            multiply_line<B, false, Column>(a, chunk.slice, lane, values, x, epilogue);
        }
    }
    for (; lane < chunk.last; ++lane) {
        multiply_lane<B>(a, chunk.slice, lane, values, x, epilogue);
    }
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "simd/dispatch.hpp"
#include "sparse/interleaved.hpp"

namespace tessera::cpu {

/// multiply_step for up to W vectors together.
template <int W, int B, class Stored, class T>
void multiply_together(const Context& context, const SlicedView<T>& matrix,
                       const ProductVectors<T>& vectors, int first, int count) {
    const Interleaved<T, W> x(context, vectors.x.part(first, count));
    std::array<const T*, W> own;
    std::array<ProductEpilogue<T>, W> epilogues;
    for (int j = 0; j < count; ++j) {
        own[std::size_t(j)] = vectors.x[first + j].data();
        epilogues[std::size_t(j)] = vectors.epilogue(first + j);
    }
    const auto multiply_chunk = TESSERA_SIMD(context, multiply_chunk_together<B, W, Stored, T>);
    SliceChunks(matrix.pattern).for_each(context, [&](const SliceChunk& chunk) {
        multiply_chunk(matrix.pattern, chunk, matrix.values, x.data(), count, own.data(),
                       epilogues.data());
    });
}

template <class T>
void multiply_step(const Context& context, const SlicedView<T>& matrix, Offset,
                   const ProductVectors<T>& vectors) {
    const SlicedPattern& pattern = matrix.pattern;
    const auto multiply = [&](int j, auto chunk_product) {
        SliceChunks(pattern).for_each(context, [&](const SliceChunk& chunk) {
            chunk_product(pattern, chunk, matrix.values, vectors.x[j].data(), vectors.epilogue(j));
        });
    };
    with_stored<T>(matrix.format, [&](auto tag) {
        using Stored = typename decltype(tag)::type;
        with_block(pattern.block, [&](auto b) {
            constexpr int block = decltype(b)::value;
            const auto one = [&](int j) {
                if (pattern.column_offsets != nullptr) {
                    multiply(
                        j, TESSERA_SIMD(context, multiply_chunk<block, std::uint16_t, Stored, T>));
                } else {
                    multiply(j, TESSERA_SIMD(context, multiply_chunk<block, Index, Stored, T>));
                }
            };
            const auto together = [&](auto width, int first, int count) {
                multiply_together<decltype(width)::value, block, Stored>(context, matrix, vectors,
                                                                         first, count);
            };
            for_vectors_together(vectors.x.count, one, together);
        });
    });
}

}  // namespace tessera::cpu
#endif  // HWY_ONCE

#endif  // TESSERA_SPARSE_SPMV_SLICED_INL_H_
