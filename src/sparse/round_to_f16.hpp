#pragma once

#include <algorithm>
#include <cstdint>

#include "base/small_floats.hpp"

namespace tessera {

/// The bits of the nearest FP16 number, ties to even: the same as narrow_to<f16>
/// (stored_value.hpp), without branches. A power of two is added whose last bit has the weight of
/// the last bit of the result, so that this sum is rounded as the result must be.
inline std::uint16_t round_to_f16(double value) {
    constexpr std::uint64_t infinite = std::uint64_t(0x7ff) << 52;
    constexpr int smallest = 1023 - 14, largest = 1023 + 16, shift = 52 - 10;
    const auto bits = bit_cast<std::uint64_t>(value);
    const std::uint64_t magnitude = bits & ~(std::uint64_t(1) << 63);
    const std::uint64_t exponent = std::clamp<std::uint64_t>(magnitude >> 52, smallest, largest);
    const std::uint64_t power = (exponent + shift) << 52;
    const std::uint64_t digits =
        bit_cast<std::uint64_t>(bit_cast<double>(magnitude) + bit_cast<double>(power)) - power;
    const std::uint64_t rounded =
        std::min<std::uint64_t>(((exponent - smallest) << 10) + digits, 0x7c00);
    return std::uint16_t((bits >> 48 & 0x8000) | (magnitude > infinite ? 0x7e00 : rounded));
}

}  // namespace tessera
