#pragma once

#include <cmath>

#include "base/for_each.hpp"

// The scalars of the Lanczos iteration, in the memory of a Context; loops of one i.
namespace tessera {

/// -beta and 1 / beta from beta^2.
template <class T>
struct NextBeta {
    static constexpr int work = 1;
    const T* square;
    T *minus_beta, *inverse_beta;

    TESSERA_HOST_DEVICE void operator()(Offset) const {
        const double beta = std::sqrt(double(*square));
        *minus_beta = T(-beta);
        *inverse_beta = T(1 / beta);
    }
};

template <class T>
struct NextAlpha {
    static constexpr int work = 1;
    const T* alpha;
    T* minus_alpha;
    TESSERA_HOST_DEVICE void operator()(Offset) const { *minus_alpha = -*alpha; }
};

}  // namespace tessera
