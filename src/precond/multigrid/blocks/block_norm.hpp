#pragma once

#include <cmath>

#include "base/for_each.hpp"

namespace tessera::multigrid {

/// ||block|| of n x n numbers (Frobenius). Entries that a transpose exchanges are added first, so
/// that blocks which are each other's transposes have one norm.
TESSERA_HOST_DEVICE inline double block_norm(int n, const double* block) {
    double sum = 0;
    TESSERA_UNROLL
    for (int r = 0; r < n; ++r) {
        sum += block[r * n + r] * block[r * n + r];
        TESSERA_UNROLL
        for (int c = 0; c < r; ++c) {
            sum += block[r * n + c] * block[r * n + c] + block[c * n + r] * block[c * n + r];
        }
    }
    return std::sqrt(sum);
}

}  // namespace tessera::multigrid
