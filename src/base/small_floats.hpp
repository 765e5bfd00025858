#pragma once

#include <cstdint>
#include <cstring>

#include "base/host_device.hpp"

/// Conversions between float and 16-bit floating-point numbers given by their bits, bitwise equal
/// on CPU and GPU. Conversions from float round to nearest, ties to even: to infinity above the
/// largest finite number, to subnormal numbers below the smallest normal one; NaN stays NaN.
/// Conversions to float are exact.
namespace tessera {

template <class To, class From>
TESSERA_HOST_DEVICE inline To bit_cast(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    memcpy(&to, &from, sizeof(To));
    return to;
}

/// Rounds to odd: inexact numbers become the neighbour whose last bit is 1. Rounding the result to
/// at least two bits less then equals rounding `value` directly.
TESSERA_HOST_DEVICE inline float round_to_odd(double value) {
    const float nearest = float(value);
    const auto bits = bit_cast<std::uint32_t>(nearest);
    const double back = double(nearest);
    if (back == value || value != value || bits % 2 == 1) return nearest;
    const bool rounded_down = (back < 0 ? -back : back) < (value < 0 ? -value : value);
    return bit_cast<float>(rounded_down ? bits + 1 : bits - 1);
}

TESSERA_HOST_DEVICE inline std::uint16_t float_to_bf16(float value) {
    const auto bits = bit_cast<std::uint32_t>(value);
    if (value != value) return std::uint16_t(bits >> 16 | 0x40);
    return std::uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

TESSERA_HOST_DEVICE inline std::uint16_t float_to_f16(float value) {
    const auto bits = bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude >= bit_cast<std::uint32_t>(0x1p16f)) {
        return std::uint16_t(sign | (value != value ? 0x7e00 : 0x7c00));
    }
    if (magnitude < bit_cast<std::uint32_t>(0x1p-14f)) {
        // Floats near 1/2 have the spacing of subnormal f16 numbers.
        const float rounded = bit_cast<float>(magnitude) + 0.5f;
        return std::uint16_t(sign |
                             (bit_cast<std::uint32_t>(rounded) - bit_cast<std::uint32_t>(0.5f)));
    }
    constexpr std::uint32_t exponent_difference = (127 - 15) << 23;
    return std::uint16_t(sign |
                         (magnitude - exponent_difference + 0xfff + (magnitude >> 13 & 1)) >> 13);
}

TESSERA_HOST_DEVICE inline float bf16_to_float(std::uint16_t bits) {
    return bit_cast<float>(std::uint32_t(bits) << 16);
}

TESSERA_HOST_DEVICE inline float f16_to_float(std::uint16_t bits) {
#ifdef __CUDA_ARCH__
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
#else
    // The product normalises subnormal numbers; infinity and NaN get their exponent back.
    const float scaled = bit_cast<float>(std::uint32_t(bits & 0x7fff) << 13) * 0x1p112f;
    const std::uint32_t special = (bits & 0x7c00) == 0x7c00 ? 0x7f800000 : 0;
    return bit_cast<float>(std::uint32_t(bits & 0x8000) << 16 | special |
                           bit_cast<std::uint32_t>(scaled));
#endif
}

}  // namespace tessera
