#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "precond/block_jacobi/apply/apply_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "precond/block_jacobi/storage/block_formats.hpp"
#include "simd/dispatch.hpp"

#ifndef TESSERA_APPLY_CPU_ONCE
#define TESSERA_APPLY_CPU_ONCE
namespace tessera::cpu {
namespace {

constexpr Index max_rows = 64;

/// Bytes of small blocks that are applied to one column after the other.
constexpr std::size_t cached_bytes = std::size_t(1) << 16;

/// Vectors processed in one pass over a block.
constexpr Index vectors_at_once = 4;

/// Bytes that SIMD accesses may read or write past the end of a block.
constexpr Index overread_bytes = 64;
/// Elements that SIMD stores may write past the end of a result.
constexpr Index overread_elements = 64;

template <class T>
struct Columns {
    T* values;
    Offset leading;
    T* at(Index row, Index vector) const { return values + row + vector * leading; }
};

}  // namespace
}  // namespace tessera::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The first `count` of the adjacent values at `from`, then zeros: other values might be subnormal,
/// with which arithmetic is slow.
template <bool whole, class D>
HWY_INLINE hn::Vec<D> load_prefix(D d, const std::byte* from, Index count) {
    const auto values = hn::LoadU(d, reinterpret_cast<const hn::TFromD<D>*>(from));
    if constexpr (whole) return values;
    return hn::IfThenElseZero(hn::FirstN(d, std::size_t(count)), values);
}

/// The first `count` of adjacent stored values, converted; the full vector where `whole`.
template <bool whole, BlockPrecision format, class D>
HWY_INLINE hn::Vec<D> load_widened(Format<format> format_tag, D d, const std::byte* at,
                                   Index count) {
    const hn::Rebind<std::uint32_t, D> words;
    if constexpr (format == BlockPrecision::f64) {
        return load_prefix<whole>(d, at, count);
    } else if constexpr (sizeof(hn::TFromD<D>) == 8) {
        return hn::PromoteTo(d, load_widened<whole>(format_tag, hn::Rebind<float, D>(), at, count));
    } else if constexpr (format == BlockPrecision::f32) {
        return load_prefix<whole>(d, at, count);
    } else {
        const auto half = load_prefix<whole>(hn::Rebind<std::uint16_t, D>(), at, count);
        if constexpr (format == BlockPrecision::bf16) {
            return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(words, half)));
        } else {
            static_assert(format == BlockPrecision::f16);
#if HWY_TARGET == HWY_SSE4  // Highway's SSE4 conversion turns infinity and NaN into numbers.
            const auto bits = hn::PromoteTo(words, half);
            const auto magnitude = hn::ShiftLeft<13>(hn::And(bits, hn::Set(words, 0x7fff)));
            const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(words, 0x8000)));
            const auto special = hn::Set(words, 0x7c00 << 13);
            const auto exponent = hn::IfThenElseZero(hn::Eq(hn::And(magnitude, special), special),
                                                     hn::Set(words, 0x7f800000));
            const auto scaled = hn::Mul(hn::BitCast(d, magnitude), hn::Set(d, 0x1p112f));
            return hn::BitCast(d, hn::Or(hn::BitCast(words, scaled), hn::Or(sign, exponent)));
#else
            return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), half));
#endif
        }
    }
}

