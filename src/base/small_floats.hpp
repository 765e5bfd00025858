#pragma once

#include <cstdint>
#include <cstring>

#include "base/host_device.hpp"

/// Conversions between float and 16-bit floating-point numbers given by their bits, equal to the
/// last bit on CPU and GPU. Those from float round to nearest, ties to even: beyond the largest
/// finite number comes infinity, below the smallest normal one subnormal numbers, NaN stays NaN.
/// Those to float are exact.
namespace tessera {

template <class To, class From>
TESSERA_HOST_DEVICE inline To same_bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    memcpy(&to, &from, sizeof(To));
    return to;
}

/// Inexact numbers become that neighbour whose last bit is 1, so that a second rounding, to at
/// least two bits less, rounds as if from the given number.
TESSERA_HOST_DEVICE inline float round_to_odd(double value) {
    const float nearest = float(value);
    const auto bits = same_bits_as<std::uint32_t>(nearest);
    const double back = double(nearest);
    if (back == value || value != value || bits % 2 == 1) return nearest;
    const bool further = (back < 0 ? -back : back) < (value < 0 ? -value : value);
    return same_bits_as<float>(further ? bits + 1 : bits - 1);
}

TESSERA_HOST_DEVICE inline std::uint16_t bits_of_bf16(float value) {
    const auto bits = same_bits_as<std::uint32_t>(value);
    if (value != value) return std::uint16_t(bits >> 16 | 0x40);
    return std::uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

TESSERA_HOST_DEVICE inline std::uint16_t bits_of_f16(float value) {
    const auto bits = same_bits_as<std::uint32_t>(value);
    const std::uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude >= same_bits_as<std::uint32_t>(0x1p16f)) {
        return std::uint16_t(sign | (value != value ? 0x7e00 : 0x7c00));
    }
    if (magnitude < same_bits_as<std::uint32_t>(0x1p-14f)) {
        // Next to 1/2 floats are as far apart as subnormal numbers here.
        const float rounded = same_bits_as<float>(magnitude) + 0.5f;
        return std::uint16_t(
            sign | (same_bits_as<std::uint32_t>(rounded) - same_bits_as<std::uint32_t>(0.5f)));
    }
    constexpr std::uint32_t less_exponent = (127 - 15) << 23;
    return std::uint16_t(sign | (magnitude - less_exponent + 0xfff + (magnitude >> 13 & 1)) >> 13);
}

TESSERA_HOST_DEVICE inline float float_of_bf16(std::uint16_t bits) {
    return same_bits_as<float>(std::uint32_t(bits) << 16);
}

TESSERA_HOST_DEVICE inline float float_of_f16(std::uint16_t bits) {
#ifdef __CUDA_ARCH__
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
#else
    // Multiplied, subnormal numbers become normal ones; the largest exponent stays so.
    const float scaled = same_bits_as<float>(std::uint32_t(bits & 0x7fff) << 13) * 0x1p112f;
    const std::uint32_t special = (bits & 0x7c00) == 0x7c00 ? 0x7f800000 : 0;
    return same_bits_as<float>(std::uint32_t(bits & 0x8000) << 16 | special |
                               same_bits_as<std::uint32_t>(scaled));
#endif
}

}  // namespace tessera
