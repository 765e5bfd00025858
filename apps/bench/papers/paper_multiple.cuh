#pragma once

#include "papers/paper_kernels.cuh"

namespace tessera::bench::paper {

template <class T, int Low, int High>
const void* find_kernel(int n) {
    if (n == Low) return reinterpret_cast<const void*>(&multiple<T, Low>);
    if constexpr (Low < High) return find_kernel<T, Low + 1, High>(n);
    return nullptr;
}

template <class T, int Low, int High>
const void* multiple_kernel(int n) {
    return find_kernel<T, Low, High>(n);
}

}  // namespace tessera::bench::paper
