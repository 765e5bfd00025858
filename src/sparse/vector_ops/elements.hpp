#pragma once

#include <cmath>

#include "base/philox.hpp"
#include "tessera/types.hpp"

namespace tessera {

/// Element i of the uniform sequence of `seed`: in [0, 1), 53 random bits (24 for float).
template <class T>
TESSERA_HOST_DEVICE inline T uniform_element(std::uint64_t seed, Offset i) {
    const philox::Words w = philox::words(seed, 0, std::uint64_t(i));
    return philox::unit_interval<T>(w.words[0], w.words[1]);
}

/// Element i of the normal sequence of `seed`, by Box and Muller's cosine form.
TESSERA_HOST_DEVICE inline double normal_element(std::uint64_t seed, Offset i) {
    const philox::Words w = philox::words(seed, 1, std::uint64_t(i));
    const double u = philox::unit_interval<double>(w.words[0], w.words[1]);
    const double v = philox::unit_interval<double>(w.words[2], w.words[3]);
    return std::sqrt(-2.0 * std::log(1.0 - u)) * std::cos(6.283185307179586 * v);
}

/// 2^k, or 2^-k if `inverse`, with 2^k <= sqrt(square) < 2^(k+1); 1 where that is no positive
/// finite number. |k| stays within 500, so that neither over- nor underflows.
TESSERA_HOST_DEVICE inline double power_below_root(double square, bool inverse) {
    if (!(square > 0) || !std::isfinite(square)) return 1;
    int k = std::ilogb(std::sqrt(square));
    k = k < -500 ? -500 : k > 500 ? 500 : k;
    return std::ldexp(1.0, inverse ? -k : k);
}

}  // namespace tessera
