#pragma once

#include <bit>
#include <cmath>

#include "base/for_each.hpp"
#include "base/philox.hpp"

// Loop bodies of for_each_index, and the functions of one element that they use.
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

/// 2^k, or 2^-k if `inverse`, with 2^k <= sqrt(square) < 2^(k+1); 1 if square is not positive and
/// finite. |k| stays within 500, so that nothing over- or underflows.
TESSERA_HOST_DEVICE inline double power_below_root(double square, bool inverse) {
    if (!(square > 0) || !std::isfinite(square)) return 1;
    int k = (int(std::bit_cast<std::uint64_t>(square) >> 52) - 1023) >> 1;
    k = k < -500 ? -500 : k > 500 ? 500 : k;
    return std::bit_cast<double>(std::uint64_t(1023 + (inverse ? -k : k)) << 52);
}

template <class T>
struct Fill {
    static constexpr int work = 1;
    T value;
    T* x;
    TESSERA_HOST_DEVICE void operator()(Offset i) const { x[i] = value; }
};

template <class T>
struct FillUniform {
    static constexpr int work = 1;
    std::uint64_t seed;
    T* x;
    TESSERA_HOST_DEVICE void operator()(Offset i) const { x[i] = uniform_element<T>(seed, i); }
};

template <class T>
struct FillNormal {
    static constexpr int work = 1;
    std::uint64_t seed;
    Offset first;
    T* x;
    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        x[i] = T(normal_element(seed, first + i));
    }
};

template <class From, class To>
struct Convert {
    static constexpr int work = 1;
    const From* x;
    To* y;
    const double* square;
    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        constexpr bool narrows = sizeof(To) < sizeof(From);
        y[i] = To(square == nullptr ? x[i] : x[i] * power_below_root(*square, narrows));
    }
};

}  // namespace tessera
