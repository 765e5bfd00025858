#pragma once

#include <cmath>
#include <limits>

#include "base/for_each.hpp"

namespace tessera {

/// Sets *fault if value e is NaN or infinite.
template <class T>
struct FlagNonFinite {
    static constexpr int work = 1;
    const T* values;
    int* fault;

    TESSERA_HOST_DEVICE void operator()(Offset e) const {
        if (!(std::abs(values[e]) <= std::numeric_limits<T>::max())) raise_flag(fault);
    }
};

}  // namespace tessera
