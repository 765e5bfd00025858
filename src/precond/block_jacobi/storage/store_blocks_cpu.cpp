#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "precond/block_jacobi/storage/store_blocks_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "precond/block_jacobi/kernels.hpp"
#include "precond/block_jacobi/storage/block_formats.hpp"
#include "simd/dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Vector forms of narrow(), with equal bits.
template <class D>
using Words = hn::Rebind<std::uint32_t, D>;

template <class D>
HWY_INLINE hn::Vec<Words<D>> bf16_words(D, hn::Vec<D> value) {
    const Words<D> words;
    const auto bits = hn::BitCast(words, value);
    const auto tie = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 1));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(hn::Set(words, 0x7fff), tie)));
    const auto quiet = hn::Or(hn::ShiftRight<16>(bits), hn::Set(words, 0x40));
    return hn::IfThenElse(hn::RebindMask(words, hn::IsNaN(value)), quiet, rounded);
}

template <class D>
HWY_INLINE hn::Vec<Words<D>> f16_words(D d, hn::Vec<D> value) {
    const Words<D> words;
    const auto bits = hn::BitCast(words, value);
    const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 0x8000));
    const auto magnitude = hn::And(bits, hn::Set(words, 0x7fffffff));
    const auto tie = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(words, 1));
    constexpr std::uint32_t less_exponent = (127 - 15) << 23;
    const auto normal =
        hn::ShiftRight<13>(hn::Add(hn::Sub(magnitude, hn::Set(words, less_exponent - 0xfff)), tie));
    // Next to 1/2 floats have the spacing of subnormal numbers of f16.
    const auto half = hn::Set(d, 0.5f);
    const auto rounded = hn::Add(hn::BitCast(d, magnitude), half);
    const auto subnormal = hn::Sub(hn::BitCast(words, rounded), hn::BitCast(words, half));
    const auto special = hn::IfThenElse(hn::RebindMask(words, hn::IsNaN(value)),
                                        hn::Set(words, 0x7e00), hn::Set(words, 0x7c00));
    const auto is_small = hn::Lt(hn::BitCast(d, magnitude), hn::Set(d, 0x1p-14f));
    const auto is_finite = hn::Lt(hn::BitCast(d, magnitude), hn::Set(d, 0x1p16f));
    const auto finite = hn::IfThenElse(hn::RebindMask(words, is_small), subnormal, normal);
    return hn::Or(sign, hn::IfThenElse(hn::RebindMask(words, is_finite), finite, special));
}

/// Rounding to odd: inexact numbers become the neighbour in float whose last bit is 1.
template <class D>
HWY_INLINE hn::Vec<hn::Rebind<float, D>> round_to_odd(D d, hn::Vec<D> value) {
    const hn::Rebind<float, D> floats;
    const Words<D> words;
    const hn::Rebind<std::uint64_t, D> long_words;
    const auto nearest = hn::DemoteTo(floats, value);
    const auto back = hn::PromoteTo(d, nearest);
    const auto bits = hn::PromoteTo(long_words, hn::BitCast(words, nearest));
    const auto one = hn::Set(long_words, 1);
    const auto further = hn::RebindMask(long_words, hn::Lt(hn::Abs(back), hn::Abs(value)));
    const auto neighbour = hn::IfThenElse(further, hn::Add(bits, one), hn::Sub(bits, one));
    const auto is_even = hn::Eq(hn::And(bits, one), hn::Zero(long_words));
    const auto inexact =
        hn::RebindMask(long_words, hn::AndNot(hn::IsNaN(value), hn::Ne(back, value)));
    const auto odd = hn::IfThenElse(hn::And(inexact, is_even), neighbour, bits);
    return hn::BitCast(floats, hn::TruncateTo(words, odd));
}

