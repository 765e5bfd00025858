#pragma once

#include <cstring>
#include <type_traits>

#include "base/host_device.hpp"
#include "base/small_floats.hpp"
#include "precond/block_jacobi/storage/stored_blocks.hpp"

/// The formats of stored blocks: their limits, which of them a block may have, and conversions
/// between T (float, double) and them, bitwise equal on CPU and GPU. Conversions from T round to
/// nearest, ties to even, once: to infinity above the largest finite number, to subnormal numbers
/// below the smallest normal one; NaN stays NaN. Conversions to T are exact.
namespace tessera {

template <BlockPrecision format>
using Format = std::integral_constant<BlockPrecision, format>;

/// The unsigned integer that holds the bits of a value.
template <BlockPrecision format>
using StoredBits =
    std::conditional_t<bytes_of(format) == 8, std::uint64_t,
                       std::conditional_t<bytes_of(format) == 4, std::uint32_t, std::uint16_t>>;

/// Whether every value of the format is one of T.
template <class T>
TESSERA_HOST_DEVICE constexpr bool is_format_of(BlockPrecision format) {
    return sizeof(T) == 8 || format != BlockPrecision::f64;
}

/// The largest |fl(x) - x| / |x| where neither overflow nor underflow happens, rounded up.
TESSERA_HOST_DEVICE constexpr double unit_roundoff(BlockPrecision format) {
    return format == BlockPrecision::f64    ? 0x1p-53
           : format == BlockPrecision::f32  ? 0x1p-24
           : format == BlockPrecision::bf16 ? 0x1p-8
                                            : 0x1p-11;
}

TESSERA_HOST_DEVICE constexpr double largest_finite(BlockPrecision format) {
    return format == BlockPrecision::f64    ? 0x1.fffffffffffffp1023
           : format == BlockPrecision::f32  ? 0x1.fffffep127
           : format == BlockPrecision::bf16 ? 0x1.fep127
                                            : 0x1.ffcp15;
}

TESSERA_HOST_DEVICE constexpr double smallest_normal(BlockPrecision format) {
    return format == BlockPrecision::f64   ? 0x1p-1022
           : format == BlockPrecision::f16 ? 0x1p-14
                                           : 0x1p-126;
}

/// Whether values whose largest finite magnitude is `largest` leave the range of a format: they
/// overflow, or the largest of them is below the normal numbers.
TESSERA_HOST_DEVICE constexpr bool is_outside(BlockPrecision format, double largest) {
    return largest > largest_finite(format) || (largest > 0 && largest < smallest_normal(format));
}

template <BlockPrecision format>
TESSERA_HOST_DEVICE inline StoredBits<format> narrow(float value) {
    if constexpr (format == BlockPrecision::f32) {
        return bit_cast<std::uint32_t>(value);
    } else if constexpr (format == BlockPrecision::bf16) {
        return float_to_bf16(value);
    } else {
        static_assert(format == BlockPrecision::f16);
        return float_to_f16(value);
    }
}

template <BlockPrecision format>
TESSERA_HOST_DEVICE inline StoredBits<format> narrow(double value) {
    if constexpr (format == BlockPrecision::f64) {
        return bit_cast<std::uint64_t>(value);
    } else if constexpr (format == BlockPrecision::f32) {
        return bit_cast<std::uint32_t>(float(value));
    } else {
        return narrow<format>(round_to_odd(value));
    }
}

template <class T, BlockPrecision format>
TESSERA_HOST_DEVICE inline T widen(StoredBits<format> bits) {
    static_assert(is_format_of<T>(format));
    if constexpr (format == BlockPrecision::f64) {
        return bit_cast<double>(bits);
    } else if constexpr (format == BlockPrecision::f32) {
        return bit_cast<float>(bits);
    } else if constexpr (format == BlockPrecision::bf16) {
        return bf16_to_float(bits);
    } else {
        return f16_to_float(bits);
    }
}

/// The stored bits at `at`, which has the alignment of the format.
template <BlockPrecision format>
TESSERA_HOST_DEVICE inline StoredBits<format> stored_bits(const std::byte* source) {
#ifdef __CUDA_ARCH__
    return *reinterpret_cast<const StoredBits<format>*>(source);
#else
    StoredBits<format> bits;
    memcpy(&bits, source, sizeof(bits));
    return bits;
#endif
}

/// f(Format<format>()) for a format that is_format_of<T>.
template <class T, class F>
TESSERA_HOST_DEVICE inline auto with_format(BlockPrecision format, F&& f) {
    if constexpr (sizeof(T) == 8) {
        if (format == BlockPrecision::f64) return f(Format<BlockPrecision::f64>());
    }
    if (format == BlockPrecision::f32) return f(Format<BlockPrecision::f32>());
    if (format == BlockPrecision::bf16) return f(Format<BlockPrecision::bf16>());
    return f(Format<BlockPrecision::f16>());
}

/// Writes the value in a format that is_format_of<T>; `at` has the alignment of the format.
template <class T>
TESSERA_HOST_DEVICE inline void store(BlockPrecision format, T value, std::byte* at) {
    with_format<T>(format, [&](auto known) {
        const auto bits = narrow<known.value>(value);
#ifdef __CUDA_ARCH__
        *reinterpret_cast<StoredBits<known.value>*>(at) = bits;
#else
        memcpy(at, &bits, sizeof(bits));
#endif
    });
}

template <class T>
TESSERA_HOST_DEVICE inline T load(BlockPrecision format, const std::byte* at) {
    return with_format<T>(
        format, [&](auto known) { return widen<T, known.value>(stored_bits<known.value>(at)); });
}

/// Whether an inverse whose largest magnitude is `largest` may be stored in `format`: its rounding
/// errors, at most unit_roundoff ||X||, change the preconditioned matrix by at most
/// unit_roundoff / reciprocal_condition, which stays below `accuracy`; and the largest value is in
/// the range of normal numbers, so that no error exceeds unit_roundoff * largest.
TESSERA_HOST_DEVICE inline bool fits_format(BlockPrecision format, double reciprocal_condition,
                                            double largest, double accuracy) {
    return unit_roundoff(format) < accuracy * reciprocal_condition &&
           largest >= smallest_normal(format) && largest <= largest_finite(format);
}

/// The first of f16, bf16, f32 that fits, else T itself.
template <class T>
TESSERA_HOST_DEVICE inline BlockPrecision smallest_format(double reciprocal_condition,
                                                          double largest, double accuracy) {
    constexpr BlockPrecision candidates[] = {BlockPrecision::f16, BlockPrecision::bf16,
                                             BlockPrecision::f32};
    for (const BlockPrecision format : candidates) {
        if (fits_format(format, reciprocal_condition, largest, accuracy)) return format;
    }
    return sizeof(T) == 8 ? BlockPrecision::f64 : BlockPrecision::f32;
}

/// f16, or bf16 of the same size for an inverse whose largest magnitude is outside the range of
/// f16; `largest` is 0 if it is unknown.
TESSERA_HOST_DEVICE inline BlockPrecision two_byte_format(double largest) {
    return largest == 0 || is_outside(BlockPrecision::f16, largest) ? BlockPrecision::bf16
                                                                    : BlockPrecision::f16;
}

/// Whether a block may stay in its format; always true of T itself.
template <class T>
TESSERA_HOST_DEVICE inline bool still_fits_format(BlockPrecision format,
                                                  double reciprocal_condition, double largest,
                                                  double accuracy) {
    constexpr BlockPrecision working = sizeof(T) == 8 ? BlockPrecision::f64 : BlockPrecision::f32;
    return format == working || fits_format(format, reciprocal_condition, largest, accuracy);
}

/// Number of 8-byte units of a block of `rows` rows.
TESSERA_HOST_DEVICE inline Offset stored_units(Index rows, BlockPrecision format) {
    return (Offset(rows) * rows * bytes_of(format) + 7) / 8;
}

}  // namespace tessera
