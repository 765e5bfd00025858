#pragma once

#include <cmath>

#include "base/for_each.hpp"

// The scalars of the Lanczos iteration, in the memory of a Context: for_each_index runs each as a
// loop of one iteration.
namespace tessera {

/// -beta and 1 / beta from beta^2.
template <class T>
struct BetaFactors {
    static constexpr int work = 1;
    const T* square;
    T *minus_beta, *inverse_beta;

    TESSERA_HOST_DEVICE void operator()(Offset) const {
        const double beta = std::sqrt(double(*square));
        *minus_beta = T(-beta);
        *inverse_beta = T(1 / beta);
    }
};

/// -alpha, which the update of the residual takes.
template <class T>
struct NegateAlpha {
    static constexpr int work = 1;
    const T* alpha;
    T* minus_alpha;
    TESSERA_HOST_DEVICE void operator()(Offset) const { *minus_alpha = -*alpha; }
};

}  // namespace tessera
