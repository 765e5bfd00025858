#pragma once

namespace tessera::batched::cuda {

/// NaN stays.
template <class T>
__device__ __forceinline__ T larger(T sum, T largest) {
    return sum > largest || isnan(sum) ? sum : largest;
}

}  // namespace tessera::batched::cuda