/// `Parts` SIMD vectors of rows of z = X r, with `rows` rows left, for `Vectors` columns of z and
/// r. Sums stay in registers, so the short loops over them must be unrolled.
template <int Parts, int Vectors, BlockPrecision format, class D, class T>
HWY_INLINE void multiply_rows(Format<format> format_tag, D d, Index n, Index rows,
                              const std::byte* x, const Columns<const T>& r, const Columns<T>& z) {
    const Index lanes = Index(hn::Lanes(d));
    const Offset r_leading = r.leading;
    hn::Vec<D> sum[Parts][Vectors];
#pragma GCC unroll 4
    for (int p = 0; p < Parts; ++p) {
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) sum[p][v] = hn::Zero(d);
    }
    const T* factor = r.values;
    const auto add_columns = [&](auto whole, Index columns) HWY_ATTR
        __attribute__((always_inline)) {
        for (Index j = 0; j < columns; ++j) {
            hn::Vec<D> value[Parts];
#pragma GCC unroll 4
            for (int p = 0; p < Parts - 1; ++p) {
                value[p] =
                    load_widened<true>(format_tag, d, x + p * lanes * bytes_of(format), lanes);
            }
            value[Parts - 1] =
                load_widened<whole.value>(format_tag, d, x + (Parts - 1) * lanes * bytes_of(format),
                                          rows - (Parts - 1) * lanes);
#pragma GCC unroll 4
            for (int v = 0; v < Vectors; ++v) {
                const auto factors = hn::Set(d, factor[v * r_leading]);
#pragma GCC unroll 4
                for (int p = 0; p < Parts; ++p) {
                    sum[p][v] = hn::MulAdd(value[p], factors, sum[p][v]);
                }
            }
            x += n * bytes_of(format);
            ++factor;
        }
    };
    // Masked loads take twice the time; only loads of the last columns pass the end of the block.
    Index whole_columns = n;
    for (Index past = Parts * lanes - rows; past > 0 && whole_columns > 0; past -= n) {
        --whole_columns;
    }
    add_columns(std::true_type(), whole_columns);
    add_columns(std::false_type(), n - whole_columns);
#pragma GCC unroll 4
    for (int p = 0; p < Parts; ++p) {
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) hn::StoreU(sum[p][v], d, z.at(p * lanes, v));
    }
}

/// z = X r for a block and `Vectors` columns; accesses up to one SIMD vector past its end.
template <int Vectors, BlockPrecision format, class T>
HWY_INLINE void multiply_block(Format<format> format_tag, Index n, const std::byte* x,
                               const Columns<const T>& r, const Columns<T>& z) {
    const hn::ScalableTag<T> d;
    const Index lanes = Index(hn::Lanes(d));
    constexpr int max_parts = Vectors > 1 ? 2 : 4;
    for (Index i = 0; i < n; i += max_parts * lanes) {
        const std::byte* from = x + i * bytes_of(format);
        const Columns<T> to{z.at(i, 0), z.leading};
        const Index parts = (n - i + lanes - 1) / lanes;
        if (parts == 1) {
            multiply_rows<1, Vectors>(format_tag, d, n, n - i, from, r, to);
        } else if (parts == 2 || max_parts == 2) {
            multiply_rows<2, Vectors>(format_tag, d, n, n - i, from, r, to);
        } else if (parts == 3) {
            multiply_rows<max_parts - 1, Vectors>(format_tag, d, n, n - i, from, r, to);
        } else {
            multiply_rows<max_parts, Vectors>(format_tag, d, n, n - i, from, r, to);
        }
    }
}

/// z = X^T r for a block: partial sums in each lane, then their sum.
template <BlockPrecision format, class T>
HWY_INLINE void multiply_transposed(Format<format> format_tag, Index n, const std::byte* x,
                                    const T* r, T* z) {
    const hn::ScalableTag<T> d;
    const Index lanes = Index(hn::Lanes(d));
    HWY_ALIGN T factors[max_rows + hn::MaxLanes(d)];
    const Index padded = (n + lanes - 1) / lanes * lanes;
    for (Index j = 0; j < padded; ++j) factors[j] = j < n ? r[j] : T(0);
    for (Index i = 0; i < n; ++i) {
        auto sum = hn::Zero(d);
        for (Index j = 0; j < n; j += lanes) {
            const auto value =
                load_widened<false>(format_tag, d, x + (i * n + j) * bytes_of(format), n - j);
            sum = hn::MulAdd(value, hn::LoadU(d, factors + j), sum);
        }
        z[i] = hn::GetLane(hn::SumOfLanes(d, sum));
    }
}

/// Applies one block to all columns, or, transposed, to the only one.
template <bool transposed, BlockPrecision format, class T>
HWY_INLINE void multiply_columns(Format<format> format_tag, Index n, const std::byte* x,
                                 Index vectors, Columns<const T> r, Columns<T> z) {
    if constexpr (transposed) {
        multiply_transposed(format_tag, n, x, r.values, z.values);
    } else {
        const auto multiply = [&](auto together) HWY_ATTR {
            constexpr int columns = decltype(together)::value;
            multiply_block<columns>(format_tag, n, x, r, z);
            r.values += columns * r.leading;
            z.values += columns * z.leading;
            vectors -= columns;
        };
        while (vectors >= vectors_at_once) {
            multiply(std::integral_constant<int, vectors_at_once>());
        }
        while (vectors > 0) multiply(std::integral_constant<int, 1>());
    }
}

