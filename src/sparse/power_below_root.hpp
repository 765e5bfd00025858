#pragma once

#include <cmath>

#include "base/host_device.hpp"

namespace tessera {

/// 2^k, or 2^-k if `inverse`, with 2^k <= sqrt(square) < 2^(k+1); 1 where that is no positive
/// finite number. |k| stays within 500, so that both can be had.
TESSERA_HOST_DEVICE inline double power_below_root(double square, bool inverse) {
    if (!(square > 0) || !std::isfinite(square)) return 1;
    int k = std::ilogb(std::sqrt(square));
    k = k < -500 ? -500 : k > 500 ? 500 : k;
    return std::ldexp(1.0, inverse ? -k : k);
}

/// The factor that `widen` brings a vector back with: 1 without a square.
TESSERA_HOST_DEVICE inline double widening_factor(const double* square) {
    return square == nullptr ? 1 : power_below_root(*square, false);
}

}  // namespace tessera
