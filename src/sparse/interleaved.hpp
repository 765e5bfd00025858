#pragma once

#include <array>

#include "base/parallel.hpp"
#include "base/scratch/scratch.hpp"

namespace tessera::cpu {

/// Up to W vectors with element i of vector j at i * W + j, so that a product loads an element of
/// all of them at once; the first one stands for those that are missing.
template <class T, int W>
class Interleaved {
  public:
    Interleaved(const Context& context, const Vectors<const T>& x) : memory_(context, x.size * W) {
        std::array<const T*, W> from;
        for (int j = 0; j < W; ++j) from[std::size_t(j)] = x[j < x.count ? j : 0].data();
        parallel_ranges(
            context.threads(), x.size,
            [to = memory_.data(), from](Offset first, Offset last) {
                for (Offset i = first; i < last; ++i) {
#pragma GCC unroll 8
                    for (int j = 0; j < W; ++j) to[i * W + j] = from[std::size_t(j)][i];
                }
            },
            parallel_grain / W);
    }
    const T* data() const { return memory_.data(); }

  private:
    Scratch<T> memory_;
};

/// Splits `count` vectors into groups: together(std::integral_constant<int, W>, first, number) for
/// up to W = 8 or 4 of them, one(j) for one left, which is as fast by itself.
template <class One, class Together>
void for_vectors_together(int count, One&& one, Together&& together) {
    for (int j = 0; j < count;) {
        const int number = std::min(count - j, 8);
        if (number > 4) {
            together(std::integral_constant<int, 8>(), j, number);
        } else if (number > 1) {
            together(std::integral_constant<int, 4>(), j, number);
        } else {
            one(j);
        }
        j += number;
    }
}

}  // namespace tessera::cpu