/// Applies a block at the end of a range, where accesses past its end are not allowed, to copies.
template <bool transposed, BlockPrecision format, class T>
void multiply_tail(Format<format> format_tag, Index n, const std::byte* x, Index vectors,
                   const Columns<const T>& r, const Columns<T>& z) {
    alignas(64) std::byte values[max_rows * max_rows * sizeof(T) + overread_bytes];
    alignas(64) T result[max_rows + overread_elements];
    const std::size_t bytes = std::size_t(n * n * bytes_of(format));
    std::memcpy(values, x, bytes);
    std::memset(values + bytes, 0, overread_bytes);
    for (Index v = 0; v < vectors; ++v) {
        multiply_columns<transposed>(format_tag, n, values, 1,
                                     Columns<const T>{r.at(0, v), r.leading},
                                     Columns<T>{result, 0});
        std::memcpy(z.at(0, v), result, std::size_t(n) * sizeof(T));
    }
}

/// Rows of the largest blocks that have loops of their own: their sums fit the registers.
template <class T>
constexpr int max_unrolled_rows = HWY_MIN(16, 4 * hn::MaxLanes(hn::ScalableTag<T>()));

/// z = X r for `count` blocks of `n` rows, `stride` bytes apart: sums as in multiply_rows, in SIMD
/// vectors hardly longer than a block. Whole vectors are loaded, since masked loads take twice
/// the time: each column is followed by values, except the last one of a block if there are `gaps`
/// between blocks.
template <int n, bool gaps, BlockPrecision format, class T>
HWY_NOINLINE void multiply_equal_blocks(Format<format> format_tag, Index count, const std::byte* x,
                                        std::size_t stride, const T* r, T* z) {
    const hn::CappedTag<T, n == 1 ? 1 : n == 2 ? 2 : n <= 4 ? 4 : n <= 8 ? 8 : 16> d;
    constexpr int lanes = int(hn::MaxLanes(d)), parts = (n + lanes - 1) / lanes;
    static_assert(parts * lanes - n <= n, "only loads of the last column pass a block's end");
    for (Index b = 0; b < count; ++b) {
        hn::Vec<decltype(d)> sum[parts];
#pragma GCC unroll 16
        for (int p = 0; p < parts; ++p) sum[p] = hn::Zero(d);
#pragma GCC unroll 16
        for (int j = 0; j < n; ++j) {
            const auto factor = hn::Set(d, r[j]);
#pragma GCC unroll 16
            for (int p = 0; p < parts; ++p) {
                const std::byte* from = x + (j * n + p * lanes) * bytes_of(format);
                const auto value = gaps && j == n - 1
                                       ? load_widened<false>(format_tag, d, from, n - p * lanes)
                                       : load_widened<true>(format_tag, d, from, lanes);
                sum[p] = hn::MulAdd(value, factor, sum[p]);
            }
        }
#pragma GCC unroll 16
        for (int p = 0; p < parts; ++p) hn::StoreU(sum[p], d, z + p * lanes);
        x += stride;
        r += n;
        z += n;
    }
}

/// f(std::integral_constant<int, n>()) for n = 1..max_unrolled_rows<T>.
template <class T, int n = 1, class F>
HWY_INLINE void with_rows(Index rows, F&& f) {
    if constexpr (n <= max_unrolled_rows<T>) {
        if (rows == n) return f(std::integral_constant<int, n>());
        with_rows<T, n + 1>(rows, f);
    }
}