template <BlockPrecision format, class D>
HWY_INLINE hn::Vec<hn::Rebind<StoredBits<format>, D>> narrow_vector(D d, hn::Vec<D> value) {
    const hn::Rebind<StoredBits<format>, D> stored;
    if constexpr (format == BlockPrecision::f64 ||
                  (format == BlockPrecision::f32 && sizeof(hn::TFromD<D>) == 4)) {
        return hn::BitCast(stored, value);
    } else if constexpr (format == BlockPrecision::f32) {
        return hn::BitCast(stored, hn::DemoteTo(hn::Rebind<float, D>(), value));
    } else if constexpr (sizeof(hn::TFromD<D>) == 8) {
        return narrow_vector<format>(hn::Rebind<float, D>(), round_to_odd(d, value));
    } else if constexpr (format == BlockPrecision::bf16) {
        return hn::TruncateTo(stored, bf16_words(d, value));
    } else {
        return hn::TruncateTo(stored, f16_words(d, value));
    }
}

/// Stores `count` adjacent values. Returns the largest finite magnitude.
template <class T>
T narrow_values(BlockPrecision format, Offset count, const T* from, std::byte* to) {
    const hn::ScalableTag<T> d;
    const Offset lanes = Offset(hn::Lanes(d));
    T largest = 0;
    with_format<T>(format, [&](auto format_tag) HWY_ATTR {
        constexpr BlockPrecision in = decltype(format_tag)::value;
        const hn::Rebind<StoredBits<in>, decltype(d)> stored;
        const auto finite_magnitude = [](auto value) HWY_ATTR {
            return hn::IfThenElseZero(hn::IsFinite(value), hn::Abs(value));
        };
        auto all = hn::Zero(d);
        Offset e = 0;
        for (; e + lanes <= count; e += lanes) {
            const auto value = hn::LoadU(d, from + e);
            hn::StoreU(narrow_vector<in>(d, value), stored,
                       reinterpret_cast<StoredBits<in>*>(to + e * bytes_of(in)));
            all = hn::Max(all, finite_magnitude(value));
        }
        largest = hn::GetLane(hn::MaxOfLanes(d, all));
        if (e == count) return;
        // Zeros fill the last vector.
        T last[hn::MaxLanes(d)] = {};
        for (Offset i = 0; e + i < count; ++i) last[i] = from[e + i];
        StoredBits<in> bits[hn::MaxLanes(d)];
        const auto value = hn::LoadU(d, last);
        hn::StoreU(narrow_vector<in>(d, value), stored, bits);
        memcpy(to + e * bytes_of(in), bits, std::size_t(count - e) * sizeof(bits[0]));
        largest = hn::GetLane(hn::MaxOfLanes(d, hn::Max(all, finite_magnitude(value))));
    });
    return largest;
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <atomic>
#include <cstring>

#include "precond/block_jacobi/block_ranges.hpp"

namespace tessera::cpu {

void format_starts(const Context&, Index count, const Index* block_offsets,
                   const BlockPrecision* formats, Index each, Offset* starts) {
    starts[0] = 0;
    for (Index b = 0; b < count; ++b) {
        starts[b + 1] =
            starts[b] + stored_units(block_offsets[b + 1] - block_offsets[b], formats[b]);
    }
    starts[count + 1] = 0;
    for (Index b = 0; b < count; b += each) {
        starts[count + 1] =
            std::max(starts[count + 1], starts[std::min(b + each, count)] - starts[b]);
    }
}

template <class T>
void store_blocks(const Context& context, const PackedBlocks<T>& blocks, const T* inverses,
                  const StoredBlocks& stored, std::byte* bytes, SetupSummary* summary) {
    const auto narrow_block = TESSERA_SIMD(context, narrow_values<T>);
    const Offset* const offsets = blocks.entry_offsets;
    std::atomic<bool> outside{false};
    for_block_ranges(context, blocks.count, offsets, 8, [&](Index first, Index last) {
        for (Index b = first; b < last; ++b) {
            const BlockPrecision format = stored.format_of(b);
            const T largest =
                narrow_block(format, offsets[b + 1] - offsets[b], inverses + offsets[b],
                             bytes + stored.starts[b] * stored.unit);
            if (is_outside(format, double(largest))) outside = true;
        }
    });
    summary->add({.outside = outside});
}

void clear(const Context&, void* memory, Offset bytes) {
    std::memset(memory, 0, std::size_t(bytes));
}

template decltype(store_blocks<float>) store_blocks<float>;
template decltype(store_blocks<double>) store_blocks<double>;

}  // namespace tessera::cpu
#endif
