#pragma once

#include <cstring>
#include <type_traits>

#include "base/host_device.hpp"
#include "base/small_floats.hpp"
#include "precond/block_jacobi/storage/stored_blocks.hpp"

/// Conversions between T (float, double) and the formats of stored blocks, equal to the last bit on
/// CPU and GPU. Those from T round to nearest, ties to even, as if once: beyond the largest finite
/// number comes infinity, below the smallest normal one subnormal numbers, NaN stays NaN. Those to
/// T are exact.
namespace tessera {

template <BlockFormat format>
using Format = std::integral_constant<BlockFormat, format>;

/// The unsigned integer that holds the bits of a value.
template <BlockFormat format>
using StoredBits =
    std::conditional_t<bytes_of(format) == 8, std::uint64_t,
                       std::conditional_t<bytes_of(format) == 4, std::uint32_t, std::uint16_t>>;

/// Whether every value of the format is one of T.
template <class T>
TESSERA_HOST_DEVICE constexpr bool is_format_of(BlockFormat format) {
    return sizeof(T) == 8 || (format != BlockFormat::f64 && format != BlockFormat::truncated_f64);
}

/// The largest |fl(x) - x| / |x| where neither overflow nor underflow happens, rounded up.
TESSERA_HOST_DEVICE constexpr double unit_roundoff(BlockFormat format) {
    return format == BlockFormat::f64             ? 0x1p-53
           : format == BlockFormat::f32           ? 0x1p-24
           : format == BlockFormat::truncated_f64 ? 0x1p-21
           : format == BlockFormat::bf16          ? 0x1p-8
                                                  : 0x1p-11;
}

TESSERA_HOST_DEVICE constexpr double largest_finite(BlockFormat format) {
    return format == BlockFormat::f64             ? 0x1.fffffffffffffp1023
           : format == BlockFormat::f32           ? 0x1.fffffep127
           : format == BlockFormat::truncated_f64 ? 0x1.fffffp1023
           : format == BlockFormat::bf16          ? 0x1.fep127
                                                  : 0x1.ffcp15;
}

TESSERA_HOST_DEVICE constexpr double smallest_normal(BlockFormat format) {
    return format == BlockFormat::f64 || format == BlockFormat::truncated_f64 ? 0x1p-1022
           : format == BlockFormat::f32 || format == BlockFormat::bf16        ? 0x1p-126
                                                                              : 0x1p-14;
}

template <BlockFormat format>
TESSERA_HOST_DEVICE inline StoredBits<format> narrow(float value) {
    if constexpr (format == BlockFormat::f32) {
        return same_bits_as<std::uint32_t>(value);
    } else if constexpr (format == BlockFormat::bf16) {
        return bits_of_bf16(value);
    } else {
        static_assert(format == BlockFormat::f16);
        return bits_of_f16(value);
    }
}

template <BlockFormat format>
TESSERA_HOST_DEVICE inline StoredBits<format> narrow(double value) {
    if constexpr (format == BlockFormat::f64) {
        return same_bits_as<std::uint64_t>(value);
    } else if constexpr (format == BlockFormat::truncated_f64) {
        const auto bits = same_bits_as<std::uint64_t>(value);
        if (value != value) return std::uint32_t(bits >> 32 | 0x80000);
        return std::uint32_t((bits + 0x7fffffff + (bits >> 32 & 1)) >> 32);
    } else if constexpr (format == BlockFormat::f32) {
        return same_bits_as<std::uint32_t>(float(value));
    } else {
        return narrow<format>(round_to_odd(value));
    }
}

template <class T, BlockFormat format>
TESSERA_HOST_DEVICE inline T widen(StoredBits<format> bits) {
    static_assert(is_format_of<T>(format));
    if constexpr (format == BlockFormat::f64) {
        return same_bits_as<double>(bits);
    } else if constexpr (format == BlockFormat::truncated_f64) {
        return same_bits_as<double>(std::uint64_t(bits) << 32);
    } else if constexpr (format == BlockFormat::f32) {
        return same_bits_as<float>(bits);
    } else if constexpr (format == BlockFormat::bf16) {
        return float_of_bf16(bits);
    } else {
        return float_of_f16(bits);
    }
}

/// What is stored at `at`, which is aligned as its format needs.
template <BlockFormat format>
TESSERA_HOST_DEVICE inline StoredBits<format> stored_bits(const std::byte* at) {
#ifdef __CUDA_ARCH__
    return *reinterpret_cast<const StoredBits<format>*>(at);
#else
    StoredBits<format> bits;
    memcpy(&bits, at, sizeof(bits));
    return bits;
#endif
}

/// f(Format<format>()) for a format that is_format_of<T>.
template <class T, class F>
TESSERA_HOST_DEVICE inline auto with_format(BlockFormat format, F&& f) {
    if constexpr (sizeof(T) == 8) {
        if (format == BlockFormat::f64) return f(Format<BlockFormat::f64>());
        if (format == BlockFormat::truncated_f64) return f(Format<BlockFormat::truncated_f64>());
    }
    if (format == BlockFormat::f32) return f(Format<BlockFormat::f32>());
    if (format == BlockFormat::bf16) return f(Format<BlockFormat::bf16>());
    return f(Format<BlockFormat::f16>());
}

/// Writes the value in a format that is_format_of<T>; `at` is aligned as the format needs.
template <class T>
TESSERA_HOST_DEVICE inline void store(BlockFormat format, T value, std::byte* at) {
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
TESSERA_HOST_DEVICE inline T load(BlockFormat format, const std::byte* at) {
    return with_format<T>(
        format, [&](auto known) { return widen<T, known.value>(stored_bits<known.value>(at)); });
}

}  // namespace tessera