/// Applies the run of blocks from `first` on that have as many rows as the first one, at most
/// max_unrolled_rows<T>; returns the end of the run. Blocks first .. last - 1 all have this format.
/// With several columns, blocks are taken in groups that stay in the cache from column to column.
template <BlockPrecision format, class T>
HWY_INLINE Index multiply_run(Format<format> format_tag, const StoredBlocks& blocks, Index first,
                              Index last, Index vectors, const Columns<const T>& r,
                              const Columns<T>& z) {
    const Index* const rows = blocks.block_offsets;
    const Index n = rows[first + 1] - rows[first];
    Index end = first + 1;
    while (end < last && rows[end + 1] - rows[end] == n) ++end;
    const auto multiply = [&](auto known, auto gaps) HWY_ATTR {
        constexpr std::size_t bytes = known.value * known.value * bytes_of(format);
        constexpr std::size_t stride = gaps.value ? (bytes + 7) / 8 * 8 : bytes;
        const Index at_once = vectors == 1 ? end - first : Index(cached_bytes / stride);
        for (Index b = first; b < end; b += at_once) {
            const Index count = end - b < at_once ? end - b : at_once;
            for (Index v = 0; v < vectors; ++v) {
                multiply_equal_blocks<known.value, gaps.value>(
                    format_tag, count, blocks.block(first) + std::size_t(b - first) * stride,
                    stride, r.at(rows[b], v), z.at(rows[b], v));
            }
        }
    };
    with_rows<T>(n, [&](auto known) HWY_ATTR {
        if (blocks.formats == nullptr) {
            multiply(known, std::false_type());
        } else {
            multiply(known, std::true_type());
        }
    });
    return end;
}

/// Applies blocks first .. last-1. Full SIMD vectors pass the end of a block, into values of the
/// next blocks (unused sums) and their rows (overwritten later), as long as those are in this
/// range.
template <bool transposed, class T>
void multiply_blocks(const StoredBlocks& blocks, Index first, Index last, Index vectors,
                     const Columns<const T>& r, const Columns<T>& z) {
    const Index* const rows = blocks.block_offsets;
    const auto block = [&](auto format_tag, Index b, auto&& multiply) HWY_ATTR {
        multiply(format_tag, rows[b + 1] - rows[b], blocks.block(b), vectors,
                 Columns<const T>{r.at(rows[b], 0), r.leading},
                 Columns<T>{z.at(rows[b], 0), z.leading});
    };
    Index whole = last;  // Blocks before this one are followed by enough bytes and rows.
    while (whole > first &&
           (rows[last] - rows[whole] < overread_bytes / Index(sizeof(T)) ||
            (blocks.starts[last] - blocks.starts[whole]) * blocks.unit < overread_bytes)) {
        --whole;
    }
    for (Index b = first, next = first; b < last; b = next) {
        const BlockPrecision format = blocks.format_of(b);
        next = blocks.formats == nullptr ? last : b + 1;
        while (next < last && blocks.formats[next] == format) ++next;
        with_format<T>(format, [&](auto format_tag) HWY_ATTR {
            Index k = b;
            while (k < next && k < whole) {
                if (!transposed && rows[k + 1] - rows[k] <= max_unrolled_rows<T>) {
                    k = multiply_run(format_tag, blocks, k, next < whole ? next : whole, vectors, r,
                                     z);
                    continue;
                }
                block(format_tag, k,
                      [](auto... given) HWY_ATTR { multiply_columns<transposed>(given...); });
                ++k;
            }
            for (; k < next; ++k) {
                block(format_tag, k,
                      [](auto... given) HWY_ATTR { multiply_tail<transposed>(given...); });
            }
        });
    }
}

template <class T>
void multiply_range(const StoredBlocks& blocks, bool transposed, Index first, Index last,
                    Index vectors, const Columns<const T>& r, const Columns<T>& z) {
    if (transposed) {
        multiply_blocks<true>(blocks, first, last, vectors, r, z);
    } else {
        multiply_blocks<false>(blocks, first, last, vectors, r, z);
    }
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "precond/block_jacobi/block_ranges.hpp"

namespace tessera::cpu {

template <class T>
void apply(const Context& context, const StoredBlocks& blocks, bool transposed, Vectors<const T> r,
           Vectors<T> z) {
    const auto multiply = TESSERA_SIMD(context, multiply_range<T>);
    for_block_ranges(context, blocks.count, blocks.starts, blocks.unit,
                     [&](Index first, Index last) {
                         multiply(blocks, transposed, first, last, r.count, {r.data, r.leading},
                                  {z.data, z.leading});
                     });
}

template decltype(apply<float>) apply<float>;
template decltype(apply<double>) apply<double>;

}  // namespace tessera::cpu
#endif
